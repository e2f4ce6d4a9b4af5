"""The line in the log that each decision gets."""

from typing import Any

from autoscaler.model import Condition, ConditionType, Decision
from autoscaler.show import notation
from autoscaler.target import Logger

EVENT = "decision"


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
    """Whether a metric, the target or the write failed. A hold, or scaling switched off, is no failure."""
    return decision.error is not None


def keys(decision: Decision) -> dict[str, Any]:
    """The line's keys after `timestamp`, `level` and `event`, in their order."""
    condition = headline(decision)
    return {
        "autoscaler": decision.name,
        "target": str(decision.target),
        "current": decision.current,
        "desired": decision.desired,
        "written": decision.written,
        "reason": condition and condition.reason,
        "message": condition and condition.message,
        "metrics": [
            {
                "name": metric.name,
                "type": metric.type.value,
                "value": notation.value(metric),
                "target": notation.target(metric.target),
            }
            for metric in decision.metrics
        ],
        "conditions": {
            condition.type.value: [str(condition.status), condition.reason] for condition in decision.conditions
        },
        "dry_run": decision.dry_run,
    }


def log(logger: Logger, decision: Decision) -> None:
    """Write the decision's line: a warning when something failed."""
    (logger.warning if failed(decision) else logger.info)(EVENT, **keys(decision))
