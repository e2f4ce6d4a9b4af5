"""Whether a decision has something to say that the one before it had not."""

from typing import Final

from autoscaler.errors import TargetError
from autoscaler.model import Conflict, Decision, Written

_ATTEMPTS: Final = (Written, Conflict, TargetError)


def changed(before: Decision | None, after: Decision) -> bool:
    """Whether anything changed that an operator would want to know of, between two decisions about one autoscaler.

    That is: the size found or wanted, a condition's status or reason (and with them the reason that the log names),
    which metrics fail, the bounds in force, what operators asked for, whether it is a dry run, and the target. A write
    always is a change, whether it succeeded or failed, and so is a first decision (`before` None). Values of metrics
    that move, and messages that name them, are none.
    """
    return before is None or isinstance(after.outcome, _ATTEMPTS) or _summary(before) != _summary(after)


def _summary(decision: Decision) -> tuple[object, ...]:
    return (
        decision.current,
        decision.desired,
        decision.minimum,
        decision.maximum,
        decision.dry_run,
        decision.target,
        decision.steering,
        {condition.type: (condition.status, condition.reason) for condition in decision.conditions},
        [(metric.type, metric.name) for metric in decision.metrics if metric.failed],
    )
