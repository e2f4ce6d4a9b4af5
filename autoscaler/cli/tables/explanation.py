"""`autoscaler explain`: a decision's story for readers."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from autoscaler.cli.tables.instances import instances
from autoscaler.cli.tables.queries import query_text
from autoscaler.layout import BOLD, DIM, YELLOW, Screen, local, moment
from autoscaler.text import clean
from autoscaler.view.explanation import Explanation
from autoscaler.view.story import Kind, Line

_NUMBERED = (Kind.METRIC, Kind.STEP)


def explanation(document: Explanation, now: datetime, screen: Screen) -> list[str]:
    """Return the text, in lines: the cause and result, the steps that led to it, and what would change it."""
    mark = ", dry run" if document.dry_run else ""
    head = f"{clean(document.name)} ({clean(document.reference)}), {moment(document.at, now)}{mark}"
    first, *others = document.story
    behind = next((place for place, each in enumerate(others) if each.kind is Kind.AHEAD), len(others))
    told = screen.wrap(local(clean(first.text), now))
    lines = [screen.paint(DIM, head), "", *[screen.paint(BOLD, line) for line in told]]
    if others[:behind]:
        lines += ["", *_steps(document, others[:behind], now, screen)]
    if others[behind:]:
        lines += ["", "What would change it:", *_ahead(others[behind:], now, screen)]
    return [*lines, *_warnings(document, screen), *_instances(document, screen)]


def _steps(document: Explanation, lines: Sequence[Line], now: datetime, screen: Screen) -> Iterator[str]:
    """Yield the metrics, each with its query, and the steps, numbered; and what else is said of each."""
    number, metrics = 0, iter(document.metrics)
    for line in lines:
        text = local(clean(line.sentence), now)
        if line.kind not in _NUMBERED:
            yield from screen.wrap(text, 4 if number else 0, 2)
            continue
        number += 1
        yield from screen.wrap(f"{number}.".ljust(4) + text, 0, 4)
        metric = next(metrics, None) if line.kind is Kind.METRIC else None
        if metric is not None and metric.query is not None:
            yield from [screen.paint(DIM, each) for each in screen.wrap(query_text(metric.query), 4, 2)]


def _ahead(lines: Sequence[Line], now: datetime, screen: Screen) -> Iterator[str]:
    for line in lines:
        text = local(clean(line.sentence), now)
        yield from screen.wrap(f"- {text}" if line.kind is Kind.AHEAD else text, 0 if line.kind is Kind.AHEAD else 4, 2)


def _instances(document: Explanation, screen: Screen) -> Iterator[str]:
    if document.instances is not None and document.instances.total:
        yield from ("", "Instances:", *instances(document.instances, document.at, screen))


def _warnings(document: Explanation, screen: Screen) -> Iterator[str]:
    for warning in document.warnings:
        yield from (screen.paint(YELLOW, line) for line in screen.wrap(f"Warning: {clean(warning)}", 0, 2))
