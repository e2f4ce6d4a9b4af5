"""`autoscaler hosts`. tests/daemon/test_hosts.py has it with several daemons."""

import json

from tests.cli.scene import ServedScene


def test_with_sqlite_it_says_that_there_is_one_daemon(online: ServedScene) -> None:
    """Nobody should look for others."""
    said = online.run("hosts")
    assert (said.code, said.out) == (0, "")
    assert said.err == "the state is an SQLite file, which has one daemon; several share a PostgreSQL state\n"


def test_json_is_the_apis_own_document(online: ServedScene) -> None:
    """For programs."""
    listed = json.loads(online.run("hosts", "-o", "json").out)
    assert (listed["shared"], listed["hosts"], listed["unheld"]) == (False, [], [])


def test_the_wide_table_of_one_daemon_has_no_column_of_hosts(online: ServedScene) -> None:
    """It would be empty."""
    assert "HOST" not in online.run("get", "-o", "wide").lines[0]
