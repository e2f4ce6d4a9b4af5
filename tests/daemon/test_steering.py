"""What operators ask for reaches every lane, whoever wrote it into the state."""

from contextlib import closing
from pathlib import Path

import pytest

from autoscaler.model import Direction, Pause, Steering
from autoscaler.record.database import Database, locate
from autoscaler.record.steering import steer
from tests.daemon.hanging import ThirdParty
from tests.daemon.running import autoscaler, running_daemon, write_config
from tests.daemon.state import records

pytestmark = pytest.mark.slow


def test_a_pause_that_another_process_writes_reaches_every_lane_in_its_next_cycle(
    folder: Path, prometheus: str
) -> None:
    """A host of a fleet, a script, a restored backup: lanes look at the state, not at this process's memory."""
    third = ThirdParty(folder)

    def sized(replicas: int) -> Path:
        query = f"vector({replicas})"
        return write_config(
            folder, prometheus, [autoscaler("a", query, adapter="third"), autoscaler("web", query)], third.section()
        )

    with running_daemon(sized(2), env=third.env) as daemon:
        for name in ("a", "web"):
            daemon.wait_for("decision", autoscaler=name, current=2)
        with closing(Database(locate(None, folder / "state"))) as database:
            for name in ("a", "web"):
                now = records(folder, name)[-1].decision.now
                steer(database, name, Steering(Pause(Direction.BOTH, "elsewhere", "", now, None)))
        paused = {name: len(daemon.events("decision", autoscaler=name)) for name in ("a", "web")}
        for name, count in paused.items():
            daemon.wait_for("decision", autoscaler=name, count=count + 2)
        assert daemon.stop() == 0
    for name, count in paused.items():
        by = [record.history.steering.pause for record in records(folder, name) if record.history is not None]
        assert by[0] is None
        assert all(pause is not None and pause.by == "elsewhere" for pause in by[count + 1 :])
        assert len(by) > count + 1
