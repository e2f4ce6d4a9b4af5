"""Where two configurations differ: the times at which the same past leads them to other sizes, and what made it so."""

from collections.abc import Sequence
from datetime import datetime
from itertools import zip_longest
from typing import Final, NamedTuple

from autoscaler.documents.base import Document
from autoscaler.documents.explanation import StepDocument
from autoscaler.model import Decision, Proposed, Written
from autoscaler.whatif.replay.course import size_of
from autoscaler.whatif.replay.replay import Replayed


class Sizes(NamedTuple):
    """Of the one and of the other at one time, after their decisions."""

    one: int
    other: int


class Cause(StepDocument):
    """A step of a decision."""

    def __str__(self) -> str:
        change = f"stays {self.after}" if self.before == self.after else f"{self.before} -> {self.after}"
        return f"{self.reason}, {change} ({self.detail})"


class Divergence(Document):
    """A time in which the sizes of two candidates were different without a break."""

    begin: datetime
    """The first cycle that they decided otherwise."""
    end: datetime
    """The last cycle after which their sizes were different."""
    first: Sizes
    """At the beginning."""
    furthest: Sizes
    """When they were furthest apart."""
    causes: tuple[Cause | None, Cause | None] | None
    """The first step of each one's decision at which they differ, for a decision from the same size; null: it took none
    there. null for both: their sizes were different before the first cycle that both decided."""

    def because(self, labels: Sequence[str]) -> str:
        """Why they differ, in a sentence: the step of each that made the difference. `labels`: the two's names."""
        if self.causes is None:
            return "their sizes were different before"
        return "; ".join(f"{label}: {each or 'no step'}" for label, each in zip(labels, self.causes, strict=True))


class Divergences:
    """Follows two replays through one past, a moment at a time."""

    def __init__(self) -> None:
        self._done: Final = list[Divergence]()
        self._open: Divergence | None = None
        self._last: tuple[Decision | None, Decision | None] = None, None

    def add(self, one: Replayed | None, other: Replayed | None) -> None:
        """One moment. None: this one decided nothing then; its size stays."""
        known = self._last
        mine = known[0] if one is None else one.decision
        theirs = known[1] if other is None else other.decision
        self._last = mine, theirs
        if (one is None and other is None) or mine is None or theirs is None:
            return
        sizes = _sizes(mine, theirs)
        if sizes is None:
            return
        at = max(mine.now, theirs.now)
        if sizes.one == sizes.other:
            self._close()
        elif self._open is None:
            self._open = Divergence(begin=at, end=at, first=sizes, furthest=sizes, causes=_causes(mine, theirs))
        else:
            begun = self._open.furthest
            apart = abs(sizes.one - sizes.other) > abs(begun.one - begun.other)
            changes = {"end": at} | ({"furthest": sizes} if apart else {})
            self._open = self._open.model_copy(update=changes)

    def found(self) -> Sequence[Divergence]:
        """All of them, in order of time; one that still lasts ends at the last moment."""
        return [*self._done, *([] if self._open is None else [self._open])]

    def _close(self) -> None:
        if self._open is not None:
            self._done.append(self._open)
            self._open = None


def _sizes(one: Decision, other: Decision) -> Sizes | None:
    mine, theirs = size_after(one), size_after(other)
    return None if mine is None or theirs is None else Sizes(mine, theirs)


def size_after(made: Decision) -> int | None:
    """What is asked for after a decision; of one that is only proposed, what was proposed. None: it is not known."""
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
