"""The result of a decision and its cause in one line: the headline of an autoscaler's page."""

from typing import TYPE_CHECKING, Final

from autoscaler.foresee.outlook import stabilizing_recommendation
from autoscaler.hpa.stabilization import down_window, up_window
from autoscaler.model import ConditionType, Decision, Proposed, Reason, Step
from autoscaler.quantity import format_age
from autoscaler.view.verdict import headline, limits, main_conditions, winner

if TYPE_CHECKING:  # the command line reads documents that a daemon made, and needs no SQLAlchemy for it
    from autoscaler.record import Record

_STABILIZED: Final = (Reason.SCALE_DOWN_STABILIZED, Reason.SCALE_UP_STABILIZED)
_BOUNDED: Final = (Reason.TOO_MANY_REPLICAS, Reason.TOO_FEW_REPLICAS)


def conclusion(record: "Record") -> str:
    """Return the line, such as `stays at 4: a higher recommendation, 6, 3m ago`. Never empty."""
    decision = record.decision
    size, desired = decision.current, decision.desired
    if decision.current is None:
        return f"the size could not be read: {decision.error}"
    if decision.written is not None:
        return f"was set from {size} to {decision.written}: {_cause(decision)}"
    stays = f"stays at {size}"
    if desired is None:
        return f"{stays}: {decision.error}"
    if desired == size:
        return f"{stays}: {_why_it_stays(record)}"
    if isinstance(decision.outcome, Proposed):
        return f"would go from {size} to {desired}, but a dry run writes nothing: {_cause(decision)}"
    return f"{stays}, although {desired} is wanted: {_obstacle(decision)}"


def _cause(decision: Decision) -> str:
    return "no reason is known" if decision.change is None else decision.change.reason


def _obstacle(decision: Decision) -> str:
    """Return what prevented the write."""
    able, *_ = main_conditions(decision)
    return decision.error or ("it was not written" if able is None else able.message)


def _why_it_stays(record: "Record") -> str:
    decision = record.decision
    effective = [step for step in limits(decision) if step.before != step.after]
    if effective:
        return _limit(effective[-1], record)
    telling = headline(decision)
    if telling is not None and telling.type != ConditionType.ABLE_TO_SCALE:
        return telling.message
    followed = winner(decision)
    if followed is None:
        return "no metric was queried"
    name = f"the fallback of {followed.name}" if followed.on_fallback else followed.name
    return f"{name} asks for {followed.proposal} ({followed.detail})"


def _limit(step: Step, record: "Record") -> str:
    if step.reason in _BOUNDED:
        return f"{step.detail}, and {step.before} would be the size without it"
    hold = None
    if record.history is not None and step.reason in _STABILIZED:
        hold = stabilizing_recommendation(record.decision, record.history.hpa.recommendations, record.scaler)
    if hold is None:
        return step.detail
    down = step.reason == Reason.SCALE_DOWN_STABILIZED
    made = hold.until - (down_window(record.scaler) if down else up_window(record.scaler))
    age = format_age(record.decision.now - made)
    return f"a {'higher' if down else 'lower'} recommendation, {hold.replicas}, {age} ago"
