"""A daemon's past without a daemon: what it would have recorded, a cycle at a time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from autoscaler.decide import conclude, decide, remember
from autoscaler.errors import MetricError, TargetError
from autoscaler.model import (
    Autoscaler,
    Behavior,
    Decision,
    History,
    Observation,
    Outcome,
    Proposed,
    Steering,
    Written,
)
from autoscaler.whatif.past.past import Moment
from tests.decide.build import CPU_60, NOW, samples, scaler, state
from tests.replaced import replace


@dataclass
class Life:
    """One autoscaler's cycles, 15 s apart. Whatever it decides is written, and there at once."""

    scaler: Autoscaler = field(default_factory=lambda: scaler(CPU_60, maximum=10, behavior=Behavior()))
    size: int = 2
    now: datetime = NOW
    history: History = field(default_factory=History)
    moments: list[Moment] = field(default_factory=list)

    def see(
        self,
        observed: Observation,
        outcome: Outcome | None = None,
        *,
        recorded: bool = True,
        away: timedelta = timedelta(0),
    ) -> Decision:
        """One cycle, and none for `away`. `outcome`: what a write comes to; `recorded`: whether the state took it."""
        made = decide(self.scaler, observed, self.history, self.now)
        if made.change is not None:
            made = conclude(made, Written(made.change.size) if outcome is None else outcome)
        if recorded:
            self.moments.append(Moment(self.now, observed, made, self.history, self.scaler))
            self.history = remember(self.scaler, self.history, made)
        if made.written is not None:
            self.size = made.written
        self.now += self.scaler.sync_period + away
        return made

    def cpu(self, percent: int, outcome: Outcome | None = None, *, recorded: bool = True) -> Decision:
        """A cycle in which each instance uses so much of its capacity."""
        return self.see(self.seen(percent), outcome, recorded=recorded)

    def dry(self, percent: int) -> Decision:
        """A cycle of a dry run."""
        made = decide(self.scaler, self.seen(percent), self.history, self.now)
        return self.cpu(percent, Proposed(made.desired or 0))

    def load(self, percent: int) -> Decision:
        """A cycle in which all instances together use so much: of one's capacity."""
        return self.cpu(percent // self.size)

    def seen(self, percent: int) -> Observation:
        return Observation(state(self.size), (samples([percent * 10] * self.size, self.now),))

    def fail(self) -> Decision:
        """A cycle in which Prometheus gives no answer."""
        return self.see(Observation(state(self.size), (MetricError("no answer"),)))

    def unreadable(self, error: TargetError) -> Decision:
        """A cycle in which the back end gives no answer."""
        return self.see(Observation(error, (MetricError("not asked"),) * len(self.scaler.metrics)))

    def steer(self, steering: Steering) -> None:
        self.history = replace(self.history, steering=steering)


class Listed:
    """A past that is held in memory."""

    name = "web"
    origin = "list"
    findings = ()

    def __init__(self, moments: Sequence[Moment]) -> None:
        self._moments = moments

    def moments(self) -> Iterator[Moment]:
        return iter(self._moments)
