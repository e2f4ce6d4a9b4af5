"""What one candidate's replay came to over time, in arrays: measures and charts need no more of it.

A week at 15 s is 40,320 cycles. Their decisions would take gigabytes, so they are let go; any of them is found again by
replaying up to its time (`replay.found_at`).
"""

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from msgspec import Struct

from autoscaler.foresee.shadow_comparison import GAP
from autoscaler.model import Autoscaler, ConditionType, Decision, Proposed, Written
from autoscaler.whatif.replay.replay import Replayed

UNKNOWN: Final = -1
"""A size that is not known."""


_SEEN: Final = "seen; why is not known"


class Change(Struct, frozen=True, gc=False):
    """A change of size, written or, where nothing is written, decided."""

    at: datetime
    before: int
    after: int
    reason: str
    """Of the condition AbleToScale, as the decision's line in the log has it; empty: not known."""
    message: str
    """Why, in a sentence: as the back end was told."""


class StartUp(NamedTuple):
    """How long an instance takes until it is ready."""

    length: timedelta
    learnt: bool
    """Whether instances have shown that."""


@dataclass(slots=True)
class Course:
    """One candidate over time. The arrays have one place for each cycle, in the order of the cycles."""

    label: str
    """What the candidate is called."""
    scaler: Autoscaler | None = None
    """As configured; of the daemon's own decisions the last one. None: there was no cycle."""
    at: "array[float]" = field(default_factory=lambda: array("d"))
    """POSIX seconds. Where the wall clock was set back, one may be lower than the one before."""
    size: "array[int]" = field(default_factory=lambda: array("l"))
    """What was asked for at the beginning of the cycle; the shadow's own, where there is one. UNKNOWN: not read."""
    ready: "array[int]" = field(default_factory=lambda: array("l"))
    """How many of these were ready, without what the cycle itself took away; UNKNOWN: not read."""
    desired: "array[int]" = field(default_factory=lambda: array("l"))
    """What was decided; UNKNOWN: nothing could be."""
    maximum: "array[int]" = field(default_factory=lambda: array("l"))
    """The upper bound in force; UNKNOWN: the target was not read."""
    changes: list[Change] = field(default_factory=list)
    start_up: StartUp | None = None
    """That the shadow had in the last cycle; None: it had no shadow."""
    _expected: int = UNKNOWN
    """The size that the next cycle finds, unless something else changes it."""
    _own: bool = field(init=False)
    """Whether it is of the daemon's own decisions."""
    _repeated: tuple[int, int] | None = None
    """Size before and after of a change that was decided and not written: said again, it is no other change."""

    def __post_init__(self) -> None:
        self._own = self.scaler is None

    def add(self, replayed: Replayed) -> None:
        """One more cycle."""
        if self._own:
            self._add_outside_change(replayed)
            self.scaler = replayed.scaler
        self._add(replayed)
        self._add_change(replayed.decision)

    def add_seen(self, replayed: Replayed) -> None:
        """One more cycle of which only the size that was seen is known, not what was decided."""
        size, before = size_of(replayed.decision), self.size[-1] if self.size else UNKNOWN
        self._add(replayed)
        self.desired[-1] = self._expected = _known(size)
        if size is not None and before not in (size, UNKNOWN):
            self.changes.append(Change(replayed.moment.at, before, size, "", _SEEN))

    def _add_outside_change(self, replayed: Replayed) -> None:
        """One that something else made since the last cycle: `as it was` has the changes that were seen."""
        made, expected, before = replayed.decision, self._expected, self.scaler
        size, outcome = size_of(made), made.outcome
        is_followed = made.shadow is not None
        after = (
            outcome.size if isinstance(outcome, Written) or (is_followed and isinstance(outcome, Proposed)) else size
        )
        self._expected = _known(after)
        if size is None or expected in (size, UNKNOWN) or before is None:
            return
        now = replayed.scaler
        is_same = (before.target, before.dry_run) == (now.target, now.dry_run)  # else it is another one's size
        if is_same and made.now.timestamp() - self.at[-1] <= GAP * now.sync_period.total_seconds():
            self.changes.append(Change(made.now, expected, size, "", _SEEN))

    def _add(self, replayed: Replayed) -> None:
        made, shadow = replayed.decision, replayed.decision.shadow_memory
        if shadow is not None:
            self.start_up = StartUp(shadow.start_up, shadow.learnt)
        self.at.append(made.now.timestamp())
        self.size.append(_known(size_of(made)))
        self.ready.append(_known(_ready_of(made)))
        self.desired.append(_known(made.desired))
        self.maximum.append(_known(made.maximum))

    def _add_change(self, made: Decision) -> None:
        change, outcome = made.change, made.outcome
        if change is None or not isinstance(outcome, Written | Proposed):
            self._repeated = None
            return
        move = change.decided_from, outcome.size
        if move != self._repeated:
            self.changes.append(Change(made.now, *move, _able_to_scale(made), change.reason))
        self._repeated = move if isinstance(outcome, Proposed) and made.shadow is None else None


def course_of(label: str, scaler: Autoscaler | None, replayed: Iterable[Replayed]) -> Course:
    """The course of a whole replay. `scaler`: as in Course, until there is a cycle."""
    course = Course(label, scaler)
    for each in replayed:
        course.add(each)
    return course


def size_of(made: Decision) -> int | None:
    """The size that a decision went by: the shadow's, where it has one."""
    return made.current if made.shadow is None else made.shadow


def _ready_of(made: Decision) -> int | None:
    """After the decision: what leaves does so at once, of a shadow as of what was written."""
    if made.shadow_memory is not None:
        return made.shadow_memory.ready(made.now)
    return made.ready if made.ready is None or made.written is None else min(made.ready, made.written)


def _able_to_scale(made: Decision) -> str:
    return next((each.reason for each in made.conditions if each.type is ConditionType.ABLE_TO_SCALE), "")


def _known(size: int | None) -> int:
    return UNKNOWN if size is None else size
