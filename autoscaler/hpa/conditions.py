"""The conditions of a decision in progress, and the messages of HPA's reasons."""

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
    """An autoscaler's conditions while one decision is being made."""

    __slots__ = ("_known", "_now", "_set")

    def __init__(self, known: Iterable[Condition], now: datetime) -> None:
        self._known = {condition.type: condition for condition in known}
        self._set: dict[str, tuple[bool, str, str, datetime]] = {}
        self._now = now

    def set(self, kind: str, status: bool, reason: str, message: str, changed: datetime | None = None) -> None:
        """Set a condition. The last call for a type counts. `changed`: when a new status began, if not now."""
        self._set[kind] = (status, reason, message, changed or self._now)

    def forget(self, kinds: Iterable[str]) -> None:
        """Remove conditions that no longer apply to this autoscaler."""
        for kind in kinds:
            self._known.pop(kind, None)

    def set_scaled_to_zero(self, *, zero: bool) -> None:
        """Record whether the autoscaler itself wrote a size of 0, which it may leave again."""
        message = "scaled to zero by the autoscaler" if zero else "not scaled to zero by the autoscaler"
        reason = Reason.SCALED_TO_ZERO if zero else Reason.NOT_SCALED_TO_ZERO
        self.set(ConditionType.SCALED_TO_ZERO, zero, reason, message)

    def is_true(self, kind: str) -> bool:
        """Return whether the condition is true at this point."""
        if kind in self._set:
            return self._set[kind][0]
        known = self._known.get(kind)
        return known is not None and known.status

    def frozen(self) -> tuple[Condition, ...]:
        """Return all conditions in the order they were first set. An unchanged status keeps its transition time."""
        conditions = self._known
        for kind, (status, reason, message, changed) in self._set.items():
            known = conditions.get(kind)
            if known is None or known.status != status:
                conditions[kind] = Condition(kind, status, reason, message, changed)
            elif known.reason != reason or known.message != message:
                conditions[kind] = Condition(kind, status, reason, message, known.last_transition)
        return tuple(conditions.values())
