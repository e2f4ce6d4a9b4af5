"""An autoscaler, cycle by cycle, and its explanation."""

from datetime import timedelta

from autoscaler.decide import apply_outcome, decide, remember
from autoscaler.errors import TargetUnavailable
from autoscaler.model import (
    Autoscaler,
    Decision,
    Failure,
    History,
    ManualControls,
    Observation,
    Reading,
    TargetState,
    Written,
)
from autoscaler.record import Record
from autoscaler.view.explain import explanation
from autoscaler.view.explanation import Explanation
from tests.decide.build import NOW, samples, state

STEP = timedelta(seconds=15)


class Diary:
    """An autoscaler on a virtual clock that keeps the newest record, as the state does."""

    def __init__(self, autoscaler: Autoscaler, size: int = 3, steering: ManualControls | None = None) -> None:
        self.autoscaler, self.size, self.now = autoscaler, size, NOW
        self.history = History(manual=steering or ManualControls())
        self.newest: Record | None = None

    def step(self, *readings: Reading | Failure, target: TargetState | TargetUnavailable | None = None) -> Decision:
        self.now += STEP
        observed = Observation(target or state(self.size), readings)
        made = decide(self.autoscaler, observed, self.history, self.now)
        if made.change is not None:
            self.size = made.change.size
            made = apply_outcome(made, Written(self.size))
        self.newest = Record(self.autoscaler, made, observed, self.history)
        self.history = remember(self.autoscaler, self.history, made)
        return made

    def cpu(self, *percents: int) -> Explanation:
        """Run a cycle at each percentage and return the explanation of the last."""
        for percent in percents:
            self.step(samples([percent * 10] * self.size, self.now + STEP))
        return self.explained()

    def explained(self) -> Explanation:
        assert self.newest is not None
        return explanation(self.newest)

    def first_change(self, percent: int, most: int = 60) -> Decision | None:
        """Return the first decision with a change if the metric keeps this value."""
        for _ in range(most):
            made = self.step(samples([percent * 10] * self.size, self.now + STEP))
            if made.change is not None:
                return made
        return None
