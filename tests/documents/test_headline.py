"""What a decision comes to, in a word."""

from autoscaler.documents.headline import failed
from autoscaler.errors import TargetNotFound
from autoscaler.model import Held, HoldReason
from tests.decisions import decision, rescale


def test_what_failed_counts_as_failed_and_a_hold_does_not() -> None:
    """What `--once` exits with."""
    assert failed(decision(error="target not found", outcome=TargetNotFound("gone")))
    assert not failed(rescale(outcome=Held(HoldReason("Deploying", "a deployment runs"))))
    assert not failed(decision())
