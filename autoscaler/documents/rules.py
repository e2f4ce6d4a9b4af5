"""An autoscaler's configuration with every default filled in."""

from collections.abc import Mapping
from datetime import timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING

from autoscaler.documents import notation
from autoscaler.documents.base import Document, Seconds
from autoscaler.documents.brakes import BrakeDocument, configured
from autoscaler.documents.links import query_address
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
from autoscaler.rules.brakes import Brakes
from autoscaler.rules.drain import DrainRule
from autoscaler.rules.fallback import Fallbacks, MetricFallback
from autoscaler.rules.idle import Idle
from autoscaler.rules.warm_up import WarmUp

if TYPE_CHECKING:  # the command line reads the daemon's documents without the configuration's loader
    from autoscaler.config.settings import PrometheusSource


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


class QueryDocument(Document):
    """A query."""

    expr: str
    prometheus: str
    match: dict[str, str]
    link: str | None = None
    """The source's page for the expression; null: the source is not configured, or the address would be too long."""


class FallbackDocument(Document):
    """The replacement for a metric that has had no value for some time."""

    failure_duration_seconds: Seconds
    replicas: int | None
    """null: a query has the value."""
    query: QueryDocument | None
    allow_scale_in: bool


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
    fallback: FallbackDocument | None = None
    """null: without a value the metric proposes no size."""
    activation: str | None = None
    """The metric is active above it; null: activity does not matter."""


class RuleDocument(Document):
    """A configured rule."""

    name: str
    """Its name, as a source of steps."""
    text: str
    """What is configured, such as `2 spare instances`."""


class SpecDocument(Document):
    """A configured autoscaler, with defaults filled in."""

    minimum: int
    maximum: int
    metrics: tuple[MetricSpecDocument, ...]
    warm_up_seconds: Seconds | None = None
    """How long after an instance was first ready its samples do not count; null: as long as the target itself says."""
    behavior: BehaviorDocument | None
    """null: HPA's algorithm without behavior."""
    options: OptionsDocument
    brakes: tuple[BrakeDocument, ...] = ()
    drain: str | None = None
    """What happens to an instance that leaves, such as `by command, for at most 15m`; null: nothing."""
    cooldown_seconds: Seconds | None = None
    """How long after the last activity the size goes to 0; null: activity does not matter."""
    rules: tuple[RuleDocument, ...] = ()
    """What else is configured beside HPA's own."""


def spec(scaler: Autoscaler, sources: "Mapping[str, PrometheusSource]" = MappingProxyType({})) -> SpecDocument:
    """Return the document of a configured autoscaler. `sources`: the configuration's, for links to queries."""
    options, rules = scaler.options, scaler.rules
    warm_up, drain, idle = rules.find(WarmUp), rules.find(DrainRule), rules.find(Idle)
    return SpecDocument(
        minimum=scaler.min_replicas,
        maximum=scaler.max_replicas,
        metrics=tuple([_metric(scaler, place, sources) for place in range(len(scaler.metrics))]),
        warm_up_seconds=None if warm_up is None else warm_up.duration,
        behavior=_behavior(scaler),
        options=OptionsDocument.of(
            options,
            sync_period_seconds=scaler.sync_period,
            downscale_stabilization_seconds=options.downscale_stabilization,
            cpu_initialization_period_seconds=options.cpu_initialization_period,
            initial_readiness_delay_seconds=options.initial_readiness_delay,
        ),
        brakes=configured(rules.find(Brakes)),
        drain=None if drain is None else drain.text,
        cooldown_seconds=None if idle is None else idle.cooldown,
        rules=tuple(
            [RuleDocument(name=each.name, text=each.text) for each in rules if each.text and each is not drain]
        ),
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
    request, fallbacks, idle = metric.request, scaler.rules.find(Fallbacks), scaler.rules.find(Idle)
    fallback = None if fallbacks is None else fallbacks.of[place]
    activation = None if idle is None else idle.activations[place]
    return MetricSpecDocument.of(
        metric,
        target_type=metric.target.type,
        target=notation.target(metric.target),
        query=query_document(metric.query, sources),
        request=query_document(request, sources)
        if isinstance(request, Query)
        else None
        if request is None
        else format_quantity(request),
        fallback=None if fallback is None else _fallback(fallback, sources),
        activation=None if activation is None else format_quantity(activation),
    )


def _fallback(fallback: MetricFallback, sources: "Mapping[str, PrometheusSource]") -> FallbackDocument:
    return FallbackDocument.of(
        fallback,
        failure_duration_seconds=fallback.failure_duration,
        query=None if fallback.query is None else query_document(fallback.query, sources),
    )


def query_document(query: Query, sources: "Mapping[str, PrometheusSource]") -> QueryDocument:
    """Return the document of a query. `sources`: the configuration's, for the link."""
    return QueryDocument.of(query, match=dict(query.match), link=query_address(query, sources))
