"""An autoscaler's configuration with every default filled in."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from autoscaler.document import Document, QueryDocument, Seconds
from autoscaler.hpa.stabilization import down_window, up_window
from autoscaler.model import (
    Autoscaler,
    MetricType,
    PolicyType,
    Query,
    ScalingRules,
    SelectPolicy,
    TargetType,
)
from autoscaler.quantity import format_quantity
from autoscaler.rules.shown import Line, ShownMetric, ShownSettings
from autoscaler.view import notation
from autoscaler.view.parts import keys, lines_of, rules_with, with_parts

if TYPE_CHECKING:  # the command line reads the daemon's documents without the configuration's loader
    from autoscaler.config.settings import PrometheusSource

_MAX_CHARACTERS: Final = 8_000
"""Characters of an address. Servers and proxies refuse longer ones."""


class PolicyDocument(Document):
    """At most `value` replicas, or percents, per period."""

    type: PolicyType
    value: int
    period_seconds: Seconds


class RulesDocument(Document):
    """The rules of one direction."""

    stabilization_window_seconds: Seconds
    select_policy: SelectPolicy
    policies: tuple[PolicyDocument, ...]
    tolerance: float


class BehaviorDocument(Document):
    """The rules of both directions."""

    scale_up: RulesDocument
    scale_down: RulesDocument


class OptionsDocument(Document):
    """The controller's options for this autoscaler."""

    sync_period_seconds: Seconds
    tolerance: float
    downscale_stabilization_seconds: Seconds
    cpu_initialization_period_seconds: Seconds
    initial_readiness_delay_seconds: Seconds


@with_parts(ShownMetric, behind=("described_object",))
class MetricSpecDocument(Document):
    """A configured metric."""

    name: str
    type: MetricType
    target_type: TargetType
    target: str
    query: QueryDocument
    request: str | QueryDocument | None
    """The capacity of one instance; null: the instance's own reservation, or none is needed."""
    container: str | None
    described_object: str | None


class RuleDocument(Document):
    """A configured rule."""

    name: str
    """Its name, as a source of steps."""
    text: str
    """What is configured, such as `2 spare instances`."""


@with_parts(ShownSettings, behind=("metrics", "options"))
class SpecDocument(Document):
    """A configured autoscaler, with defaults filled in."""

    minimum: int
    maximum: int
    metrics: tuple[MetricSpecDocument, ...]
    behavior: BehaviorDocument | None
    """null: HPA's algorithm without behavior."""
    options: OptionsDocument
    rules: tuple[RuleDocument, ...] = ()
    """What else is configured beside HPA's own."""


def settings_lines(spec: SpecDocument) -> Sequence[Line]:
    """Return what the rules say of their settings, in lines."""
    others = [Line(each.name.replace("_", " ").capitalize(), each.text) for each in spec.rules]
    return (*lines_of(spec), *others)


def spec(scaler: Autoscaler, sources: "Mapping[str, PrometheusSource]" = MappingProxyType({})) -> SpecDocument:
    """Return the document of a configured autoscaler. `sources`: the configuration's, for links to queries."""
    options = scaler.options
    return SpecDocument(
        minimum=scaler.min_replicas,
        maximum=scaler.max_replicas,
        metrics=tuple([_metric(scaler, place, sources) for place in range(len(scaler.metrics))]),
        behavior=_behavior(scaler),
        options=OptionsDocument.of(
            options,
            sync_period_seconds=scaler.sync_period,
            downscale_stabilization_seconds=options.downscale_stabilization,
            cpu_initialization_period_seconds=options.cpu_initialization_period,
            initial_readiness_delay_seconds=options.initial_readiness_delay,
        ),
        rules=tuple([RuleDocument(name=each.name, text=each.text) for each in scaler.rules if each.text]),
        **keys(part.of_rule(rule) for rule, part in rules_with(scaler, ShownSettings)),
    )


def _behavior(scaler: Autoscaler) -> BehaviorDocument | None:
    behavior, default = scaler.behavior, scaler.options.tolerance
    if behavior is None:
        return None
    return BehaviorDocument(
        scale_up=_rules(behavior.scale_up, up_window(scaler), default),
        scale_down=_rules(behavior.scale_down, down_window(scaler), default),
    )


def _rules(rules: ScalingRules, window: timedelta, default_tolerance: float) -> RulesDocument:
    return RulesDocument.of(
        rules,
        stabilization_window_seconds=window,
        policies=tuple([PolicyDocument.of(each, period_seconds=each.period) for each in rules.policies]),
        tolerance=default_tolerance if rules.tolerance is None else rules.tolerance,
    )


def _metric(scaler: Autoscaler, place: int, sources: "Mapping[str, PrometheusSource]") -> MetricSpecDocument:
    metric = scaler.metrics[place]
    request, document = metric.request, partial(query_document, sources=sources)
    return MetricSpecDocument.of(
        metric,
        target_type=metric.target.type,
        target=notation.target(metric.target),
        query=document(metric.query),
        request=document(request)
        if isinstance(request, Query)
        else None
        if request is None
        else format_quantity(request),
        **keys(part.of_metric(rule, place, document) for rule, part in rules_with(scaler, ShownMetric)),
    )


def query_document(query: Query, sources: "Mapping[str, PrometheusSource]") -> QueryDocument:
    """Return the document of a query. `sources`: the configuration's, for the link."""
    return QueryDocument.of(query, match=dict(query.match), link=query_address(query, sources))


def query_address(query: Query, sources: "Mapping[str, PrometheusSource]") -> str | None:
    """Return the address where the source's own page draws the expression over the last hour.

    None: the source is no longer configured, or the address would be too long.
    Source of the parameters: Prometheus' expression browser; version 3 redirects its `/graph` to `/query`.
    """
    source = sources.get(query.prometheus)
    if source is None:
        return None
    asked = urlencode({"g0.expr": query.expr, "g0.tab": "0", "g0.range_input": "1h"})
    address = f"{source.browser_url.strip().rstrip('/')}/graph?{asked}"
    return address if len(address) <= _MAX_CHARACTERS else None
