"""`autoscaler explain`: a decision for readers."""

from collections.abc import Iterator
from datetime import datetime

from autoscaler.cli.tables.instances import instances
from autoscaler.cli.tables.queries import query_text
from autoscaler.layout import BOLD, GREEN, RED, UNKNOWN, YELLOW, Screen, Table
from autoscaler.quantity import format_age
from autoscaler.text import clean
from autoscaler.view.explanation import ExplainedMetric, Explanation
from autoscaler.view.metric import average_words, current_words, target_decimal


def explanation(document: Explanation, now: datetime, screen: Screen) -> list[str]:
    """Return the text, in lines: a table of the metrics, then the document's sentences."""
    at = document.at.astimezone().strftime("%Y-%m-%d %H:%M:%S %z")
    head = f"{clean(document.name)} ({clean(document.reference)}), decided {at}, {format_age(now - document.at)} ago"
    lines = [screen.paint(BOLD, head), ""]
    if document.metrics:
        lines += [*_metrics(document, screen), "", *_queries(document, screen)]
    for sentence in document.lines:
        text = clean(sentence)
        deeper = len(text) - len(text.lstrip())
        lines += screen.wrap(text.strip(), deeper, 2)
    return [*lines, *_warnings(document, screen), *_instances(document, screen)]


def _metrics(document: Explanation, screen: Screen) -> Iterator[str]:
    table = Table(("METRIC", "CURRENT", "TARGET", "RATIO", "ASKS FOR", "SAMPLES"), screen)
    rows = [_cells(metric, alone=len(document.metrics) == 1) for metric in document.metrics]
    table.fit(rows)
    yield table.header()
    for metric, row in zip(document.metrics, rows, strict=True):
        colour = RED if metric.error is not None else GREEN if metric.wins else ""
        yield from table.row(row, ["", "", "", "", colour, ""])


def _queries(document: Explanation, screen: Screen) -> Iterator[str]:
    """Yield the query of each metric."""
    known = [(clean(each.name), each.query) for each in document.metrics if each.query is not None]
    width = max((len(name) for name, _ in known), default=0)
    for name, query in known:
        first, *more = screen.wrap(query_text(query), width + 2)
        yield name.ljust(width + 2) + first.lstrip()
        yield from more
    if known:
        yield ""


def _instances(document: Explanation, screen: Screen) -> Iterator[str]:
    if document.instances is not None and document.instances.total:
        yield from ("", "Instances:", *instances(document.instances, document.at, screen))


def _cells(metric: ExplainedMetric, *, alone: bool) -> tuple[str, ...]:
    wins = " (wins)" if metric.wins and not alone else ""
    asked = UNKNOWN if metric.proposal is None else f"{metric.proposal}{wins}"
    ratio = "-" if metric.ratio is None else f"{metric.ratio:.3f}"
    return (clean(metric.name), _current(metric), target_decimal(metric), ratio, asked, _samples(metric))


def _current(metric: ExplainedMetric) -> str:
    current = current_words(metric)
    return f"{current} (avg)" if average_words(metric) and metric.value is not None else current


def _samples(metric: ExplainedMetric) -> str:
    samples = metric.samples
    counts = (
        (samples.ready, "counted"),
        (len(samples.missing), "missing"),
        (len(samples.warming), "warming up"),
        (len(samples.not_ready), "not ready"),
        (len(samples.ignored), "ignored"),
        (len(samples.unmatched), "not matched"),
        (len(samples.dropped), "unusable"),
    )
    read = [] if samples.read is None else [f"{samples.read} read"]
    return ", ".join([*read, *[f"{count} {word}" for count, word in counts if count]])


def _warnings(document: Explanation, screen: Screen) -> Iterator[str]:
    for warning in document.warnings:
        yield from (screen.paint(YELLOW, line) for line in screen.wrap(f"Warning: {clean(warning)}", 0, 2))
