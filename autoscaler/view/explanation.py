"""The document of an explained decision."""

from collections.abc import Sequence
from datetime import datetime

from autoscaler.document import Document, QueryDocument
from autoscaler.foresee.outlook import Allowance, MoveDocument, Stabilization
from autoscaler.model import Direction, Step
from autoscaler.rules.shown import ShownMemory
from autoscaler.view.instances import InstanceList
from autoscaler.view.last_value import LastValue
from autoscaler.view.metric import MetricDocument
from autoscaler.view.parts import with_parts
from autoscaler.view.steering import SteeringDocument
from autoscaler.view.story import Line
from autoscaler.view.summary import ConditionDocument


class Samples(Document):
    """The use of a metric's samples."""

    read: int | None
    """Samples that were joined to an instance; of a metric that is not read per instance, its values. null: unknown."""
    ready: int
    """Units (instances by weight) whose samples count."""
    missing: tuple[str, ...]
    """Running instances without a sample."""
    warming: tuple[str, ...] = ()
    """Running instances that warm up: they count as those without a sample."""
    not_ready: tuple[str, ...]
    ignored: tuple[str, ...]
    """Instances that failed or are being removed."""
    unmatched: tuple[str, ...]
    """Samples that match no instance, or more than one."""
    dropped: tuple[str, ...]
    """Instances whose sample is unusable, with the reason."""


class ThresholdDocument(Document):
    """The values at which a metric begins to ask for another size, if nothing else changes. null: none."""

    above: float | None
    below: float | None


class ExplainedMetric(MetricDocument):
    """A metric and the calculation of its proposal."""

    ratio: float | None
    proposal: int | None
    """Replicas that this metric alone, or its fallback, asks for; null: it failed and has no fallback in force."""
    detail: str
    wins: bool
    """Whether the decision follows this metric, because it asks for most."""
    samples: Samples
    query: QueryDocument | None = None
    """The query of the metric."""
    last: LastValue | None = None
    """The last value of a metric that has none; null: it has one, or had none in the day before."""
    thresholds: ThresholdDocument | None
    """null: the metric failed, or the number of instances differs from the size, so that no threshold is exact."""


class StepDocument(Document):
    """One stage of the decision: its change of the number, and the reason."""

    source: str
    """`hpa`, `target`, `limits` (of the connection), or the name of a rule."""
    reason: str
    before: int
    after: int
    detail: str


def steps(trace: Sequence[Step]) -> tuple[StepDocument, ...]:
    """Return the documents of stages."""
    return tuple(map(StepDocument.of, trace))


class BoundsDocument(Document):
    """The bounds in force, and where they come from."""

    minimum: int
    maximum: int
    minimum_of: str
    maximum_of: str


class Way(Document):
    """The requirements for a change of size in one direction."""

    direction: Direction
    when: tuple[str, ...]
    """Out: one of these is enough. In: all are needed. Empty: nothing more is needed, or no value is sufficient."""
    met: tuple[str, ...] = ()
    """The metrics that already ask for such a size."""
    hurdles: tuple[StepDocument, ...]
    """The stages that would limit the size in the next cycle; if `earliest` is null, those that prevent the change."""
    earliest: MoveDocument | None
    """The first change if the metrics passed those values now; null: none within the windows."""
    text: str = ""
    """The same in sentences; empty: there is nothing to say."""


@with_parts(ShownMemory, behind=("steering",))
class Explanation(Document):
    """One decision."""

    name: str
    reference: str
    at: datetime
    dry_run: bool
    current: int | None
    """The target's size."""
    desired: int | None
    written: int | None
    outcome: str | None
    """The result of the write: Written, Unchanged, Held, Conflict, Proposed or an error's class; null: none was due."""
    error: str | None
    metrics: tuple[ExplainedMetric, ...]
    trace: tuple[StepDocument, ...]
    conditions: tuple[ConditionDocument, ...]
    bounds: BoundsDocument | None
    stabilization: Stabilization | None
    """null: no window changed the number."""
    policies: tuple[Allowance, ...]
    """Empty without `behavior`, or if the target could not be read."""
    steering: SteeringDocument
    if_unchanged: MoveDocument | None
    """The first change if every further cycle reads the same values; null: none, or this decision wrote a size."""
    ways: tuple[Way, ...]
    """Out, then in. Empty if the metrics were not read."""
    detailed: bool
    """Whether all inputs of the decision are known. false: it is older than state.detail, and the last decision until
    that time in which something changed."""
    instances: InstanceList | None = None
    """The instances with their samples; null: the target could not be read, or this is no longer known."""
    warnings: tuple[str, ...]
    story: tuple[Line, ...] = ()
    """The same in lines: the cause and the result, then each metric, each step, and what would change the size."""
    lines: tuple[str, ...]
    """The same as texts."""
