"""Many writes, and workers that stop slowly."""

import time
from collections.abc import Sequence
from typing import Any, Final

from rehearse.hostile.case import Case, Day
from rehearse.hostile.config import CROWD

_RISES: Final = 10
"""The number of cycles. Each has time for a third of the writes."""
_DRAIN: Final = 12
"""The number of workers before the load falls."""
_SETTLED: Final = 10
"""The number of workers for the constant load."""


def _mass_change(day: Day) -> None:
    """Raise the load of all in every cycle, so that the first ones in the file always have a write."""

    def cycles() -> int:
        return day.log.decided[CROWD[0]]

    for size in range(3, 3 + _RISES):
        before = cycles()
        day.world.good.values["crowd_load"] = size
        day.until(lambda before=before: cycles() > before, 60, f"no cycle of {CROWD[0]}")  # type: ignore[misc]
    written = {name: len(day.world.crowd.sizes(name, day.meter.began)) for name in CROWD}
    starved = [name for name, writes in written.items() if not writes]
    day.expect(not starved, f"never written while the load rose for {_RISES} cycles: {', '.join(starved)}")
    day.lasts()


def _constant_load(day: Day) -> None:
    """Change the load once. The pool is written once, however slowly its workers stop."""
    day.world.good.values["drain_load"] = _DRAIN

    def size() -> int:
        return int(_summary(day, "drain")["current"] or 0)

    day.until(lambda: size() == _DRAIN, 60, f"the pool does not reach {_DRAIN} workers")
    time.sleep(2 * day.world.period_seconds)
    day.world.good.values["drain_load"] = _SETTLED
    seen = [_DRAIN]
    end = time.monotonic() + 16
    while time.monotonic() < end:
        if (now := size()) != seen[-1]:
            seen.append(now)
        time.sleep(day.world.period_seconds / 4)
    day.expect(seen == [_DRAIN, _SETTLED], f"at a constant load the size went {', '.join(map(str, seen))}")
    day.lasts()


def _summary(day: Day, name: str) -> dict[str, Any]:
    found: dict[str, Any] = day.world.daemon.ask(f"/api/v1/autoscalers/{name}").json()["data"]["summary"]
    return found


CASES: Final[Sequence[Case]] = (
    Case("the load of 12 slow targets rises all the while", _mass_change, short=True),
    Case("workers stop slowly at a constant load", _constant_load),
)
