"""Points on two axes: what each of many candidates costs, and for how long it is above target."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from autoscaler.layout import CYAN, DIM, Screen
from autoscaler.whatif.documents.measured import hours_text

_HEIGHT: Final = 12
_NARROWEST: Final = 20
_WIDEST: Final = 72
_EMPTY: Final = " "


@dataclass(frozen=True, slots=True)
class Mark:
    """One sign; a later one covers those before it."""

    x: float
    y: float
    sign: str


def scatter(marks: Sequence[Mark], level: float, x_title: str, y_title: str, screen: Screen) -> Iterator[str]:
    """The marks (at least one) from the least to the most x and from 0 to the most y, with a line at a level of y."""
    columns = max(_NARROWEST, min(_WIDEST, (screen.width or 80) - 9))
    low, high = min(mark.x for mark in marks), max(mark.x for mark in marks)
    top = max(level, *(mark.y for mark in marks)) or 1.0
    grid = [[_EMPTY] * columns for _ in range(_HEIGHT)]
    grid[_row(level, top)] = ["┄"] * columns
    for mark in marks:
        column = round((mark.x - low) / (high - low) * (columns - 1)) if high > low else 0
        grid[_row(mark.y, top)][column] = mark.sign
    yield y_title
    for place, row in enumerate(grid):
        label = _percent(top) if place == 0 else _percent(0) if place == _HEIGHT - 1 else ""
        line = "".join(row).rstrip()
        yield f"{label.rjust(6)} {screen.paint(DIM, '┤')}{screen.paint(CYAN, line) if line else ''}"
    begin, end = hours_text(low), hours_text(high)
    yield screen.paint(DIM, " " * 8 + begin + end.rjust(columns - len(begin)))
    yield " " * 8 + x_title


def _row(y: float, top: float) -> int:
    return _HEIGHT - 1 - round(y / top * (_HEIGHT - 1))


def _percent(share: float) -> str:
    return f"{share * 100:.3g}%"
