"""The verdict on a decision: its state and level."""

from autoscaler.errors import TargetNotFound
from autoscaler.model import Decision, Held, HoldReason, ManualControls
from autoscaler.view.level import Level
from autoscaler.view.verdict import AutoscalerState, level, state
from tests.decisions import decision, rescale


def judged(made: Decision | None) -> tuple[AutoscalerState, Level]:
    found = state(made, ManualControls())
    return found, level(found, made)


def test_a_failure_is_failing_and_a_hold_is_not() -> None:
    """The exit code of `--once` and the colour red depend on it."""
    failed = decision(error="target not found", outcome=TargetNotFound("gone"))
    assert judged(failed) == (AutoscalerState.FAILING, Level.ERROR)
    held = rescale(outcome=Held(HoldReason("Deploying", "a deployment runs")))
    assert judged(held)[1] is not Level.ERROR
    assert judged(decision())[1] is Level.NORMAL


def test_without_a_decision_the_state_is_unknown() -> None:
    """An autoscaler that was configured just now has not failed."""
    assert judged(None) == (AutoscalerState.UNKNOWN, Level.NORMAL)
