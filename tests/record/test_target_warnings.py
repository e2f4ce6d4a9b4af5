"""A target's warnings outlast the daemon."""

from pathlib import Path

from autoscaler.errors import TargetUnavailable
from autoscaler.model import Reason
from tests.decide.build import QUEUE_15, scaler, state, value
from tests.replaced import replace
from tests.view.lives import Recorded, open_state


def test_a_restart_repeats_no_event(tmp_path: Path) -> None:
    """A warning that lasts is one event, also if the daemon restarts each hour."""
    warns = replace(state(3), warnings=("the readiness probe GET /ready gets HTTP 404, not 2xx",))
    events = []
    for _ in range(2):
        with open_state(tmp_path) as opened:
            life = Recorded(opened.ledger("fleet"), scaler(QUEUE_15))
            made = [life.step(value(45_000), target=warns) for _ in range(2)]
            events.append([each.reason for one in made for each in one.events])
    assert events == [[Reason.TARGET_WARNING], []]


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
