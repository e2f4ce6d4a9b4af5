"""What a decision came to and why, in one line: the headline of an autoscaler's page."""

from typing import TYPE_CHECKING, Final

from autoscaler.documents.verdict import headline
from autoscaler.foresee.outlook import down_window, stabilizing_recommendation, up_window
from autoscaler.model import CONNECTION_LIMITS, ConditionType, Decision, Proposed, Reason, Step
from autoscaler.quantity import format_age

if TYPE_CHECKING:  # the command line reads documents that a daemon made, and needs no SQLAlchemy for it
    from autoscaler.record import Record

_STABILIZED: Final = (Reason.SCALE_DOWN_STABILIZED, Reason.SCALE_UP_STABILIZED)
_BOUNDED: Final = (Reason.TOO_MANY_REPLICAS, Reason.TOO_FEW_REPLICAS)
_RATES: Final = (Reason.SCALE_UP_LIMIT, Reason.SCALE_DOWN_LIMIT)
_LIMITED: Final = (*_STABILIZED, *_BOUNDED, *_RATES, *CONNECTION_LIMITS)


def conclusion(record: "Record") -> str:
    """Such as `stays at 4: a higher recommendation, 6, 3m ago`. Never empty."""
    decision = record.decision
    size, desired = decision.decided_from, decision.desired
    if decision.current is None:
        return f"the size could not be read: {decision.error}"
    if decision.written is not None:
        return f"was set from {size} to {decision.written}: {_cause(decision)}"
    stays = f"stays at {size}"
    if decision.shadow is not None:
        stays = f"the target's size is {decision.current}; its shadow {stays}"
    if desired is None:
        return f"{stays}: {decision.error}"
    if desired == size:
        return f"{stays}: {_why_it_stays(record)}"
    if isinstance(decision.outcome, Proposed):
        if decision.current != size:
            moved = f"the target's size is {decision.current}; its shadow went from {size} to {desired}"
            return f"{moved}: {_cause(decision)}"
        return f"would go from {size} to {desired}, but a dry run writes nothing: {_cause(decision)}"
    return f"{stays}, although {desired} is wanted: {_obstacle(decision)}"


def _cause(decision: Decision) -> str:
    """Of another size than the present one."""
    return "no reason is known" if decision.change is None else decision.change.reason


def _obstacle(decision: Decision) -> str:
    """What kept the size from being written."""
    able = next((each for each in decision.conditions if each.type is ConditionType.ABLE_TO_SCALE), None)
    return decision.error or ("it was not written" if able is None else able.message)


def _why_it_stays(record: "Record") -> str:
    decision = record.decision
    limits = [step for step in decision.trace if step.reason in _LIMITED and step.before != step.after]
    if limits:
        return _limit(limits[-1], record)
    telling = headline(decision)
    if telling is not None and telling.type is not ConditionType.ABLE_TO_SCALE:
        return telling.message
    if not any(step.reason == Reason.VALID_METRIC_FOUND for step in decision.trace):
        return "no metric was asked"
    asking = [metric for metric in decision.metrics if metric.proposal is not None]
    winner = max(asking, key=lambda metric: metric.proposal or 0)
    name = f"the fallback of {winner.name}" if winner.on_fallback else winner.name
    return f"{name} asks for {winner.proposal} ({winner.detail})"


def _limit(step: Step, record: "Record") -> str:
    if step.reason in _BOUNDED:
        return f"{step.detail}, and {step.before} would be the size without it"
    hold = None
    if record.history is not None and step.reason in _STABILIZED:
        hold = stabilizing_recommendation(record.decision, record.history.recommendations, record.scaler)
    if hold is None:
        return step.detail
    down = step.reason == Reason.SCALE_DOWN_STABILIZED
    made = hold.until - (down_window(record.scaler) if down else up_window(record.scaler))
    age = format_age(record.decision.now - made)
    return f"a {'higher' if down else 'lower'} recommendation, {hold.replicas}, {age} ago"
