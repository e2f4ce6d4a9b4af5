"""The conditions while a decision is being made, and the messages that go with HPA's reasons."""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from autoscaler.model import Condition, ConditionType

MESSAGES: Final = {
    "ReadyForNewScale": "the recommended size was not changed by stabilization",
    "ScaleUpStabilized": "a recent recommendation was lower than the current one",
    "ScaleDownStabilized": "a recent recommendation was higher than the current one",
    "DesiredWithinRange": "the desired size is within the allowed range",
    "TooFewReplicas": "the desired size is below the minimum",
    "TooManyReplicas": "the desired size is above the maximum",
    "ScaleUpLimit": "the desired size rises faster than one step allows",
    "ScaleDownLimit": "the desired size falls faster than one step allows",
}


class Conditions:
    """An autoscaler's conditions, changed in order. Private to one decision."""

    __slots__ = ("_by_type", "_now")

    def __init__(self, known: Iterable[Condition], now: datetime) -> None:
        self._by_type = {condition.type: condition for condition in known}
        self._now = now

    def set(self, kind: ConditionType, status: bool, reason: str, message: str) -> None:
        """Replace one, keeping the time of its last transition while its status stays."""
        known = self._by_type.get(kind)
        if known is None or known.status != status:
            self._by_type[kind] = Condition(kind, status, reason, message, self._now)
        elif known.message != message or known.reason != reason:
            self._by_type[kind] = Condition(kind, status, reason, message, known.last_transition)

    def is_true(self, kind: ConditionType) -> bool:
        """Whether it is known and true."""
        known = self._by_type.get(kind)
        return known is not None and known.status

    def frozen(self) -> tuple[Condition, ...]:
        """All of them, in the order in which they were first set."""
        return tuple(self._by_type.values())
