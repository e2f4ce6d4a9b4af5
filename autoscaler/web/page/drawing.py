"""Geometry of the list's small drawings. The templates write its numbers as SVG attributes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Final

from autoscaler.record import SizePoint

WIDTH: Final = 120.0
"""Width of every drawing, in its own units."""
_EDGE: Final = 5.0
"""Room for half a mark at each end."""
SPARK_HEIGHT: Final = 16.0
_SPARK_EDGE: Final = 2.0
"""Room above and below the line for half its width."""
_FULL: Final = 1.5
"""Ratio to a metric's target at the right end of its bar."""


@dataclass(frozen=True, slots=True)
class SizeGauge:
    """A size between its bounds: horizontal positions of the marks. None: not drawn."""

    current: float | None
    desired: float | None
    """None also when it equals the current size."""


def size_gauge(current: int | None, desired: int | None, minimum: int | None, maximum: int | None) -> SizeGauge | None:
    """Return the gauge, or None without bounds. A size outside them is drawn at the nearer end."""
    if minimum is None or maximum is None:
        return None

    def place(size: int | None) -> float | None:
        if size is None:
            return None
        share = (size - minimum) / (maximum - minimum) if maximum > minimum else 0.5
        return round(_EDGE + min(max(share, 0.0), 1.0) * (WIDTH - 2 * _EDGE), 1)

    return SizeGauge(place(current), None if desired == current else place(desired))


@dataclass(frozen=True, slots=True)
class LoadBar:
    """A metric against its target: lengths from the left."""

    length: float
    target: float
    above: bool
    """True when the value is above the target."""


def load_bar(value: float | None, target: float) -> LoadBar | None:
    """Return the bar, or None without a value. It ends at one and a half times the target."""
    if value is None or target <= 0:
        return None
    share = min(max(value / target, 0.0), _FULL) / _FULL
    return LoadBar(round(share * WIDTH, 1), round(WIDTH / _FULL, 1), value > target)


@dataclass(frozen=True, slots=True)
class Sparkline:
    """A size over time, as steps."""

    path: str
    """An SVG path within WIDTH and SPARK_HEIGHT."""
    low: int
    """The smallest size drawn."""
    high: int


def sparkline(points: Sequence[SizePoint], current: int | None, since: datetime, until: datetime) -> Sparkline | None:
    """Return the line of `points`, each until the next, the last until `until`. None: no size is known.

    Without points, the size was `current` all the time. An unreadable size is a gap.
    """
    known = points or (SizePoint(since, current),)
    sizes = [point.size for point in known if point.size is not None]
    if not sizes:
        return None
    low, high = min(sizes), max(sizes)

    def x(at: datetime) -> float:
        return round(min(max((at - since) / (until - since), 0.0), 1.0) * WIDTH, 1)

    def y(size: int) -> float:
        share = (size - low) / (high - low) if high > low else 0.5
        return round(SPARK_HEIGHT - _SPARK_EDGE - share * (SPARK_HEIGHT - 2 * _SPARK_EDGE), 1)

    def steps() -> Iterator[str]:
        before: int | None = None
        for point, following in pairwise([*known, SizePoint(until, None)]):
            if point.size is not None:
                yield f"M{x(point.at):g} {y(point.size):g}" if before is None else f"V{y(point.size):g}"
                yield f"H{x(following.at):g}"
            before = point.size

    return Sparkline("".join(steps()), low, high)
