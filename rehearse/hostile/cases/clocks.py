"""Days on which the wall clock is set."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from rehearse.hostile.case import Case, Day


def _step(seconds: float) -> Callable[[Day], None]:
    """Set the wall clock. The meter shows whether the autoscaler with a window of an hour keeps its size."""

    def happens(day: Day) -> None:
        day.lasts(1)
        day.world.clock.set(seconds)
        day.until(lambda: day.log.events["clock_stepped"] > 0, 60, "the step was not noticed")
        day.lasts(3)
        newest = _newest(day)
        apart = max(newest.values()) - min(newest.values())
        told = ", ".join(f"{name} {at:%H:%M:%S}" for name, at in newest.items())
        day.expect(apart <= timedelta(seconds=day.world.load.patience_seconds), f"the newest decision differs: {told}")

    return happens


def _newest(day: Day) -> Mapping[str, datetime]:
    """Return the newest decision of the good autoscaler according to `get`, `describe` and `explain`."""

    def ask(path: str) -> Any:
        return day.world.daemon.ask(f"/api/v1/autoscalers{path}").json()["data"]

    found = {
        "get": ask("?name=good")["autoscalers"][0]["lastDecision"],
        "describe": ask("/good")["summary"]["lastDecision"],
        "explain": ask("/good/explain")["at"],
    }
    return {name: datetime.fromisoformat(text) for name, text in found.items()}


CASES: Final[Sequence[Case]] = (
    Case("the clock is set forward by an hour", _step(3_600), short=True),
    Case("the clock is set back by an hour", _step(0)),
    Case("the clock is set back by another hour", _step(-3_600)),
    Case("the clock is right again", _step(0)),
)
