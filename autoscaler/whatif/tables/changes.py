"""`autoscaler diff`: each autoscaler that another configuration changes, with its keys."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from autoscaler.layout import BOLD, GREEN, NONE, RED, YELLOW, Screen, Table
from autoscaler.quantity import format_age
from autoscaler.text import clean
from autoscaler.whatif.changes import Kind
from autoscaler.whatif.documents.changes import AutoscalerChangesDocument, DiffDocument
from autoscaler.whatif.tables.replay import divergence_lines, measure_lines

_COLOURS: Final = {Kind.ADDED: GREEN, Kind.REMOVED: RED, Kind.CHANGED: YELLOW}


def block(found: AutoscalerChangesDocument, screen: Screen) -> Iterator[str]:
    """One autoscaler: a line for each key, and the replay."""
    yield f"{screen.paint(BOLD, clean(found.name))}: {screen.paint(_COLOURS[found.kind], found.kind)}"
    if found.changes:
        rows = [(clean(each.path), clean(each.before or NONE), clean(each.after or NONE)) for each in found.changes]
        yield from Table(("KEY", "BEFORE", "AFTER"), screen, indent=2).lines(rows)
    if found.replay is not None:
        yield ""
        yield f"  The last {format_age(found.replay.until - found.replay.since)}, as far as they are known:"
        yield from measure_lines(found.replay, screen)
        yield from divergence_lines(found.replay, screen)


def last_lines(found: DiffDocument) -> Iterator[str]:
    """The other keys that differ, and the number of autoscalers."""
    if found.sections:
        yield f"also changed: {', '.join(map(clean, found.sections))}"
    kinds = Counter(each.kind for each in found.autoscalers)
    counts = [f"{kinds[kind]} {kind}" for kind in Kind if kinds[kind]]
    yield f"autoscalers: {', '.join([*counts, f'{found.unchanged} as before'])}"
