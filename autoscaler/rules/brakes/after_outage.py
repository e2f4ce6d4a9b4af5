"""The brake `afterOutage`: all metrics failed for long, so there is no scale-in until windows know the load again."""

from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from autoscaler.rules.brakes.common import time_text

REASON: Final = "MetricsReturned"
"""Of the condition AbleToScale and of events."""
END: Final = "the brake afterOutage has ended: the size may fall again"
"""Message of the event when it ends."""


TEXT: Final = "no scale-in after all metrics had no value for a scaleDown window, until one had a value for as long"
"""Its effect in words."""


class Outage(Struct, frozen=True, gc=False):
    """All metrics failed."""

    since: datetime
    """The last cycle before it, whose recommendation is the last that windows remember."""
    returned: datetime | None = None
    """Since when one has had a value again; None: all fail."""
    long: bool = False
    """Whether a scale-down window has passed since, so that it has forgotten the load: the brake is on."""


def follow(
    known: Outage | None, window: timedelta, last: datetime | None, now: datetime, *, fails: bool
) -> Outage | None:
    """Return the outage of all metrics after a cycle that measured.

    `window`: for scaling in. `last`: the cycle before; None: there was none. `fails`: all metrics do.
    """
    if known is None:
        if not fails:
            return None
        known = Outage(last or now)
    long = known.long or timedelta(0) < window <= now - known.since  # without a window, nothing is forgotten
    if fails:
        return Outage(known.since, None, long)
    returned = known.returned or now
    return Outage(known.since, returned, long) if long and now - returned < window else None


def message(outage: Outage, window: timedelta) -> str:
    """Return why the brake is on. `window`: for scaling in."""
    end = "a scale-down window after a metric has a value again"
    if outage.returned is not None:
        end = time_text(outage.returned + window)
    return f"no metric had a value after {time_text(outage.since)}; the size does not fall until {end}"
