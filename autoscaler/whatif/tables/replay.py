"""`autoscaler replay`: a table of measures with a column for each candidate, and findings."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from autoscaler.layout import BOLD, RED, Screen, Table
from autoscaler.text import clean, count
from autoscaler.whatif.compare.document import ReplayDocument
from autoscaler.whatif.compare.rows import fit_text, measure_rows, start_up_text
from autoscaler.whatif.past.past import FindingKind, span

_MAX_FINDINGS: Final = 20


def replay_lines(replay: ReplayDocument, screen: Screen) -> Iterator[str]:
    """The replay of one autoscaler."""
    yield screen.paint(BOLD, f"{clean(replay.name)}: {_time(replay.since)} to {_time(replay.until)}")
    part = replay.part
    begin, end = _time(part.begin), _time(part.end)
    yield f"  from the {clean(part.origin)}: {count(part.cycles, 'cycle')}, {begin} to {end}"
    if replay.compared:
        yield f"  {replay.same:,} of {replay.compared:,} recorded decisions are the same when decided again"
    colour = RED if replay.fit is not None and not replay.fit.holds else ""
    yield from (screen.paint(colour, line) if colour else line for line in screen.wrap(fit_text(replay), 2))
    for each in replay.findings:
        if each.kind is FindingKind.LOAD:
            yield from screen.wrap(f"{clean(each.message)}.", 2)
    if replay.candidates:
        yield ""
        table = Table(("MEASURE", *[clean(each.label) for each in replay.candidates]), screen, indent=2)
        yield from table.lines([(row.title, *row.cells) for row in measure_rows(replay)])
        yield ""
        yield from screen.wrap(start_up_text(replay), 2)
    yield from _findings(replay, screen)


def _findings(replay: ReplayDocument, screen: Screen) -> Iterator[str]:
    listed = [each for each in replay.findings if each.kind is not FindingKind.LOAD]
    if listed:
        yield from ("", "  Findings:")
    for each in listed[:_MAX_FINDINGS]:
        begin = _time(each.begin)
        when = begin if each.end == each.begin else f"{begin}, for {span(each.end - each.begin)}"
        yield from screen.wrap(f"{when}: {each.kind}: {clean(each.message)}", 4, 2)
    more = len(listed) + replay.more_findings - _MAX_FINDINGS
    if more > 0:
        yield f"    and {more:,} more"


def _time(at: datetime) -> str:
    return f"{at.astimezone():%Y-%m-%d %H:%M:%S}"
