"""Where two configurations part: the times, the sizes of both, and the step that made the difference."""

from collections.abc import Iterator
from typing import Final

from autoscaler.cli.tables.layout import Screen, Table, age
from autoscaler.text import clean
from autoscaler.whatif.compare.partings import Parting
from autoscaler.whatif.documents.replay import ReplayDocument

_MOST: Final = 20


def parting_lines(replay: ReplayDocument, screen: Screen) -> Iterator[str]:
    """The longest of them in order of time; nothing where fewer than two configurations were compared."""
    labels = [clean(each.label) for each in replay.candidates[1:3]]
    if len(labels) < 2:
        return
    yield ""
    if not replay.partings:
        yield f"  {labels[0]} and {labels[1]} never part: every size is the same."
        return
    yield f"  Where they part (from the first cycle decided otherwise to the last with other sizes; {labels[0]} first):"
    longest = sorted(replay.partings, key=lambda each: each.begin - each.end)[:_MOST]
    table = Table(("FROM", "UNTIL", "FOR", "SIZES", "FURTHEST", "BECAUSE"), screen, indent=2)
    yield from table.lines([_row(each, labels) for each in replay.partings if each in longest])
    more = len(replay.partings) - len(longest) + replay.more_partings
    if more:
        yield f"  and {more:,} shorter ones; -o json lists them"


def _row(parting: Parting, labels: list[str]) -> tuple[str, ...]:
    begin, end = (each.astimezone() for each in (parting.begin, parting.end))
    return (
        f"{begin:%m-%d %H:%M:%S}",
        f"{end:%H:%M:%S}" if end.date() == begin.date() else f"{end:%m-%d %H:%M:%S}",
        age(parting.end - parting.begin),
        _sizes(parting.first),
        _sizes(parting.furthest),
        clean(parting.because(labels)),
    )


def _sizes(sizes: tuple[int, int]) -> str:
    return f"{sizes[0]} | {sizes[1]}"
