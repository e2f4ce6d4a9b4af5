"""`autoscaler describe`: shows one autoscaler in detail."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import zip_longest

import typer

from autoscaler.cli.client import asking
from autoscaler.cli.events import EventTable
from autoscaler.cli.explain import query_text
from autoscaler.cli.instances import instances
from autoscaler.cli.listing import OF_LEVEL, state_words
from autoscaler.cli.options import Name, OutputForm
from autoscaler.cli.output import Form, show_found
from autoscaler.cli.steering import asked, scope
from autoscaler.document import QueryDocument
from autoscaler.layout import NONE, UNKNOWN, Screen, Table, local, moment, or_unknown
from autoscaler.model import MetricType, TargetType
from autoscaler.quantity import format_duration
from autoscaler.rules.shown import Line
from autoscaler.text import clean
from autoscaler.view.detail import Detail
from autoscaler.view.metric import MetricDocument, current_words, target_decimal
from autoscaler.view.parts import lines_of, remarks
from autoscaler.view.rules import (
    BehaviorDocument,
    MetricSpecDocument,
    RulesDocument,
    settings_lines,
)
from autoscaler.view.summary import ConditionDocument, Summary


def describe(
    ctx: typer.Context,
    name: Name,
    *,
    output: OutputForm = Form.TEXT,
) -> None:
    """Describe an autoscaler in the layout of `kubectl describe hpa`: metrics, behavior, conditions, events."""
    with asking(ctx) as client:
        found = client.get(Detail, "/autoscalers/{name}", name)
        show_found(found, output, description)


_METRICS = "Metrics:"


def description(detail: Detail, now: datetime, screen: Screen) -> list[str]:
    """Return the text, in lines."""
    found = (*_head(detail, now), *_metrics(detail), *_sizes(detail))
    pairs = [(clean(label), value) for label, value in found]
    width = max(len(label) for label, _ in pairs) + 2
    if screen.width is not None and width > screen.width // 2:  # the metrics' labels are long
        width = max(len(label) for label, _ in pairs if not label.startswith(" ")) + 2
    lines = []
    for label, value in pairs:
        wrapped = screen.wrap(value, width) if value else [""]
        lines.append(f"{label.ljust(width - 2)}  {wrapped[0][width:]}".rstrip())
        lines += wrapped[1:]
        if label.startswith("Max replicas") and detail.spec is not None:
            lines += _behavior(detail.spec.behavior, detail.spec.options.downscale_stabilization_seconds)
    return [
        *lines,
        *_instances(detail, now, screen),
        *_conditions(detail.summary.conditions, now, screen),
        *_events(detail, now, screen),
    ]


def _head(detail: Detail, now: datetime) -> Iterator[tuple[str, str]]:
    summary = detail.summary
    yield "Name:", summary.name
    yield "Reference:", summary.reference or UNKNOWN
    for position, (key, value) in enumerate(sorted(summary.labels.items())):
        yield "" if position else "Labels:", f"{key}={value}"
    yield "State:", state_words(summary)
    if summary.why:
        yield "Decision:", local(summary.why, now)
    if not summary.configured:
        yield "Configured:", "no; it was removed from the configuration and is still remembered"
    if summary.error and not summary.why:
        yield "Error:", summary.error
    yield from [_pair(each.line) for each in remarks(summary) if each.urgent and not each.is_in(summary.why)]
    if summary.unmeasured:
        yield "Unmeasured:", summary.unmeasured
    yield from _steering(summary, now)
    yield from [_pair(each.line) for each in remarks(summary) if not each.urgent]
    yield from map(_pair, lines_of(detail))
    first, last = summary.first_seen, summary.last_decision
    if first is not None:
        yield "First seen:", moment(first, now)
    yield "Last decision:", "none yet" if last is None else moment(last, now)
    for warning in detail.warnings:
        yield "Warning:", warning


def _pair(line: Line) -> tuple[str, str]:
    """Return a line's label and text."""
    text = line.text if line.query is None else f"{line.text}: {query_text(line.query)}"
    return f"{line.label}:", f"{text}, {line.more}" if line.more else text


def _steering(summary: Summary, now: datetime) -> Iterator[tuple[str, str]]:
    pause, override = summary.steering.pause, summary.steering.override
    if pause is not None:
        yield "Paused:", f"{scope(pause)}, {asked(pause, now)}"
    if override is not None:
        yield "Overridden:", f"{override.bounds}, {asked(override, now)}"


def _metrics(detail: Detail) -> Iterator[tuple[str, str]]:
    metrics = detail.summary.metrics
    specs = detail.spec.metrics if detail.spec is not None else ()
    several = sum(metric.error is not None for metric in metrics) > 1  # for one, the line Error has it
    yield _METRICS, "( current / target )" if metrics else NONE
    for metric, spec in zip_longest(metrics, specs if len(specs) == len(metrics) else ()):
        fallback = " (on its fallback)" if metric.on_fallback else ""
        yield f"  {_label(metric, spec)}:", f"{current_words(metric)} / {target_decimal(metric)}{fallback}"
        if spec is not None:
            yield "    query:", query_text(spec.query)
            if isinstance(spec.request, QueryDocument):
                yield "    request:", query_text(spec.request)
            for label, text in map(_pair, lines_of(spec)):
                yield f"    {label}", text
        if several and metric.error:
            yield "    error:", metric.error


def _label(metric: MetricDocument, spec: MetricSpecDocument | None) -> str:
    average = "target average value" if metric.target_type is TargetType.AVERAGE_VALUE else "target value"
    utilization = metric.target_type is TargetType.UTILIZATION
    share = "  (average, as a percentage of request)" if utilization else "  (average)"
    name = metric.name
    match metric.type:
        case MetricType.RESOURCE:
            return f"resource {name} on instances{share}"
        case MetricType.CONTAINER_RESOURCE:
            container = spec.container if spec is not None else None
            return f"resource {name} of container {container or UNKNOWN!r} on instances{share}"
        case MetricType.PODS:
            return f'"{name}" on instances  (average)'
        case MetricType.OBJECT:
            described = spec.described_object if spec is not None else None
            return f'"{name}"' + (f" on {described}" if described else "") + f" ({average})"
        case MetricType.EXTERNAL:
            return f'"{name}" ({average})'


def _sizes(detail: Detail) -> Iterator[tuple[str, str]]:
    summary, spec = detail.summary, detail.spec
    low, high = (spec.minimum, spec.maximum) if spec is not None else (summary.minimum, summary.maximum)
    yield "Min replicas:", _bound(low, summary.minimum)
    yield "Max replicas:", _bound(high, summary.maximum)
    yield from map(_pair, () if spec is None else settings_lines(spec))
    yield "Replicas:", f"{or_unknown(summary.current)} current / {or_unknown(summary.desired)} desired"
    if summary.ready is not None:
        yield "Ready:", f"{summary.ready} of {or_unknown(summary.current)}"


def _bound(configured: int | None, in_force: int | None) -> str:
    return or_unknown(configured) + (f" (in force: {in_force})" if in_force not in (None, configured) else "")


def _behavior(behavior: BehaviorDocument | None, window: timedelta) -> Iterator[str]:
    if behavior is None:
        yield f"Behavior:  {NONE} (stabilization window for scaling in: {format_duration(window)})"
        return
    yield "Behavior:"
    yield from _rules("Scale Up", behavior.scale_up)
    yield from _rules("Scale Down", behavior.scale_down)


def _rules(title: str, rules: RulesDocument) -> Iterator[str]:
    yield f"  {title}:"
    yield f"    Stabilization Window: {format_duration(rules.stabilization_window_seconds)}"
    yield f"    Select Policy: {rules.select_policy.value}"
    yield f"    Tolerance: {rules.tolerance:g}"
    yield "    Policies:"
    kinds = [f"- Type: {policy.type.value}" for policy in rules.policies]
    values = [f"Value: {policy.value}" for policy in rules.policies]
    for policy, kind, value in zip(rules.policies, kinds, values, strict=True):
        period = f"Period: {format_duration(policy.period_seconds)}"
        yield f"      {kind.ljust(max(map(len, kinds)))}  {value.ljust(max(map(len, values)))}  {period}"


def _instances(detail: Detail, now: datetime, screen: Screen) -> list[str]:
    if detail.instances is None or not detail.instances.total:
        return [f"Instances:  {NONE if detail.instances is not None else UNKNOWN}"]
    warm_up = detail.instances.warm_up_seconds
    head = f"Instances:  (warm-up {format_duration(warm_up)})" if warm_up else "Instances:"
    return [head, *instances(detail.instances, now, screen)]


def _conditions(conditions: Sequence[ConditionDocument], now: datetime, screen: Screen) -> list[str]:
    if not conditions:
        return [f"Conditions:  {NONE}"]
    table = Table(("Type", "Status", "Since", "Reason", "Message"), screen, indent=2, gap=2, ruled=True)
    rows = [
        (
            each.type,
            str(each.status),
            moment(each.last_transition, now),
            each.reason,
            local(each.message, now),
        )
        for each in conditions
    ]
    return ["Conditions:", *table.lines(rows, [("", OF_LEVEL[each.level], "", "", "") for each in conditions])]


def _events(detail: Detail, now: datetime, screen: Screen) -> list[str]:
    if not detail.events:
        return [f"Events:  {NONE}"]
    table = EventTable(screen, with_name=False, described=True)
    return ["Events:", *table.header(detail.events, now), *table.rows(detail.events, now)]
