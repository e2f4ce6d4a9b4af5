"""What an operator asks for: an autoscaling/v2 HPA spec with a query beside each metric.

Meanings, defaults and limits are those of Kubernetes' autoscaling/v2 API reference and of
kube-controller-manager's --horizontal-pod-autoscaler-* flags. Every value here is already defaulted and valid.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Final

from autoscaler.model.query import Query
from autoscaler.model.rule import NO_RULES, Rules
from autoscaler.model.target import TargetRef
from autoscaler.quantity import Milli


class MetricType(StrEnum):
    """Where a metric's samples come from and how they are set against the target."""

    RESOURCE = "Resource"
    """Per instance, against its capacity."""
    CONTAINER_RESOURCE = "ContainerResource"
    """Per instance, one container or task of it."""
    PODS = "Pods"
    """Per instance, raw."""
    OBJECT = "Object"
    """Exactly one sample."""
    EXTERNAL = "External"
    """A vector that is summed."""

    @property
    def per_instance(self) -> bool:
        """Whether the metric has a sample for each instance. Any other has a value while nothing runs."""
        return self not in (MetricType.OBJECT, MetricType.EXTERNAL)


class TargetType(StrEnum):
    """Unit of a metric's target value."""

    UTILIZATION = "Utilization"
    VALUE = "Value"
    AVERAGE_VALUE = "AverageValue"


@dataclass(frozen=True, slots=True)
class MetricTarget:
    """The value to hold."""

    type: TargetType
    value: int
    """Whole percents for Utilization, thousandths for the others; > 0."""


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """One metric of an autoscaler."""

    type: MetricType
    name: str
    target: MetricTarget
    query: Query
    request: Milli | Query | None = None
    """Capacity per instance that Utilization is set against; None: the instance's own reservation."""
    container: str | None = None
    """ContainerResource only: which container or task."""
    container_label: str | None = None
    """Label that names the container. None: the first present of task, container."""
    described_object: str | None = None
    """Object only, `kind/name`; only shown."""

    @property
    def request_query(self) -> Query | None:
        """The query for the capacity, if a query provides it and the target is a Utilization."""
        return self.request if self.target.type is TargetType.UTILIZATION and isinstance(self.request, Query) else None


class SelectPolicy(StrEnum):
    """Which of several policies limits a step."""

    MAX = "Max"
    MIN = "Min"
    DISABLED = "Disabled"


class PolicyType(StrEnum):
    """Unit of a policy's value."""

    PODS = "Pods"
    PERCENT = "Percent"


@dataclass(frozen=True, slots=True)
class ScalingPolicy:
    """At most `value` replicas, or percents of the size at the period's start, per period."""

    type: PolicyType
    value: int
    period: timedelta


@dataclass(frozen=True, slots=True)
class ScalingRules:
    """Rules of one direction."""

    stabilization_window: timedelta | None
    """None (scale-down only): the controller's downscale_stabilization."""
    select_policy: SelectPolicy
    policies: tuple[ScalingPolicy, ...]
    tolerance: float | None = None
    """None: the controller's."""


MAX_WINDOW: Final = timedelta(seconds=3600)
"""autoscaling/v2's limit of stabilizationWindowSeconds."""
MAX_PERIOD: Final = timedelta(seconds=1800)
"""autoscaling/v2's limit of a policy's periodSeconds."""

_15S: Final = timedelta(seconds=15)
DEFAULT_SCALE_UP: Final = ScalingRules(
    stabilization_window=timedelta(0),
    select_policy=SelectPolicy.MAX,
    policies=(ScalingPolicy(PolicyType.PODS, 4, _15S), ScalingPolicy(PolicyType.PERCENT, 100, _15S)),
)
"""autoscaling/v2's rules for what a given `behavior` leaves out of scaleUp."""
DEFAULT_SCALE_DOWN: Final = ScalingRules(
    stabilization_window=None,
    select_policy=SelectPolicy.MAX,
    policies=(ScalingPolicy(PolicyType.PERCENT, 100, _15S),),
)
"""autoscaling/v2's rules for what a given `behavior` leaves out of scaleDown."""


@dataclass(frozen=True, slots=True)
class Behavior:
    """Rules of both directions. An autoscaler without one follows another algorithm (HPA's older one)."""

    scale_up: ScalingRules = DEFAULT_SCALE_UP
    scale_down: ScalingRules = DEFAULT_SCALE_DOWN


@dataclass(frozen=True, slots=True)
class ControllerOptions:
    """The controller's own numbers, named and defaulted as kube-controller-manager's flags."""

    tolerance: float = 0.1
    downscale_stabilization: timedelta = timedelta(minutes=5)
    cpu_initialization_period: timedelta = timedelta(minutes=5)
    initial_readiness_delay: timedelta = timedelta(seconds=30)
    scale_to_zero: bool = True
    """HPA's feature gate HPAScaleToZero; always on outside conformance tests."""


class VictimOrder(StrEnum):
    """Which instances leave first when a scale-in names them."""

    OLDEST = "oldest"
    NEWEST = "newest"
    LEAST = "least"


@dataclass(frozen=True, slots=True)
class VictimRule:
    """How scale-in chooses; `query` (per instance, lowest first) only with LEAST."""

    select: VictimOrder
    query: Query | None = None


@dataclass(frozen=True, slots=True)
class Autoscaler:
    """One autoscaler: one target, its bounds, its metrics, its rules."""

    name: str
    target: TargetRef
    min_replicas: int
    max_replicas: int
    metrics: tuple[MetricSpec, ...]
    behavior: Behavior | None = None
    options: ControllerOptions = ControllerOptions()
    sync_period: timedelta = timedelta(seconds=15)
    dry_run: bool = False
    victims: VictimRule | None = None
    labels: tuple[tuple[str, str], ...] = ()
    """(key, value), sorted; only to select by."""
    rules: Rules = NO_RULES
    """What is configured beside HPA's own."""

    @property
    def queries(self) -> Iterator[Query]:
        """Its queries: of its metrics, its rules and its victims."""
        for metric in self.metrics:
            yield metric.query
            if metric.request_query:
                yield metric.request_query
        for rule in self.rules:
            yield from rule.queries
        if self.victims and self.victims.query:
            yield self.victims.query
