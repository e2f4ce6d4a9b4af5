"""A past from Prometheus, and from the state as far as that knows it."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from autoscaler.documents.base import Document
from autoscaler.model import Autoscaler
from autoscaler.whatif.past.past import STATE, Cycle, Past, Replayed
from autoscaler.whatif.prometheus.prometheus_past import PrometheusPast
from autoscaler.whatif.replay.replay import Candidate, Load, replay


class Agreement(Document):
    """How far the decisions over an inferred past agree with the recorded ones, where both know the same time."""

    cycles: int
    """Of the state, from the first inferred cycle to the last."""
    same: int
    """In which the same size was decided."""
    same_read: int
    """In which the same size was read."""

    @property
    def summary(self) -> str:
        """The agreement in a sentence, without its full stop."""
        share = self.same / self.cycles if self.cycles else 1
        return (
            f"{self.same} of {self.cycles} cycles have the size that the state has ({share:.1%}); "
            f"in {self.same_read} the size that was read is the same"
        )


class InferredPast:
    """Implements `Past`: cycles from Prometheus, then from the state. Raises what these raise."""

    def __init__(
        self, inferred: PrometheusPast, state: Past | None, begin: datetime | None, recorded: Autoscaler | None
    ) -> None:
        """`state`: what the state knows of the same time; `recorded`: the last configuration in it; None: nothing.

        `begin`: when the cycles of the state replace those of Prometheus; None: never.
        """
        self.name, self.origin, self.findings = inferred.name, inferred.origin, inferred.findings
        self._inferred, self._state, self._recorded = inferred, state, recorded
        self._begin = None if state is None else begin

    def cycles(self) -> Iterator[Cycle]:
        """Of both, in order of time. `origin` is that of the last cycle."""
        self.origin = self._inferred.origin
        for cycle in self._inferred.cycles():
            if self._begin is not None and cycle.at >= self._begin:
                break
            yield cycle
        if self._state is not None and self._begin is not None:
            self.origin = STATE
            yield from self._state.cycles()

    def agreement(self) -> Agreement | None:
        """How far Prometheus agrees with the state; None if no time is known from both."""
        if self._state is None or self._recorded is None:
            return None
        candidate = Candidate("recorded", self._recorded, Load.RECORDED)
        found = agreement(self._state.cycles(), replay(self._inferred.cycles(), candidate))
        return found if found.cycles else None


def agreement(recorded: Iterable[Cycle], inferred: Iterable[Replayed]) -> Agreement:
    """Compare recorded decisions with those over an inferred past; both in order of time.

    A recorded cycle is compared with the nearest inferred one, at most half a sync period away; without one it differs.
    """
    cycles = same = same_read = 0
    for cycle, replayed in _paired(recorded, inferred):
        own = cycle.decision
        if own is None:
            continue
        cycles += 1
        if replayed is not None:
            same += own.desired == replayed.decision.desired
            same_read += own.current == replayed.decision.current
    return Agreement(cycles=cycles, same=same, same_read=same_read)


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
