"""A part of the main thread's work that fails costs no other part."""

from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from autoscaler.daemon import Daemon
from autoscaler.errors import StateError
from autoscaler.runtime.barrier import Barrier
from autoscaler.target.contract.harness import RecordingLogger
from autoscaler.threads import NoThread, Stopping
from tests.clocks import FakeClock


def fail(error: Exception) -> None:
    raise error


@pytest.mark.parametrize("error", [ValueError("a damaged row"), StateError("away"), NoThread(), KeyError(1)])
def test_a_failure_is_logged_once_while_it_lasts(error: Exception) -> None:
    """It is met again and again. A restart would meet it, too, and stop all scaling meanwhile."""
    clock, log = FakeClock(), RecordingLogger()
    barrier = Barrier(clock, log)
    for _ in range(60):
        assert barrier.run("upkeep", lambda: fail(error), None) is None
        assert barrier.run("notices", lambda: 1, 0) == 1
        clock.advance(5)
    assert [(event, keys["part"]) for _, event, keys in log.lines] == [("part_failed", "upkeep")]
    clock.advance(300)
    barrier.run("upkeep", lambda: fail(error), None)
    barrier.run("upkeep", lambda: None, None)
    barrier.run("upkeep", lambda: fail(error), None)
    assert len(log.lines) == 3


def test_the_wish_to_stop_passes() -> None:
    with pytest.raises(Stopping):
        Barrier(FakeClock(), RecordingLogger()).run("reload", lambda: fail(Stopping()), None)


def test_a_part_that_does_not_end_well_keeps_no_other_from_ending() -> None:
    """Each is named in the log. A drain or a lease that is not given up would delay the next daemon."""
    log, failing = RecordingLogger(), Mock(side_effect=OSError("away"))
    daemon = object.__new__(Daemon)  # with what `run` uses after the wish to stop
    vars(daemon).update(
        _serve=lambda: SimpleNamespace(stop=failing),
        _begin=Mock(),
        _stop=SimpleNamespace(asked=lambda: True),
        _service=Mock(),
        _logger=log,
        _outside=SimpleNamespace(close=failing),
        _barrier=Barrier(FakeClock(), log),
        _close=lambda: True,
        _failure=None,
    )
    assert daemon.run()
    assert [keys["part"] for _, event, keys in log.lines if event == "part_failed"] == ["outside", "web"]
