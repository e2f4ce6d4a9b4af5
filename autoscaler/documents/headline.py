"""What a decision comes to, in a word."""

from autoscaler.model import Condition, ConditionType, Decision


def headline(decision: Decision) -> Condition | None:
    """The condition that says most about the decision.

    The first of: AbleToScale False, ScalingActive False, ScalingLimited True, AbleToScale. None without any.
    """
    conditions = {condition.type: condition for condition in decision.conditions}
    able = conditions.get(ConditionType.ABLE_TO_SCALE)
    active = conditions.get(ConditionType.SCALING_ACTIVE)
    limited = conditions.get(ConditionType.SCALING_LIMITED)
    if able is not None and not able.status:
        return able
    if active is not None and not active.status:
        return active
    if limited is not None and limited.status:
        return limited
    return able


def failed(decision: Decision) -> bool:
    """Whether a metric, the target or the write failed. A hold, or scaling switched off, is not a failure."""
    return decision.error is not None
