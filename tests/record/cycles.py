"""Whole cycles of one autoscaler on a state that can be closed and opened again."""

from autoscaler.model import (
    Autoscaler,
    Decision,
    History,
    MetricSpec,
    MetricTarget,
    MetricType,
    Observation,
    Observed,
    Outcome,
    Query,
    TargetRef,
    TargetType,
)
from autoscaler.record.ledger import Ledger
from tests.clocks import FakeClock
from tests.decide.build import Life
from tests.record.conftest import Opener
from tests.record.samples import FLEET, START, scaler
from tests.replaced import replace

QUEUE = MetricSpec(MetricType.EXTERNAL, "queue", MetricTarget(TargetType.AVERAGE_VALUE, 1000), Query("q"))
"""Asks for a replica for each unit of its value."""


class Cycles(Life):
    """Commits intents and records, on a clock of its own."""

    def __init__(self, opener: Opener, autoscaler: Autoscaler, seconds: float = 60) -> None:
        """`seconds`: between two cycles."""
        super().__init__(autoscaler, 0)
        self.opener, self.clock = opener, FakeClock(START)
        self._seconds, self._dies = seconds, False
        self.restart()

    def restart(self, step: float = 0) -> None:
        """Close the state and open it again; meanwhile the wall clock is set by `step` seconds."""
        self.opener.close()
        self.clock.step(step)
        self.state = self.opener.state(clock=self.clock)
        self.ledger: Ledger = self.state.ledger(FLEET)

    def supersede(self) -> None:
        """Begin the shard's next epoch."""
        self.ledger = self.state.ledger(FLEET)

    def recall(self) -> History:
        self.ledger.follow_clock(self.clock.moment())
        return self.ledger.recall([self.autoscaler])[self.autoscaler.name]

    def write(self, made: Decision, outcome: Outcome | None, arrives: bool) -> Decision:
        assert self.ledger.intend([made]) == {}
        return made if self._dies else super().write(made, outcome, arrives)

    def keep(self, made: Decision) -> None:
        if not self._dies:
            name = self.autoscaler.name
            assert self.ledger.record({name: self.autoscaler}, Observed({name: self.observed}), [made]) == {}

    def cycle(self, seen: Observation, *, dies: bool = False) -> Decision:
        """Run a cycle with this observation. `dies`: it ends after the write and before the outcome is recorded."""
        self.clock.advance(self._seconds)
        self.now, self._dies = self.clock.now(), dies
        return self.see(seen)


def serving(ledger: Ledger, *targets: TargetRef) -> Ledger:
    """Return the ledger of a shard that scales these targets."""
    ledger.follow([replace(scaler(str(number)), target=target) for number, target in enumerate(targets)])
    return ledger
