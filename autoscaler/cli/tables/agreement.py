"""How far what was inferred agrees with the state: one sentence, and the cycles that differ with their reasons."""

from collections.abc import Iterator

from autoscaler.cli.tables.layout import Screen
from autoscaler.foresee.agreement import Agreement

_MOST = 20


def agreement_lines(found: Agreement, screen: Screen) -> Iterator[str]:
    """All of it; of many differences the first."""
    yield from screen.wrap(f"From Prometheus alone, {found.summary()}.", 2, 2)
    for each in found.differences[:_MOST]:
        yield from screen.wrap(str(each), 4, 2)
    if len(found.differences) > _MOST:
        yield f"    and {len(found.differences) - _MOST:,} more"
