"""The verdict on a decision: its state and level."""

from autoscaler.errors import TargetNotFound
from autoscaler.model import Held, HoldReason, ManualControls
from autoscaler.view.level import Level
from autoscaler.view.verdict import AutoscalerState, Verdict, verdict
from tests.decisions import decision, rescale


def test_a_failure_is_failing_and_a_hold_is_not() -> None:
    """The exit code of `--once` and the colour red depend on it."""
    failed = verdict(decision(error="target not found", outcome=TargetNotFound("gone")), ManualControls())
    assert (failed.state, failed.level) == (AutoscalerState.FAILING, Level.ERROR)
    held = verdict(rescale(outcome=Held(HoldReason("Deploying", "a deployment runs"))), ManualControls())
    assert held.level is not Level.ERROR
    assert verdict(decision(), ManualControls()).level is Level.NORMAL


def test_without_a_decision_the_state_is_unknown() -> None:
    """An autoscaler that was configured just now has not failed."""
    assert verdict(None, ManualControls()) == Verdict(AutoscalerState.UNKNOWN, Level.NORMAL)
