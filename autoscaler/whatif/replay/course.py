"""The result of one replay over time, in arrays, from which measures and charts are made.

A week at 15 s is 40,320 cycles, whose decisions would take gigabytes. A course keeps numbers of each cycle, and whole
cycles for an even selection of its changes.
"""

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from autoscaler.foresee.shadow_comparison import GAP
from autoscaler.model import Autoscaler, ConditionType, Decision, Proposed, TargetState, Written
from autoscaler.whatif.past.past import Cycle, Replayed
from autoscaler.whatif.replay.demand import maximum_of
from autoscaler.whatif.replay.instance_times import InstanceTime, TimeSource
from autoscaler.whatif.replay.replay import Candidate

AS_IT_WAS: Final = "as it was"
"""The label of the daemon's own course."""
UNKNOWN: Final = -1
"""An unknown size."""
MOST_EXPLAINABLE: Final = 200
"""Changes whose cycles are kept, so that they can be explained. When there are as many, every second one is dropped."""
_SEEN: Final = "seen; the reason is unknown"


@dataclass(frozen=True, slots=True)
class Change:
    """A change of size that was written, or decided where nothing is written."""

    at: datetime
    before: int
    after: int
    reason: str
    """That of the condition AbleToScale, as in the log; empty if unknown."""
    message: str
    """Why, in a sentence."""


@dataclass(slots=True)
class Course:
    """One candidate over time, or the daemon itself. The arrays have one item for each cycle, in order."""

    label: str = AS_IT_WAS
    """The name of the candidate."""
    scaler: Autoscaler | None = None
    """The candidate's configuration; of the daemon itself, the last one. None if there was no cycle."""
    given: timedelta | None = None
    """The start-up time that replaces that of the configuration."""
    at: "array[float]" = field(default_factory=lambda: array("d"))
    """POSIX seconds; lower than the one before if the wall clock was set back."""
    size: "array[int]" = field(default_factory=lambda: array("l"))
    """The size at the beginning of the cycle: the shadow's if there is one. UNKNOWN if it was not read."""
    ready: "array[int]" = field(default_factory=lambda: array("l"))
    """How many replicas were ready, without those that the cycle removed. UNKNOWN if they were not read."""
    maximum: "array[int]" = field(default_factory=lambda: array("l"))
    """The upper bound in force. UNKNOWN if the target was not read."""
    changes: list[Change] = field(default_factory=list)
    explainable: list[Replayed] = field(default_factory=list)
    """The cycles of some of the changes, evenly spread over all of them."""
    start_up: InstanceTime | None = None
    """The shadow's, in the last cycle; None without a shadow."""
    _every: int = 1
    """One of how many changes is explainable."""
    _expected: int = UNKNOWN
    """The size that the next cycle reads unless something else changes it."""
    _own: bool = field(init=False)
    """Whether it is the daemon's own."""
    _repeated: tuple[int, int] | None = None
    """Sizes before and after a change that was decided and not written, which later cycles decide again."""

    def __post_init__(self) -> None:
        self._own = self.scaler is None

    def add(self, replayed: Replayed) -> None:
        """Add a cycle."""
        known = len(self.changes)
        if self._own:
            self._add_outside_change(replayed)
            self.scaler = replayed.scaler
        self._add(replayed)
        self._add_change(replayed.decision)
        if len(self.changes) > known and known % self._every == 0:
            self.explainable.append(replayed)
            if len(self.explainable) == MOST_EXPLAINABLE:
                del self.explainable[1::2]
                self._every *= 2

    def add_seen(self, cycle: Cycle) -> None:
        """Add a cycle of which only the size is known, not the decision."""
        state, before = cycle.observation.target, self.size[-1] if self.size else UNKNOWN
        size, ready, maximum = UNKNOWN, UNKNOWN, UNKNOWN
        if isinstance(state, TargetState):
            size, ready, maximum = state.replicas, _known(state.ready), maximum_of(cycle, state)
        self._add_numbers(cycle.at, size, ready, maximum)
        self._expected, self.scaler = size, cycle.scaler
        if UNKNOWN not in (size, before) and size != before:
            self.changes.append(Change(cycle.at, before, size, "", _SEEN))

    def _add_outside_change(self, replayed: Replayed) -> None:
        """Add a change that something else made since the last cycle."""
        made, expected, before = replayed.decision, self._expected, self.scaler
        size, outcome = size_of(made), made.outcome
        is_followed = isinstance(outcome, Written) or (made.shadow is not None and isinstance(outcome, Proposed))
        self._expected = outcome.size if is_followed and isinstance(outcome, Written | Proposed) else _known(size)
        if size is None or expected in (size, UNKNOWN) or before is None:
            return
        now = replayed.scaler
        is_same = (before.target, before.dry_run) == (now.target, now.dry_run)  # else it is another target's size
        if is_same and made.now.timestamp() - self.at[-1] <= GAP * now.sync_period.total_seconds():
            self.changes.append(Change(made.now, expected, size, "", _SEEN))

    def _add(self, replayed: Replayed) -> None:
        made, shadow = replayed.decision, replayed.decision.shadow_memory
        if shadow is not None:
            configured = TimeSource.CONFIGURATION if self.given is None else TimeSource.GIVEN
            source = TimeSource.INSTANCES if shadow.learnt else configured
            self.start_up = InstanceTime(shadow.start_up, source)
        self._add_numbers(made.now, _known(size_of(made)), _known(_ready_of(made)), _known(made.maximum))

    def _add_numbers(self, at: datetime, size: int, ready: int, maximum: int) -> None:
        self.at.append(at.timestamp())
        self.size.append(size)
        self.ready.append(ready)
        self.maximum.append(maximum)

    def _add_change(self, made: Decision) -> None:
        change, outcome = made.change, made.outcome
        if change is None or not isinstance(outcome, Written | Proposed):
            self._repeated = None
            return
        move = change.decided_from, outcome.size
        if move != self._repeated:
            reason = next((each.reason for each in made.conditions if each.type is ConditionType.ABLE_TO_SCALE), "")
            self.changes.append(Change(made.now, *move, reason, change.reason))
        self._repeated = move if isinstance(outcome, Proposed) and made.shadow is None else None


def course_of(candidate: Candidate | None, replayed: Iterable[Replayed]) -> Course:
    """The course of a whole replay. `candidate`: None for the daemon's own decisions."""
    course = Course() if candidate is None else Course(candidate.label, candidate.scaler, candidate.start_up)
    for each in replayed:
        course.add(each)
    return course


def size_of(made: Decision) -> int | None:
    """The size that a decision began from: the shadow's if there is one."""
    return made.current if made.shadow is None else made.shadow


def _ready_of(made: Decision) -> int | None:
    """After the decision: replicas that leave do so at once."""
    if made.shadow_memory is not None:
        return made.shadow_memory.ready(made.now)
    return made.ready if made.ready is None or made.written is None else min(made.ready, made.written)


def _known(size: int | None) -> int:
    return UNKNOWN if size is None else size
