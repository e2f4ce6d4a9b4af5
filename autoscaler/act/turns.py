"""The order of writes, for cycles without time for all of them."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from autoscaler.errors import TargetDeferred
from autoscaler.model import Decision, Direction, Outcome, ScaleChange

_PATIENT_CYCLES: Final = 4
"""After this many cycles without time, a scale-in has a scale-out's priority, so that it is not delayed forever."""


class Write(NamedTuple):
    """A decision to write."""

    decision: Decision
    change: ScaleChange


class Turns:
    """Tracks how long each autoscaler's write has waited. Used on one shard's thread."""

    def __init__(self) -> None:
        self._waited: dict[str, int] = {}
        """Autoscaler's name -> consecutive cycles without time for its write."""

    def order(self, writes: Sequence[Write]) -> Sequence[Write]:
        """Sort scale-outs first, then by waiting time, then in the order given."""
        return sorted(writes, key=self._rank)

    def note(self, decision: Decision, outcome: Outcome | None) -> None:
        """Record a decision's outcome in this cycle; None if there was nothing to write."""
        if isinstance(outcome, TargetDeferred):
            self._waited[decision.name] = self._waited.get(decision.name, 0) + 1
        else:
            self._waited.pop(decision.name, None)

    def _rank(self, write: Write) -> tuple[bool, int]:
        waited = self._waited.get(write.decision.name, 0)
        first = write.change.direction is Direction.OUT or waited >= _PATIENT_CYCLES
        return not first, -waited
