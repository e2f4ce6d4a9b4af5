"""The parts of a reaction, and their table."""

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from statistics import median
from typing import Final

PARTS: Final = ("scrape", "range", "cycle", "back end", "start")
"""scrape: until Prometheus has the first sample of the higher load. range: until the query's value is above the
tolerance. cycle: until the back end has accepted the new size. back end: until the instance has started. start: until
Prometheus has the instance's first sample."""
SUM: Final = "sum"


def parts(moments: Sequence[float]) -> dict[str, float]:
    """Return the seconds of each part, and of all, from the moment of the rise and the end of each part.

    A moment before the former counts as equal to it: two servers recorded them, or one in another order.
    """
    if len(moments) != len(PARTS) + 1:
        raise ValueError(f"{len(PARTS) + 1} moments are needed, not {len(moments)}")
    ends = list(accumulate(moments, max))
    each = [second - first for first, second in pairwise(ends)]
    return dict(zip(PARTS, each, strict=True)) | {SUM: ends[-1] - ends[0]}


def table(found: Mapping[str, Sequence[Mapping[str, float]]]) -> list[str]:
    """Return a line for each arm: the median and the largest of each part. `found`: arm -> its reactions."""
    columns = (*PARTS, SUM)
    lines = [_line("seconds, median (largest)", columns)]
    for arm, reactions in found.items():
        each = [[reaction[part] for reaction in reactions] for part in columns]
        lines.append(_line(arm, [f"{median(some):.1f} ({max(some):.1f})" for some in each]))
    return lines


def ratios(found: Mapping[str, Sequence[Mapping[str, float]]], arm: str, other: str) -> str:
    """Return a line with the ratio of two arms' medians in each part."""
    medians = [[median(reaction[part] for reaction in found[each]) for part in (*PARTS, SUM)] for each in (arm, other)]
    return _line(f"{arm} / {other}", [ratio(*pair) for pair in zip(*medians, strict=True)])


def ratio(above: float, below: float) -> str:
    """Return the ratio of two times in seconds as text; a dash if the second is under 50 ms."""
    return f"{above / below:.2f}" if below >= 0.05 else "-"


def _line(first: str, rest: Sequence[str]) -> str:
    return f"{first:<28}" + "".join(f"{each:>14}" for each in rest)
