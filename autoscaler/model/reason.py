"""The words for why: of conditions, events and a decision's steps."""

from enum import StrEnum
from typing import Final


class Reason(StrEnum):
    """HPA's reasons, and ours where it has none. An adapter's reason to hold is a word of its own, and no member."""

    # of the condition AbleToScale
    SUCCEEDED_GET_SCALE = "SucceededGetScale"
    FAILED_GET_SCALE = "FailedGetScale"
    READY_FOR_NEW_SCALE = "ReadyForNewScale"
    SCALE_UP_STABILIZED = "ScaleUpStabilized"
    SCALE_DOWN_STABILIZED = "ScaleDownStabilized"
    SUCCEEDED_RESCALE = "SucceededRescale"
    FAILED_UPDATE_SCALE = "FailedUpdateScale"

    # of the condition ScalingActive
    VALID_METRIC_FOUND = "ValidMetricFound"
    SCALING_DISABLED = "ScalingDisabled"
    FAILED_GET_RESOURCE_METRIC = "FailedGetResourceMetric"
    FAILED_GET_CONTAINER_RESOURCE_METRIC = "FailedGetContainerResourceMetric"
    FAILED_GET_PODS_METRIC = "FailedGetPodsMetric"
    FAILED_GET_OBJECT_METRIC = "FailedGetObjectMetric"
    FAILED_GET_EXTERNAL_METRIC = "FailedGetExternalMetric"

    # of the condition ScalingLimited
    DESIRED_WITHIN_RANGE = "DesiredWithinRange"
    TOO_FEW_REPLICAS = "TooFewReplicas"
    TOO_MANY_REPLICAS = "TooManyReplicas"
    SCALE_UP_LIMIT = "ScaleUpLimit"
    SCALE_DOWN_LIMIT = "ScaleDownLimit"
    REMOVAL_BUDGET_LIMIT = "RemovalBudgetLimit"
    """Ours: more would leave at a time than the connection's removalBudget allows all of its autoscalers."""
    MAX_TOTAL_LIMIT = "MaxTotalLimit"
    """Ours: the sizes of all of the connection's autoscalers would sum to more than its maxTotal."""
    RECOVERING_SIZE = "RecoveringSize"
    """Ours: a deployment reset the size, which returns to what it was."""

    IDLE = "Idle"
    """Ours: nothing is active, and the cooldown has passed."""

    # of the condition ScaledToZero
    SCALED_TO_ZERO = "ScaledToZero"
    NOT_SCALED_TO_ZERO = "NotScaledToZero"

    # of the condition Active
    ACTIVE = "Active"
    NOT_ACTIVE = "NotActive"

    # of the condition MetricFallbackActive
    METRIC_UNAVAILABLE = "MetricUnavailable"
    """A fallback stands in for a metric."""
    FALLBACK_QUERY_FAILED = "FallbackQueryFailed"
    """It would, and its own query failed, too."""
    FALLBACK_PENDING = "FallbackPending"
    """A metric has no value, and its failure duration has not passed."""
    METRICS_AVAILABLE = "MetricsAvailable"
    """Every metric with a fallback has a value."""

    # of the condition AbleToScale and of events: brakes
    UNFULFILLED = "Unfulfilled"
    """Much of what was asked for does not arrive."""
    INSTANCES_LOST = "InstancesLost"
    """Many instances were gone at once, and no scale-in took them."""
    OUTSIDE_CHANGE = "OutsideChange"
    """Somebody else set the size."""

    # of the condition AbleToScale alone
    SIZE_UNCONFIRMED = "SizeUnconfirmed"
    """Ours: the next cycle tells whether a deployment reset the size."""

    # of events alone
    TARGET_WARNING = "TargetWarning"
    """The target has a warning for the operator that it did not have before."""
    OVERRIDDEN = "Overridden"
    """An operator set other bounds."""
    RESUMED = "Resumed"
    """An operator ended a pause, an override, or both."""
    PAUSE_ENDED = "PauseEnded"
    OVERRIDE_ENDED = "OverrideEnded"
    """Its time was over."""
    BRAKE_ENDED = "BrakeEnded"
    SIZE_RESET = "SizeReset"
    """A deployment reset the size."""
    SIZE_RECOVERED = "SizeRecovered"
    """It has returned."""
    RECOVERY_ENDED = "RecoveryEnded"
    """It has not, and is left."""
    DRAIN_BEGAN = "DrainBegan"
    DRAIN_ENDED = "DrainEnded"
    """The drain of an instance that leaves."""
    METRIC_FALLBACK_STARTED = "MetricFallbackStarted"
    METRIC_FALLBACK_ENDED = "MetricFallbackEnded"
    SUCCESSFUL_RESCALE = "SuccessfulRescale"
    FAILED_RESCALE = "FailedRescale"
    FAILED_COMPUTE_METRICS_REPLICAS = "FailedComputeMetricsReplicas"

    # ours
    BOUNDS_CONFLICT = "BoundsConflict"
    """The autoscaler's bounds and the target's own have no size in common."""
    PAUSED = "Paused"
    """An operator holds the direction; also of the event."""
    RESCALE = "Rescale"
    """Step: another size is wanted."""
    DRY_RUN = "DryRun"
    """Step: nothing was written, as it is a dry run."""
    UNCHANGED = "Unchanged"
    """Step: the target had the size already."""
    SETTLED = "Settled"
    """Step: an unfinished write turned out to have arrived."""


CONNECTION_LIMITS: Final = frozenset({Reason.REMOVAL_BUDGET_LIMIT, Reason.MAX_TOTAL_LIMIT})
"""Of the limits that the autoscalers of one connection share."""
