"""The load of the demo, as a function of time."""

from itertools import pairwise
from typing import Final

PERIOD_SECONDS: Final = 100
"""Seconds after which the wave begins again."""

_CORNERS: Final = ((0, 6), (6, 6), (26, 56), (44, 56), (60, 6), (PERIOD_SECONDS, 6))
"""Second of the wave -> requests in flight; straight lines between. Against 10 a worker: 1, then 6, then 1 again."""


def traffic(seconds: float, until: float | None = None) -> int:
    """Return the requests in flight `seconds` after the start. Only the first wave may last beyond `until`."""
    waves, at = divmod(seconds, PERIOD_SECONDS)
    if until is not None and waves > 0 and (waves + 1) * PERIOD_SECONDS > until:
        return _CORNERS[0][1]
    for (start, low), (end, high) in pairwise(_CORNERS):
        if at < end:
            return round(low + (high - low) * (at - start) / (end - start))
    return _CORNERS[-1][1]
