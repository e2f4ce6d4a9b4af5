"""The frozen values that flow through the house, stage by stage.

What the configuration says, and what adapters say and are told, are dataclasses. What the daemon makes anew for each
autoscaler in every cycle are msgspec's structs, which take a tenth of the time to make. Those with `gc=False` are
unknown to the cyclic collector: nothing in them can refer back to them.
"""

from autoscaler.model.condition import Condition, ConditionType
from autoscaler.model.decision import Decision, Event, EventType, Outcome, Proposed, Step
from autoscaler.model.history import History, Intent, Recommendation, ScaleEvent, Status
from autoscaler.model.lane import LaneName
from autoscaler.model.metric import MetricOutcome
from autoscaler.model.observation import InstanceReading, Observation, Observed, Reading, Sample, ValueReading
from autoscaler.model.reason import Reason
from autoscaler.model.sighting import Sighting, Sightings
from autoscaler.model.spec import (
    DEFAULT_SCALE_DOWN,
    DEFAULT_SCALE_UP,
    LONGEST_PERIOD,
    LONGEST_WINDOW,
    Autoscaler,
    Behavior,
    ControllerOptions,
    MetricSpec,
    MetricTarget,
    MetricType,
    PolicyType,
    Query,
    ScalingPolicy,
    ScalingRules,
    SelectPolicy,
    TargetType,
    VictimOrder,
    VictimRule,
)
from autoscaler.model.steering import Direction, Override, Pause, Steering
from autoscaler.model.target import (
    MAX_SIZE,
    Call,
    Conflict,
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

__all__ = [
    "DEFAULT_SCALE_DOWN",
    "DEFAULT_SCALE_UP",
    "LONGEST_PERIOD",
    "LONGEST_WINDOW",
    "MAX_SIZE",
    "Autoscaler",
    "Behavior",
    "Call",
    "Condition",
    "ConditionType",
    "Conflict",
    "ControllerOptions",
    "Decision",
    "Direction",
    "Event",
    "EventType",
    "Held",
    "History",
    "Hold",
    "HoldReason",
    "Instance",
    "InstanceReading",
    "Intent",
    "LaneName",
    "Limits",
    "MetricOutcome",
    "MetricSpec",
    "MetricTarget",
    "MetricType",
    "Observation",
    "Observed",
    "Outcome",
    "Override",
    "Pause",
    "Phase",
    "PolicyType",
    "Proposed",
    "Query",
    "Reading",
    "Reason",
    "Recommendation",
    "Sample",
    "ScaleChange",
    "ScaleEvent",
    "ScaleOutcome",
    "ScalingPolicy",
    "ScalingRules",
    "SelectPolicy",
    "Sighting",
    "Sightings",
    "Status",
    "Steering",
    "Step",
    "TargetRef",
    "TargetState",
    "TargetType",
    "Unchanged",
    "ValueReading",
    "VictimOrder",
    "VictimRule",
    "Written",
]
