"""How far what was inferred agrees with the state: one sentence, and the cycles that differ with their reasons."""

from collections.abc import Iterator
from typing import Final

from autoscaler.layout import Screen
from autoscaler.text import clean
from autoscaler.whatif.compare.agreement import Agreement

_MOST: Final = 20


def agreement_lines(found: Agreement, screen: Screen) -> Iterator[str]:
    """All of it; of many differences the first."""
    yield from screen.wrap(f"From Prometheus alone, {found.summary}.", 2, 2)
    for each in found.differences[:_MOST]:
        yield from screen.wrap(clean(str(each)), 4, 2)
    more = len(found.differences) + found.more_differences - _MOST
    if more > 0:
        yield f"    and {more:,} more"
