"""How far an inferred past agrees with the state, where both know the same time.

The recorded decisions are compared with those that the same configuration makes over the inferred past, with the load
`recorded`. A recorded cycle is compared with the nearest inferred one, at most half a sync period away.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum

from autoscaler.documents.base import Document
from autoscaler.model import Decision
from autoscaler.whatif.past.past import Cycle, Replayed


class Why(StrEnum):
    """Why a cycle has a different size."""

    UNCOVERED = "not covered"
    """There is no inferred cycle at that time."""
    SIZE = "size"
    """A different size was read, or none."""
    READING = "reading"
    """A metric asked for a different size."""
    OTHER = "other"
    """The readings are the same. Something differs that Prometheus does not know: memory, operators, limits, time."""


class Agreement(Document):
    """The result of the comparison."""

    cycles: int
    """Of the state, from the first inferred cycle to the last."""
    same: int
    """In which the same size was decided."""
    same_read: int
    """In which the same size was read."""
    others: Mapping[Why, int]
    """The number of the other cycles by reason, the most frequent reason first."""

    @property
    def summary(self) -> str:
        """The agreement in a sentence, without its full stop."""
        share = self.same / self.cycles if self.cycles else 1
        text = f"{self.same} of {self.cycles} cycles have the size that the state has ({share:.1%})"
        counted = ", ".join(f"{why} {count}" for why, count in self.others.items())
        return f"{text}; the others differ by {counted}" if counted else text


def agreement(recorded: Iterable[Cycle], inferred: Iterable[Replayed]) -> Agreement:
    """Compare recorded cycles with inferred ones; both in order of time."""
    cycles = same = same_read = 0
    others = Counter[Why]()
    for cycle, replayed in _paired(recorded, inferred):
        own, made = cycle.decision, None if replayed is None else replayed.decision
        if own is None:
            continue
        cycles += 1
        same_read += made is not None and own.current == made.current
        if made is not None and own.desired == made.desired:
            same += 1
        else:
            others[_why(own, made)] += 1
    return Agreement(cycles=cycles, same=same, same_read=same_read, others=dict(others.most_common()))


def _why(own: Decision, made: Decision | None) -> Why:
    """The first reason that applies."""
    if made is None:
        return Why.UNCOVERED
    if own.current != made.current:
        return Why.SIZE
    if any(then.proposal != now.proposal for then, now in zip(own.metrics, made.metrics, strict=False)):
        return Why.READING
    return Why.OTHER


def _paired(recorded: Iterable[Cycle], inferred: Iterable[Replayed]) -> Iterator[tuple[Cycle, Replayed | None]]:
    """Each recorded cycle with the nearest inferred one, from the first inferred cycle to the last."""
    steps = iter(inferred)
    before, after = None, next(steps, None)
    if after is None:
        return
    half = after.scaler.sync_period / 2
    first = after.cycle.at - half
    for cycle in recorded:
        while after is not None and after.cycle.at < cycle.at:
            before, after = after, next(steps, None)
        if cycle.at < first or (after is None and before is not None and cycle.at > before.cycle.at + half):
            continue
        near = [each for each in (before, after) if each is not None]
        nearest = min(near, key=lambda each: abs(each.cycle.at - cycle.at))
        yield cycle, nearest if abs(nearest.cycle.at - cycle.at) <= half else None
