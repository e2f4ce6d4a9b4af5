"""`autoscaler replay`: what it came to, with a column for the sizes as they were and one for each candidate."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from autoscaler.layout import BOLD, Screen, Table
from autoscaler.text import clean
from autoscaler.whatif.documents.measured import measure_rows, times_of_instances
from autoscaler.whatif.documents.replay import ReplayDocument
from autoscaler.whatif.past.past import FindingKind, span
from autoscaler.whatif.tables.agreement import agreement_lines
from autoscaler.whatif.tables.divergences import divergence_lines

_MOST_FINDINGS: Final = 20


def replay_lines(replay: ReplayDocument, screen: Screen) -> list[str]:
    """One autoscaler's, in lines."""
    load = "" if replay.load is None else f", load {replay.load}"
    head = f"{clean(replay.name)}: {_time(replay.since)} to {_time(replay.until)}{load}"
    lines = [screen.paint(BOLD, head)]
    lines += [
        f"  from the {clean(part.origin)}: {part.cycles:,} cycle{'s' if part.cycles > 1 else ''}, "
        f"{_time(part.begin)} to {_time(part.end)}"
        for part in replay.parts
    ]
    if replay.compared:
        lines.append(f"  {replay.same:,} of {replay.compared:,} recorded decisions are the same when decided again")
    lines += ["", *measure_lines(replay, screen), *divergence_lines(replay, screen)]
    return [*lines, *_findings(replay, screen), *_agreement(replay, screen)]


def measure_lines(replay: ReplayDocument, screen: Screen) -> Iterator[str]:
    """What metrics tell of the load, the table of measures, and by whose metrics, targets and times they are."""
    for each in replay.findings:
        if each.kind is FindingKind.LOAD:
            yield from screen.wrap(f"{clean(each.message)}.", 2)
    table = Table(("MEASURE", *[clean(each.label) for each in replay.candidates]), screen, indent=2)
    yield from table.lines([(row.title, *row.cells) for row in measure_rows(replay)])
    yield ""
    whose = "what was configured then" if replay.reference is None else clean(replay.reference)
    yield from screen.wrap(
        f"The demand, and what is above target: by the metrics and targets of {whose}, for all columns.", 2
    )
    yield from screen.wrap(clean(times_of_instances(replay)), 2)


def _findings(replay: ReplayDocument, screen: Screen) -> Iterator[str]:
    listed = [each for each in replay.findings if each.kind is not FindingKind.LOAD]
    if listed:
        yield from ("", "  To know of:")
    for each in listed[:_MOST_FINDINGS]:
        begin = _time(each.begin)
        when = begin if each.end == each.begin else f"{begin}, for {span(each.end - each.begin)}"
        yield from screen.wrap(f"{when}: {each.kind}: {clean(each.message)}", 4, 2)
    more = len(listed) + replay.more_findings - _MOST_FINDINGS
    if more > 0:
        yield f"    and {more:,} more"


def _agreement(replay: ReplayDocument, screen: Screen) -> Iterator[str]:
    if replay.agreement is not None:
        yield ""
        yield from agreement_lines(replay.agreement, screen)


def _time(at: datetime) -> str:
    return at.astimezone().isoformat(timespec="seconds")
