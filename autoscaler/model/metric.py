"""What one metric came to in one cycle."""

from msgspec import Struct

from autoscaler.model.spec import MetricTarget, MetricType, TargetType
from autoscaler.quantity import Milli


class MetricOutcome(Struct, frozen=True, gc=False):
    """What one metric came to."""

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
    """The usage ratio that the proposal was made from; None when the metric failed."""
    proposal: int | None = None
    """Replicas that this metric alone asks for; None when it failed."""
    error: str | None = None
    detail: str = ""
    """How the proposal came about: "ratio x 3 ready", "ratio within tolerance"."""
    ready: int = 0
    """Units whose samples counted."""
    not_ready: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    unmatched: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    """These five name instances or samples, as `InstanceReading` and HPA's grouping define them."""
    more_unmatched: int = 0
    """How many more samples belong to no instance than `unmatched` names."""

    @property
    def failed(self) -> bool:
        """Whether there was no value."""
        return self.error is not None

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
