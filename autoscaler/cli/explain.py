"""`autoscaler explain`: explains a decision."""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

import typer

from autoscaler.cli.client import asking
from autoscaler.cli.instances import instances
from autoscaler.cli.options import At, Name, OutputForm, instant
from autoscaler.cli.output import Form, show_found
from autoscaler.document import QueryDocument
from autoscaler.layout import BOLD, DIM, YELLOW, Screen, local, moment
from autoscaler.text import clean
from autoscaler.view.explanation import Explanation
from autoscaler.view.story import Kind, Line


def explain(
    ctx: typer.Context,
    name: Name,
    *,
    at: At = None,
    output: OutputForm = Form.TEXT,
) -> None:
    """Explain the last decision, or the one in force at the time of --at.

    Shows the value and proposal of each metric, which metric won, how windows, policies and bounds changed the size and
    for how much longer, and what would have to change for another size.
    """
    when = None if at is None else instant(at, "--at")
    with asking(ctx) as client:
        found = client.get(Explanation, "/autoscalers/{name}/explain", name, at=when)
        show_found(found, output, explanation)


_NUMBERED = (Kind.METRIC, Kind.STEP)


def explanation(document: Explanation, now: datetime, screen: Screen) -> list[str]:
    """Return the text, in lines: the cause and result, the steps that led to it, and what would change it."""
    mark = ", dry run" if document.dry_run else ""
    head = clean(f"{document.name} ({document.reference}), {moment(document.at, now)}{mark}")
    first, *others = document.story
    behind = next((place for place, each in enumerate(others) if each.kind is Kind.AHEAD), len(others))
    told = screen.wrap(local(first.text, now))
    lines = [screen.paint(DIM, head), "", *[screen.paint(BOLD, line) for line in told]]
    if others[:behind]:
        lines += ["", *_steps(document, others[:behind], now, screen)]
    if others[behind:]:
        lines += ["", "What would change it:", *_ahead(others[behind:], now, screen)]
    for warning in document.warnings:
        lines += [screen.paint(YELLOW, line) for line in screen.wrap(f"Warning: {warning}", 0, 2)]
    if document.instances is not None and document.instances.total:
        lines += ["", "Instances:", *instances(document.instances, document.at, screen)]
    return lines


def _steps(document: Explanation, lines: Sequence[Line], now: datetime, screen: Screen) -> Iterator[str]:
    """Yield the metrics, each with its query, and the steps, numbered; and what else is said of each."""
    number, metrics = 0, iter(document.metrics)
    for line in lines:
        text = local(line.sentence, now)
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
        text = local(line.sentence, now)
        yield from screen.wrap(f"- {text}" if line.kind is Kind.AHEAD else text, 0 if line.kind is Kind.AHEAD else 4, 2)


_LINE_BREAK: Final = re.compile(r"\s*\n\s*")
_DEFAULT: Final = "default"
"""The source whose name is not shown."""


def query_text(query: QueryDocument) -> str:
    """Return the expression, the condition on its samples, and the Prometheus if that is not the default."""
    chosen = ", ".join(f'{label}="{value}"' for label, value in query.match.items())
    where = f", those with {chosen}" if chosen else ""
    source = "" if query.prometheus == _DEFAULT else f" (Prometheus {query.prometheus})"
    return f"{_LINE_BREAK.sub(' ', query.expr.strip())}{where}{source}"
