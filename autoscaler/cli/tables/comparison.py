"""What a replay came to, as a table: a row for the sizes that were seen, and one for each candidate."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import pairwise

from autoscaler.cli.tables.agreement import agreement_lines
from autoscaler.cli.tables.layout import Screen, Table
from autoscaler.foresee.comparison import Comparison
from autoscaler.foresee.course import UNKNOWN, Course
from autoscaler.foresee.past import span

_HEADER = ("", "CYCLES", "LOWEST", "HIGHEST", "MEAN", "CHANGES", "OF DIRECTION")
_MOST_FINDINGS = 20


def comparison_lines(found: Comparison, screen: Screen) -> list[str]:
    """All of it."""
    load = "" if not found.candidates else f", load {found.candidates[0].load}"
    lines = [f"{found.name}: {_time(found.since)} to {_time(found.until)}{load}"]
    lines += [
        f"  from the {part.origin}: {part.cycles:,} cycles, {_time(part.begin)} to {_time(part.end)}"
        for part in found.parts
    ]
    if found.compared:
        lines.append(f"  {found.same:,} of {found.compared:,} recorded decisions are the same when decided again")
    lines.append("")
    lines += Table(_HEADER, screen, indent=2).lines([_row(course) for course in found.courses])
    if found.findings:
        lines += ["", "  To know of:"]
        lines += list(_finding_lines(found, screen))
    if found.agreement is not None:
        lines += ["", *agreement_lines(found.agreement, screen)]
    return lines


def _finding_lines(found: Comparison, screen: Screen) -> Iterator[str]:
    for each in found.findings[:_MOST_FINDINGS]:
        begin = _time(each.begin)
        when = begin if each.end == each.begin else f"{begin}, for {span(each.end - each.begin)}"
        yield from screen.wrap(f"{when}: {each.kind}: {each.message}", 4, 2)
    if len(found.findings) > _MOST_FINDINGS:
        yield f"    and {len(found.findings) - _MOST_FINDINGS:,} more"


def _row(course: Course) -> Sequence[str]:
    sizes = [size for size in course.size if size != UNKNOWN]
    cycles = f"{len(course.size):,}"
    if not sizes:
        return course.label, cycles, "-", "-", "-", "-", "-"
    directions = [change.after > change.before for change in course.changes]
    turns = sum([one != other for one, other in pairwise(directions)])
    mean = f"{sum(sizes) / len(sizes):.1f}"
    return course.label, cycles, f"{min(sizes)}", f"{max(sizes)}", mean, f"{len(course.changes)}", f"{turns}"


def _time(at: datetime) -> str:
    return at.astimezone().isoformat(timespec="seconds")
