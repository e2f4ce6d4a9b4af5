"""Who is written first, where a cycle may not have time for all."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from autoscaler.errors import TargetDeferred
from autoscaler.model import Decision, Outcome, ScaleChange

_PATIENT_CYCLES: Final = 4
"""After so many cycles without time for it, a scale-in goes among the scale-outs: load that never rests must not
put it off for ever."""


class Write(NamedTuple):
    """A decision that is to be written."""

    decision: Decision
    change: ScaleChange


class Turns:
    """How long each autoscaler's write has waited. Of one shard; used on its thread alone."""

    def __init__(self) -> None:
        self._waited: dict[str, int] = {}
        """Autoscaler's name -> cycles, one after another, that had no time for its write."""

    def order(self, writes: Sequence[Write]) -> Sequence[Write]:
        """Scale-outs first, for load waits for them; then those that waited longest; else as they came."""
        return sorted(writes, key=self._rank)

    def note(self, decision: Decision, outcome: Outcome | None) -> None:
        """What came of a decision in this cycle; None: there was nothing to write."""
        if isinstance(outcome, TargetDeferred):
            self._waited[decision.name] = self._waited.get(decision.name, 0) + 1
        else:
            self._waited.pop(decision.name, None)

    def _rank(self, write: Write) -> tuple[bool, int]:
        waited = self._waited.get(write.decision.name, 0)
        first = write.change.size > write.change.decided_from or waited >= _PATIENT_CYCLES
        return not first, -waited
