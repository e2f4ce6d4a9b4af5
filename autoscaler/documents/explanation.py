"""What an explained decision holds."""

from datetime import datetime

from autoscaler.documents.base import Document, Seconds
from autoscaler.documents.brakes import ActiveBrakeDocument
from autoscaler.documents.instances import InstanceList
from autoscaler.documents.last_value import LastValue
from autoscaler.documents.metric import MetricDocument
from autoscaler.documents.rules import QueryDocument
from autoscaler.documents.steering import SteeringDocument
from autoscaler.documents.summary import ConditionDocument
from autoscaler.model import Direction


class Samples(Document):
    """What became of a per-instance metric's samples; of any other, how many values there were."""

    read: int | None
    """Samples that were joined to an instance, or values; null: no longer known."""
    ready: int
    """Units (instances by weight) whose samples counted."""
    missing: tuple[str, ...]
    """Instances that run and have no sample."""
    not_ready: tuple[str, ...]
    ignored: tuple[str, ...]
    """Instances that failed or are on their way out."""
    unmatched: tuple[str, ...]
    """Samples that belong to no instance, or to more than one."""
    dropped: tuple[str, ...]
    """Instances whose sample was unusable, with why."""


class ThresholdDocument(Document):
    """Where a metric begins to ask for another size, with all else as it was. null: nowhere."""

    above: float | None
    above_text: str | None
    """As kubectl writes it: it asks for more above this."""
    below: float | None
    below_text: str | None


class ExplainedMetric(MetricDocument):
    """A metric and how its proposal came about."""

    ratio: float | None
    proposal: int | None
    """Replicas that this metric alone, or its fallback, asks for; null when it failed and no fallback stands in."""
    detail: str
    wins: bool
    """Whether the decision follows it: it asks for most."""
    samples: Samples
    query: QueryDocument | None = None
    """What was asked for it."""
    last: LastValue | None = None
    """Where it has no value: its last one; null: it has one, or had none in the day before."""
    thresholds: ThresholdDocument | None
    """null: it failed, or the instances are not yet as many as the size, so that no threshold is right."""


class StepDocument(Document):
    """One stage of the decision: what it did to the number and why."""

    reason: str
    before: int
    after: int
    detail: str


class BoundsDocument(Document):
    """The sizes that were allowed, and whose bounds they are."""

    minimum: int
    maximum: int
    minimum_of: str
    maximum_of: str


class Stabilization(Document):
    """A recommendation in the window that kept the size."""

    direction: Direction
    recommendation: int
    until: datetime
    """When the last of its kind leaves the window."""
    remaining_seconds: Seconds


class Allowance(Document):
    """What the scaling policies of one direction allow."""

    direction: Direction
    size: int
    """The farthest size allowed at the time, whatever the bounds."""
    next_size: int | None
    """And the one allowed next, as changes leave the policies' periods; null: none."""
    next_at: datetime | None
    next_seconds: Seconds | None


class MoveDocument(Document):
    """A change of size ahead."""

    at: datetime
    in_seconds: Seconds
    size: int
    reason: str


class Way(Document):
    """What it takes for the size to move in one direction."""

    direction: Direction
    when: tuple[str, ...]
    """Out: any of these is enough. In: all of them are needed. Empty: nothing more is needed, or no value would do."""
    met: tuple[str, ...] = ()
    """What holds already: metrics that ask for such a size now."""
    hurdles: tuple[StepDocument, ...]
    """What would still hold or cut it in the next cycle; where nothing is `earliest`, what stays in the way."""
    earliest: MoveDocument | None
    """The first change if the metrics went just past those values at once; null: none within the windows."""
    text: str = ""
    """All of it in sentences; empty: there is nothing to say."""


class Explanation(Document):
    """One decision."""

    name: str
    reference: str
    at: datetime
    dry_run: bool
    current: int | None
    """The target's size."""
    shadow: int | None = None
    """The size that a dry run's shadow had, from which it was decided; null: there was none."""
    desired: int | None
    written: int | None
    outcome: str | None
    """What the write came to: Written, Unchanged, Held, Conflict, Proposed or an error's class; null: none was due."""
    error: str | None
    metrics: tuple[ExplainedMetric, ...]
    trace: tuple[StepDocument, ...]
    conditions: tuple[ConditionDocument, ...]
    bounds: BoundsDocument | None
    stabilization: Stabilization | None
    """null: no window changed the number."""
    policies: tuple[Allowance, ...]
    """Empty without `behavior`, or where the target could not be read."""
    steering: SteeringDocument
    brakes: tuple[ActiveBrakeDocument, ...] = ()
    """Those that were on, whether or not the metrics asked for what they prevent."""
    if_unchanged: MoveDocument | None
    """The first change if every cycle read the same again; null: none, or something was written just now."""
    ways: tuple[Way, ...]
    """Out, then in. Empty where the metrics were not read."""
    detailed: bool
    """Whether all that it was made from is still known. false: it is older than state.detail, and the last decision
    before its time in which something changed."""
    instances: InstanceList | None = None
    """With what each of them measured; null: the target could not be read, or this is no longer known."""
    warnings: tuple[str, ...]
    lines: tuple[str, ...]
    """The same in sentences."""
