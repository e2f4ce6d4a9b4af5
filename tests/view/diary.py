"""An autoscaler, cycle by cycle, and its explanation."""

from datetime import timedelta
from typing import Any

from autoscaler.model import (
    Autoscaler,
    Decision,
    Failure,
    History,
    ManualControls,
    Reading,
)
from autoscaler.record.values import Record
from autoscaler.view.explain import explanation
from autoscaler.view.explanation import Explanation
from tests.decide.build import Life, samples

STEP = timedelta(seconds=15)


class Diary(Life):
    """Has cycles 15 s apart, and keeps the newest record as the state does."""

    def __init__(self, autoscaler: Autoscaler, size: int = 3, steering: ManualControls | None = None) -> None:
        super().__init__(autoscaler, size, history=History(manual=steering or ManualControls()))
        self.newest: Record | None = None

    def step(self, *readings: Reading | Failure, after: float = STEP.total_seconds(), **given: Any) -> Decision:
        return super().step(*readings, after=after, **given)

    def keep(self, made: Decision) -> None:
        self.newest = Record(self.autoscaler, made, self.observed, self.before)
        super().keep(made)

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
