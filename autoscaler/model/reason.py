"""The words for why: of conditions, events and a decision's steps."""

from enum import StrEnum
from typing import Final


class Reason(StrEnum):
    """HPA's reasons, and ours where it has none. Rules have words of their own, and so has an adapter's hold."""

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

    # of the condition ScaledToZero
    SCALED_TO_ZERO = "ScaledToZero"
    NOT_SCALED_TO_ZERO = "NotScaledToZero"

    # of events alone
    TARGET_WARNING = "TargetWarning"
    """The target has a warning for the operator that it did not have before."""
    SUCCESSFUL_RESCALE = "SuccessfulRescale"
    FAILED_RESCALE = "FailedRescale"
    FAILED_COMPUTE_METRICS_REPLICAS = "FailedComputeMetricsReplicas"

    # ours
    BOUNDS_CONFLICT = "BoundsConflict"
    """The autoscaler's bounds and the target's own have no size in common."""
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
