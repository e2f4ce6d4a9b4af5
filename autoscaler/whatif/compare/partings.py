"""Where two configurations part: the times at which the same past leads them to other sizes, and what made it so."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import zip_longest
from typing import Final, NamedTuple

from autoscaler.model import Decision, Proposed, Step, Written
from autoscaler.whatif.replay.course import size_of
from autoscaler.whatif.replay.replay import Replayed


class Sizes(NamedTuple):
    """Of the one and of the other at one time, after their decisions."""

    one: int
    other: int


class Causes(NamedTuple):
    """The first step of each one's decision at which they differ, for a decision from the same size.

    None: there is no such step on this side; it was decided at an earlier one.
    """

    one: Step | None
    other: Step | None


@dataclass(frozen=True, slots=True)
class Parting:
    """A time in which the sizes were different without a break."""

    begin: datetime
    """The cycle that was decided otherwise."""
    end: datetime
    """The last cycle after which the sizes were different."""
    first: Sizes
    """At the beginning."""
    furthest: Sizes
    """When they were furthest apart."""
    causes: Causes | None
    """None: their sizes were different before the first cycle that both decided."""


class Partings:
    """Follows two replays through one past, a moment at a time."""

    def __init__(self) -> None:
        self._done: Final = list[Parting]()
        self._open: Parting | None = None
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
            self._open = Parting(at, at, sizes, sizes, _causes(mine, theirs))
        else:
            begun = self._open
            apart = abs(sizes.one - sizes.other) > abs(begun.furthest.one - begun.furthest.other)
            furthest = sizes if apart else begun.furthest
            self._open = Parting(begun.begin, at, begun.first, furthest, begun.causes)

    def found(self) -> Sequence[Parting]:
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


def _causes(one: Decision, other: Decision) -> Causes | None:
    if size_of(one) != size_of(other):
        return None
    for mine, theirs in zip_longest(one.trace, other.trace):
        if mine is None or theirs is None or mine.after != theirs.after:
            return Causes(mine, theirs)
    return Causes(None, None)
