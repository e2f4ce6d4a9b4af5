"""The result of one metric in one cycle."""

from typing import Final

from msgspec import Struct

from autoscaler.model.spec import MetricTarget, MetricType, TargetType
from autoscaler.quantity import Milli

_MAJORITY: Final = 0.5
"""More than this share of the instances is most of them."""


class MetricOutcome(Struct, frozen=True, gc=False, array_like=True):
    """The result of one metric."""

    name: str
    type: MetricType
    target: MetricTarget
    value: Milli | None = None
    """Current value (Object, External with Value); None: not of this kind, or failed."""
    average_value: Milli | None = None
    """Current average per instance."""
    average_utilization: int | None = None
    """Whole percents of the requests."""
    ratio: float | None = None
    """The usage ratio that the proposal was made from; None when the metric failed, or its total and the size are 0."""
    proposal: int | None = None
    """Replicas that this metric alone asks for; None when it failed and no fallback stands in for it."""
    error: str | None = None
    detail: str = ""
    """How the proposal came about: "ratio 1.300 x 3 ready", "within the tolerance of 10 %", "fallback: 10
    replicas"."""
    ready: int = 0
    """Units whose samples counted."""
    measured: int | None = None
    """How many instances these units are; None: as many, because no instance weighs more than 1."""
    not_ready: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    aside: tuple[str, ...] = ()
    """Instances whose samples a rule sets aside: they warm up."""
    ignored: tuple[str, ...] = ()
    unmatched: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    """These six name instances or samples, as `InstanceReading` and HPA's grouping define them."""
    more_unmatched: int = 0
    """How many more samples belong to no instance than `unmatched` names."""
    active: bool | None = None
    """Whether the value is above the activation. Without a value, the last known one counts. None: it is unknown, or
    activity does not depend on this metric."""
    total: Milli | None = None
    """Current value (Object, External with AverageValue) if it has no average, because there are no instances."""

    @property
    def failed(self) -> bool:
        """Whether there was no value."""
        return self.error is not None

    @property
    def on_fallback(self) -> bool:
        """Whether there was no value, and the metric's fallback made the proposal."""
        return self.error is not None and self.proposal is not None

    @property
    def running(self) -> int:
        """How many instances run: those whose samples counted, and those without a usable one."""
        return (self.ready if self.measured is None else self.measured) + len(self.missing)

    @property
    def missing_ratio(self) -> float | None:
        """Share of the running instances without a usable sample; None: the metric failed, or is not read by instance.

        Instances that are pending, start, warm up or leave are not among them.
        """
        counted = self.running
        if self.error is not None or not self.type.per_instance or counted == 0:
            return None
        return len(self.missing) / counted

    @property
    def mostly_missing(self) -> bool:
        """Whether most of the running instances have no usable sample, so that few stand for all."""
        ratio = self.missing_ratio
        return ratio is not None and ratio > _MAJORITY

    @property
    def current(self) -> int | None:
        """The value that is set against the target: whole percents for Utilization, else thousandths."""
        match self.target.type:
            case TargetType.UTILIZATION:
                return self.average_utilization
            case TargetType.AVERAGE_VALUE:
                return self.average_value
            case TargetType.VALUE:
                return self.value
