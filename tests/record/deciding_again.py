"""Decisions, made again from what the state kept."""

from typing import Any

from autoscaler.decide import apply_outcome, decide
from autoscaler.model import (
    Decision,
)
from autoscaler.record.values import Record
from tests.replaced import replace


def decided_again(record: Record) -> Decision:
    """Return the decision that follows from the record alone."""
    assert record.observation is not None
    assert record.history is not None
    made = decide(record.scaler, record.observation, record.history, record.decision.now)
    return apply_outcome(made, record.decision.outcome)


def comparable(decision: Decision) -> Any:
    """Return a form in which errors of the same class and text are equal."""
    outcome = decision.outcome
    return replace(decision, outcome=None), (type(outcome), str(outcome))
