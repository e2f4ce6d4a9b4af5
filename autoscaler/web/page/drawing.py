"""Geometry of the small drawings in the list: plain numbers, which the templates write as SVG attributes."""

from dataclasses import dataclass
from typing import Final

WIDTH: Final = 120.0
"""Of every drawing, in its own units."""
_EDGE: Final = 5.0
"""Room for half a mark at each end."""
_FULL: Final = 1.5
"""Of a metric's target: what the right end of its bar stands for."""


@dataclass(frozen=True, slots=True)
class SizeGauge:
    """Where a size is between its bounds: horizontal places of its marks. None: not to be drawn."""

    current: float | None
    desired: float | None
    """None also where it is the current size."""


def size_gauge(current: int | None, desired: int | None, minimum: int | None, maximum: int | None) -> SizeGauge | None:
    """None without bounds. A size outside them is drawn at the end that it is past."""
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
    """Whether the value is above the target."""


def load_bar(value: float | None, target: float) -> LoadBar | None:
    """None without a value. The bar ends at one and a half times the target."""
    if value is None or target <= 0:
        return None
    share = min(max(value / target, 0.0), _FULL) / _FULL
    return LoadBar(round(share * WIDTH, 1), round(WIDTH / _FULL, 1), value > target)
