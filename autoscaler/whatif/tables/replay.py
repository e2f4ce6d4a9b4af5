"""`autoscaler replay`: a table of measures with a column for each candidate, differences and findings."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from autoscaler.layout import BOLD, Screen, Table
from autoscaler.quantity import format_age
from autoscaler.text import clean, count
from autoscaler.whatif.compare.divergences import Divergence
from autoscaler.whatif.documents.measured import instance_times_text, measure_rows
from autoscaler.whatif.documents.replay import ReplayDocument
from autoscaler.whatif.past.past import FindingKind, span

_MOST_FINDINGS: Final = 20
_MOST_DIVERGENCES: Final = 20


def replay_lines(replay: ReplayDocument, screen: Screen) -> list[str]:
    """The replay of one autoscaler."""
    load = "" if replay.load is None else f", load {replay.load}"
    head = f"{clean(replay.name)}: {_time(replay.since)} to {_time(replay.until)}{load}"
    lines = [screen.paint(BOLD, head)]
    lines += [
        f"  from the {clean(part.origin)}: {count(part.cycles, 'cycle')}, {_time(part.begin)} to {_time(part.end)}"
        for part in replay.parts
    ]
    if replay.compared:
        lines.append(f"  {replay.same:,} of {replay.compared:,} recorded decisions are the same when decided again")
    lines += ["", *measure_lines(replay, screen), *divergence_lines(replay, screen), *_findings(replay, screen)]
    if replay.agreement is not None:
        lines += ["", *screen.wrap(f"From Prometheus alone, {replay.agreement.summary}.", 2, 2)]
    return lines


def measure_lines(replay: ReplayDocument, screen: Screen) -> Iterator[str]:
    """Findings about the load, the measures, and the metrics, targets and times that they are based on."""
    for each in replay.findings:
        if each.kind is FindingKind.LOAD:
            yield from screen.wrap(f"{clean(each.message)}.", 2)
    table = Table(("MEASURE", *[clean(each.label) for each in replay.candidates]), screen, indent=2)
    yield from table.lines([(row.title, *row.cells) for row in measure_rows(replay)])
    yield ""
    whose = "what was configured then" if replay.reference is None else clean(replay.reference)
    yield from screen.wrap(f"The demand is by the metrics and targets of {whose}, for all columns.", 2)
    times = instance_times_text([(each.label, each.start_up) for each in replay.candidates], replay.termination)
    yield from screen.wrap(clean(times), 2)


def divergence_lines(replay: ReplayDocument, screen: Screen) -> Iterator[str]:
    """The longest times in which two configurations differ, in order of time; nothing for fewer than two."""
    labels = [clean(each.label) for each in replay.candidates[1:3]]
    if len(labels) < 2:
        return
    yield ""
    if not replay.divergences:
        yield f"  {labels[0]} and {labels[1]} never differ: every size is the same."
        return
    yield f"  Where they differ (from the first different decision to the last different size; {labels[0]} first):"
    longest = sorted(replay.divergences, key=lambda each: each.begin - each.end)[:_MOST_DIVERGENCES]
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
        f"{divergence.first.one} | {divergence.first.other}",
        f"{divergence.furthest.one} | {divergence.furthest.other}",
        clean(divergence.because(labels)),
    )


def _findings(replay: ReplayDocument, screen: Screen) -> Iterator[str]:
    listed = [each for each in replay.findings if each.kind is not FindingKind.LOAD]
    if listed:
        yield from ("", "  Findings:")
    for each in listed[:_MOST_FINDINGS]:
        begin = _time(each.begin)
        when = begin if each.end == each.begin else f"{begin}, for {span(each.end - each.begin)}"
        yield from screen.wrap(f"{when}: {each.kind}: {clean(each.message)}", 4, 2)
    more = len(listed) + replay.more_findings - _MOST_FINDINGS
    if more > 0:
        yield f"    and {more:,} more"


def _time(at: datetime) -> str:
    return at.astimezone().isoformat(timespec="seconds")
