"""A daemon that finds the state of an older version."""

from pathlib import Path

import pytest

from tests.daemon.running import autoscaler, running_daemon, write_config
from tests.record import version1

pytestmark = pytest.mark.slow


def test_it_takes_an_older_version_s_state_over_says_so_and_gets_ready(folder: Path, prometheus: str) -> None:
    """What an operator sees of an upgrade: one line, and a daemon that goes on."""
    state = folder / "state"
    state.mkdir(mode=0o700)
    (state / "state.db").write_bytes(version1.state())
    config = write_config(folder, prometheus, [autoscaler("web", "vector(1)")])
    with running_daemon(config, state=state) as daemon:
        daemon.wait_for("ready")
        (line,) = daemon.events("state_taken_over")
        assert (line["kept"], line["autoscalers"]) == (str(state / "state.db.v1"), 11)
        assert not daemon.events("state_not_taken_over")
        assert daemon.stop() == 0
