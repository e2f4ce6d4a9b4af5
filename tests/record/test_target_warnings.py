"""A target's warnings outlast the daemon."""

from pathlib import Path

from autoscaler.errors import TargetUnavailable
from tests.decide.build import QUEUE_15, scaler, state, value
from tests.replaced import replace
from tests.view.lives import Recorded, open_state


def test_a_restart_repeats_no_event_after_a_cycle_that_could_not_read_the_target(tmp_path: Path) -> None:
    """A takeover often follows an outage."""
    warns = replace(state(3), warnings=("the readiness probe GET /ready gets HTTP 404, not 2xx",))
    with open_state(tmp_path) as opened:
        life = Recorded(opened.ledger("fleet"), scaler(QUEUE_15))
        for target in (warns, TargetUnavailable("no answer")):
            life.step(value(45_000), target=target)
    with open_state(tmp_path) as opened:
        life = Recorded(opened.ledger("fleet"), scaler(QUEUE_15))
        assert life.step(value(45_000), target=warns).events == ()
