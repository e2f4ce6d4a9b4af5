"""The frozen values that flow from stage to stage.

What the configuration says, and what adapters return and receive, are dataclasses. What the daemon makes anew for each
autoscaler in every cycle are msgspec's structs, which take a tenth of the time to make. Those with `gc=False` are
unknown to the cyclic collector: nothing in them can refer back to them.
"""

from autoscaler.model.aging import later
from autoscaler.model.bounds import HPA, LIMITS, TARGET, Bound, Bounds
from autoscaler.model.condition import Condition, ConditionType
from autoscaler.model.decision import Decision, Event, EventType, Outcome, Proposed, Remembered, Step
from autoscaler.model.history import History, HpaMemory, PendingWrite, Recommendation, ScaleEvent, Status
from autoscaler.model.metric import MetricOutcome
from autoscaler.model.notice import Notice, NoticeType
from autoscaler.model.observation import (
    CivilTime,
    DrainOutcome,
    DrainReport,
    Failure,
    InstanceReading,
    Observation,
    Observed,
    Reading,
    Sample,
    ValueReading,
)
from autoscaler.model.pending import arrived, pending_after, pending_with
from autoscaler.model.query import Query
from autoscaler.model.reason import CONNECTION_LIMITS, Reason
from autoscaler.model.rule import NO_MEMORIES, NO_RULES, ConfiguredRule, Memories, Rules, UnknownRule
from autoscaler.model.shard import ShardName, shard_of
from autoscaler.model.sharing import WITHOUT_LIMITS, ConnectionLimits, LimitUsage, Removal, RemovalBudget
from autoscaler.model.sighting import Sighting, Sightings
from autoscaler.model.spec import (
    DEFAULT_SCALE_DOWN,
    DEFAULT_SCALE_UP,
    MAX_PERIOD,
    MAX_WINDOW,
    Autoscaler,
    Behavior,
    ControllerOptions,
    MetricSpec,
    MetricTarget,
    MetricType,
    PolicyType,
    ScalingPolicy,
    ScalingRules,
    SelectPolicy,
    TargetType,
    VictimOrder,
    VictimRule,
)
from autoscaler.model.steering import Direction, ManualControls, Override, Pause
from autoscaler.model.target import (
    MAX_SIZE,
    AwaitingDrain,
    Call,
    Conflict,
    Deployment,
    Held,
    Hold,
    HoldReason,
    Instance,
    Limits,
    Phase,
    ScaleChange,
    ScaleOutcome,
    TargetRef,
    TargetState,
    Unchanged,
    Written,
)
