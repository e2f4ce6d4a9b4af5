"""The conditions while a decision is being made, and the messages that go with HPA's reasons."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

from autoscaler.model import Condition, ConditionType, Reason

MESSAGES: Final[Mapping[str, str]] = {
    Reason.READY_FOR_NEW_SCALE: "the recommended size was not changed by stabilization",
    Reason.SCALE_UP_STABILIZED: "a recent recommendation was lower than the current one",
    Reason.SCALE_DOWN_STABILIZED: "a recent recommendation was higher than the current one",
    Reason.DESIRED_WITHIN_RANGE: "the desired size is within the allowed range",
    Reason.TOO_FEW_REPLICAS: "the desired size is below the minimum",
    Reason.TOO_MANY_REPLICAS: "the desired size is above the maximum",
    Reason.SCALE_UP_LIMIT: "the desired size rises faster than one step allows",
    Reason.SCALE_DOWN_LIMIT: "the desired size falls faster than one step allows",
    Reason.REMOVAL_BUDGET_LIMIT: "more would leave than the connection's removal budget allows",
    Reason.MAX_TOTAL_LIMIT: "the sizes of the connection's autoscalers would sum to more than they may",
}


class Conditions:
    """An autoscaler's conditions, changed in order. Private to one decision."""

    __slots__ = ("_known", "_now", "_set")

    def __init__(self, known: Iterable[Condition], now: datetime) -> None:
        self._known = {condition.type: condition for condition in known}
        self._set: dict[ConditionType, tuple[bool, str, str]] = {}
        self._now = now

    def set(self, kind: ConditionType, status: bool, reason: str, message: str) -> None:
        """Replace one. A later stage may replace it again: the last word counts."""
        self._set[kind] = (status, reason, message)

    def forget(self, kind: ConditionType) -> None:
        """What it says does not concern this autoscaler any more."""
        self._known.pop(kind, None)

    def set_scaled_to_zero(self, *, zero: bool) -> None:
        """A size was written: whether it is a zero that the autoscaler may leave again by itself."""
        message = "scaled to zero by the autoscaler" if zero else "not scaled to zero by the autoscaler"
        reason = Reason.SCALED_TO_ZERO if zero else Reason.NOT_SCALED_TO_ZERO
        self.set(ConditionType.SCALED_TO_ZERO, zero, reason, message)

    def is_true(self, kind: ConditionType) -> bool:
        """Whether it is true so far."""
        if kind in self._set:
            return self._set[kind][0]
        known = self._known.get(kind)
        return known is not None and known.status

    def frozen(self) -> tuple[Condition, ...]:
        """All of them, in the order in which they were first set. A status that stays keeps its transition's time."""
        conditions = self._known
        for kind, (status, reason, message) in self._set.items():
            known = conditions.get(kind)
            if known is None or known.status != status:
                conditions[kind] = Condition(kind, status, reason, message, self._now)
            elif known.reason != reason or known.message != message:
                conditions[kind] = Condition(kind, status, reason, message, known.last_transition)
        return tuple(conditions.values())
