"""Where two configurations differ: the times, the sizes of both, and the step that made the difference."""

from collections.abc import Iterator
from typing import Final

from autoscaler.layout import Screen, Table
from autoscaler.quantity import format_age
from autoscaler.text import clean
from autoscaler.whatif.compare.divergences import Divergence
from autoscaler.whatif.documents.replay import ReplayDocument

_MOST: Final = 20


def divergence_lines(replay: ReplayDocument, screen: Screen) -> Iterator[str]:
    """The longest of them in order of time; nothing where fewer than two configurations were compared."""
    labels = [clean(each.label) for each in replay.candidates[1:3]]
    if len(labels) < 2:
        return
    yield ""
    if not replay.divergences:
        yield f"  {labels[0]} and {labels[1]} never differ: every size is the same."
        return
    yield f"  Where they differ (from the first cycle decided otherwise to the last of other sizes; {labels[0]} first):"
    longest = sorted(replay.divergences, key=lambda each: each.begin - each.end)[:_MOST]
    table = Table(("FROM", "UNTIL", "FOR", "SIZES", "FURTHEST", "BECAUSE"), screen, indent=2)
    yield from table.lines([_row(each, labels) for each in replay.divergences if each in longest])
    more = len(replay.divergences) - len(longest) + replay.more_divergences
    if more:
        yield f"  and {more:,} shorter ones; -o json lists them"


def _row(divergence: Divergence, labels: list[str]) -> tuple[str, ...]:
    begin, end = (each.astimezone() for each in (divergence.begin, divergence.end))
    return (
        f"{begin:%m-%d %H:%M:%S}",
        f"{end:%H:%M:%S}" if end.date() == begin.date() else f"{end:%m-%d %H:%M:%S}",
        format_age(divergence.end - divergence.begin),
        _sizes(divergence.first),
        _sizes(divergence.furthest),
        clean(divergence.because(labels)),
    )


def _sizes(sizes: tuple[int, int]) -> str:
    return f"{sizes[0]} | {sizes[1]}"
