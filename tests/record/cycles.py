"""Whole cycles of one autoscaler on a state that can be closed and opened again."""

from autoscaler.decide import apply_outcome, decide
from autoscaler.model import (
    Autoscaler,
    Decision,
    History,
    MetricSpec,
    MetricTarget,
    MetricType,
    Observation,
    Observed,
    Proposed,
    Query,
    TargetRef,
    TargetType,
    Written,
)
from autoscaler.record import Ledger
from tests.record.conftest import Opener
from tests.record.samples import FLEET, START, scaler
from tests.replaced import replace
from tests.schedule.clock import FakeClock

QUEUE = MetricSpec(MetricType.EXTERNAL, "queue", MetricTarget(TargetType.AVERAGE_VALUE, 1000), Query("q"))
"""Asks for a replica for each unit of its value."""


class Cycles:
    """Decides, commits intents and records, on a clock of its own."""

    def __init__(self, opener: Opener, autoscaler: Autoscaler, seconds: float = 60) -> None:
        """`seconds`: between two cycles."""
        self.opener, self.autoscaler, self.clock = opener, autoscaler, FakeClock(START)
        self._seconds = seconds
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

    def history(self) -> History:
        """Return what the next cycle recalls."""
        self.ledger.follow_clock(self.clock.moment())
        return self.ledger.recall([self.autoscaler])[self.autoscaler.name]

    def cycle(self, seen: Observation, *, dies: bool = False) -> Decision:
        """Run a cycle with this observation. `dies`: it ends after the write and before the outcome is recorded."""
        self.clock.advance(self._seconds)
        made = decide(self.autoscaler, seen, self.history(), self.clock.now())
        assert self.ledger.intend([made]) == {}
        if not dies:
            if made.change is not None:
                outcome = Proposed(made.change.size) if made.dry_run else Written(made.change.size)
                made = apply_outcome(made, outcome)
            name = self.autoscaler.name
            assert self.ledger.record({name: self.autoscaler}, Observed({name: seen}), [made]) == {}
        return made


def serving(ledger: Ledger, *targets: TargetRef) -> Ledger:
    """Return the ledger of a shard that scales these targets."""
    ledger.follow([replace(scaler(str(number)), target=target) for number, target in enumerate(targets)])
    return ledger
