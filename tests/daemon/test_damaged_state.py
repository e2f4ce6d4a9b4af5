"""A failing disk has changed one autoscaler's memory. The tests show what its operator sees."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.daemon.hanging import ThirdParty
from tests.daemon.running import autoscaler, running_daemon, write_config
from tests.daemon.state import assert_unbroken, records

pytestmark = pytest.mark.slow


def test_an_autoscaler_with_a_damaged_memory_is_not_scaled_and_affects_no_other(
    folder: Path, prometheus: str, third: ThirdParty
) -> None:
    """Each cycle names the remedy. Its neighbour on the same connection continues."""
    names = ("hurt", "good")
    config = write_config(
        folder, prometheus, [autoscaler(name, "vector(3)", adapter="third") for name in names], third.section()
    )
    with running_daemon(config, env=third.env) as daemon:
        for name in names:
            daemon.wait_for("decision", autoscaler=name, written=3)
        assert daemon.stop() == 0
    before = len(records(folder, "good"))
    with closing(sqlite3.connect(folder / "state" / "state.db")) as database, database:
        mine = "(SELECT id FROM autoscaler WHERE name = 'hurt')"
        database.execute(f"UPDATE autoscaler SET body = x'00' WHERE id = {mine}")
    with running_daemon(config, env=third.env) as daemon:  # the adapter begins at size 1 again
        daemon.wait_for("decision", autoscaler="good", written=3)
        failure = daemon.wait_for("autoscaler_failed", autoscaler="hurt", count=3)
        assert "restore a backup, or" in failure["error"].replace(";", ",")
        assert "autoscaler forget " in failure["error"]
        daemon.wait_for("decision", autoscaler="good", count=3)
        assert daemon.stop() == 0
        assert daemon.events("decision", autoscaler="hurt") == []
        assert daemon.events("cycle_failed") == []
    assert [name for _, name, *_ in third.notes("writes")] == ["hurt", "good", "good"]
    assert len(records(folder, "good")) >= before + 3
    assert_unbroken(records(folder, "good"))
