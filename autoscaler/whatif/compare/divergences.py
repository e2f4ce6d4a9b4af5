"""When and why two candidates have different sizes over the same past."""

from collections.abc import Sequence
from datetime import datetime
from itertools import zip_longest
from typing import Final, NamedTuple

from autoscaler.documents.base import Document
from autoscaler.documents.explanation import StepDocument
from autoscaler.model import Decision, Proposed, Written
from autoscaler.whatif.past.past import Replayed
from autoscaler.whatif.replay.course import size_of


class Sizes(NamedTuple):
    """The sizes of both at one time, after their decisions."""

    one: int
    other: int


class Cause(StepDocument):
    """A step of a decision."""

    def __str__(self) -> str:
        change = f"stays {self.after}" if self.before == self.after else f"{self.before} -> {self.after}"
        return f"{self.reason}, {change} ({self.detail})"


class Divergence(Document):
    """A time during which the sizes of two candidates differ."""

    begin: datetime
    """The first cycle with different decisions."""
    end: datetime
    """The last cycle after which the sizes differ."""
    first: Sizes
    """At the beginning."""
    furthest: Sizes
    """When they are furthest apart."""
    causes: tuple[Cause | None, Cause | None] | None
    """The first different step of each decision, if both began at the same size; null for a decision that lacks the
    step. null for both: the sizes differed before the first cycle that both decided."""

    def because(self, labels: Sequence[str]) -> str:
        """The causes in a sentence. `labels`: the names of the two candidates."""
        if self.causes is None:
            return "their sizes were different before"
        return "; ".join(f"{label}: {each or 'no step'}" for label, each in zip(labels, self.causes, strict=True))


class Divergences:
    """Compares two replays of one past, cycle by cycle."""

    def __init__(self) -> None:
        self._done: Final = list[Divergence]()
        self._open: Divergence | None = None
        self._last: tuple[Decision | None, Decision | None] = None, None

    def add(self, one: Replayed | None, other: Replayed | None) -> None:
        """Take the next cycle. None: the candidate did not decide, so its size stays."""
        known = self._last
        mine = known[0] if one is None else one.decision
        theirs = known[1] if other is None else other.decision
        self._last = mine, theirs
        if (one is None and other is None) or mine is None or theirs is None:
            return
        own_size, other_size = _size_after(mine), _size_after(theirs)
        if own_size is None or other_size is None:
            return
        at, sizes, known_open = max(mine.now, theirs.now), Sizes(own_size, other_size), self._open
        if sizes.one == sizes.other:
            if known_open is not None:
                self._done.append(known_open)
            self._open = None
        elif known_open is None:
            self._open = Divergence(begin=at, end=at, first=sizes, furthest=sizes, causes=_causes(mine, theirs))
        else:
            furthest = max(known_open.furthest, sizes, key=lambda each: abs(each.one - each.other))
            self._open = known_open.model_copy(update={"end": at, "furthest": furthest})

    def found(self) -> Sequence[Divergence]:
        """All, in order of time. One that has not ended ends with the last cycle."""
        return [*self._done, *([] if self._open is None else [self._open])]


def _size_after(made: Decision) -> int | None:
    """The size after a decision, as written or proposed; None if it is unknown."""
    match made.outcome:
        case Written(size) | Proposed(size):
            return size
    return size_of(made)


def _causes(one: Decision, other: Decision) -> tuple[Cause | None, Cause | None] | None:
    if size_of(one) != size_of(other):
        return None
    for mine, theirs in zip_longest(one.trace, other.trace):
        if mine is None or theirs is None or mine.after != theirs.after:
            return Cause.of(mine) if mine else None, Cause.of(theirs) if theirs else None
    return None, None
