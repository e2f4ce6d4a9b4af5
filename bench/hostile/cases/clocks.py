"""The wall clock is set."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from bench.hostile.case import Case, Day


def _step(seconds: float) -> Callable[[Day], None]:
    """The meter sees whether the autoscaler with the window of an hour keeps its size."""

    def happens(day: Day) -> None:
        day.lasts(1)
        day.world.clock.set(seconds)
        day.until(lambda: day.log.events["clock_stepped"] > 0, 15, "the step was not noticed")
        day.lasts(3)
        listed = day.world.daemon.ask("/api/v1/autoscalers?name=good").json()["data"]["autoscalers"][0]
        described = day.world.daemon.ask("/api/v1/autoscalers/good").json()["data"]["summary"]
        apart = abs(_decided_at(listed) - _decided_at(described)).total_seconds()
        day.expect(apart <= 3 * day.world.period_seconds, f"what get and describe say is {apart:.0f} s apart")

    return happens


def _decided_at(document: Mapping[str, Any]) -> datetime:
    """The newest decision that the document tells of."""
    return datetime.fromisoformat(document["lastDecision"])


CASES: Final[Sequence[Case]] = (
    Case("the clock is set forward by an hour", _step(3_600), short=True),
    Case("the clock is set back by an hour", _step(0)),
    Case("the clock is set back by another hour", _step(-3_600)),
    Case("the clock is right again", _step(0)),
)
