"""Which daemon leads, which stand by, and whether the leader's configuration differs."""

from dataclasses import replace
from datetime import timedelta

import pytest

from autoscaler.cli.status import problems, status_lines
from autoscaler.layout import Screen
from autoscaler.record.daemons import Daemons, Leader
from autoscaler.view.hosts import HostList, StatusDocument, host_list
from tests.decisions import NOW

LEADER = Leader(
    name="one, pid 7",
    host="one",
    version="1.2.3",
    since=NOW - timedelta(hours=3),
    until=NOW + timedelta(seconds=12),
    loaded=NOW - timedelta(seconds=90),
    digest="x",
)


def sharing(leader: Leader | None = LEADER, *standbys: str, digest: str | None = "x") -> HostList:
    """`digest`: of the configuration of the daemon that is asked."""
    return host_list(Daemons(NOW, leader, standbys), NOW - timedelta(minutes=5), digest)


def rows(found: HostList) -> list[str]:
    return list(status_lines(StatusDocument(daemon=None, hosts=found), 0, Screen()))


def notes(found: HostList) -> list[str]:
    return list(problems(StatusDocument(daemon=None, hosts=found)))


def test_the_list_has_the_leader_and_the_standbys_by_the_databases_clock() -> None:
    """The clock of the host that answers may be wrong."""
    found = sharing(LEADER, "three, pid 9", "two, pid 8")
    assert (found.shared, found.at, found.standbys) == (True, NOW, ("three, pid 9", "two, pid 8"))
    assert found.leader is not None
    assert (found.leader.name, found.leader.host, found.leader.version) == ("one, pid 7", "one", "1.2.3")
    assert (found.leader.since, found.leader.lease_ends) == (LEADER.since, LEADER.until)


@pytest.mark.parametrize(
    ("theirs", "ours", "differs"), [("x", "x", False), ("x", "y", True), (None, "y", None), ("x", None, None)]
)
def test_a_configuration_differs_only_if_both_are_known(
    theirs: str | None, ours: str | None, differs: bool | None
) -> None:
    """A leader that has just started has not saved its own; a command may have none."""
    found = sharing(replace(LEADER, digest=theirs), digest=ours).leader
    assert found is not None
    assert found.differs is differs


def test_an_sqlite_state_has_no_hosts() -> None:
    found = host_list(None, NOW, "x")
    assert (found.shared, found.at, found.leader, found.standbys) == (False, NOW, None, ())
    assert rows(found) == notes(found) == []


def test_the_table_has_a_row_for_each_daemon() -> None:
    found = sharing(LEADER, "two, pid 8")
    _, header, one, two = rows(found)
    assert header.split() == ["DAEMON", "ROLE", "SINCE", "LEASE", "VERSION", "LOADED", "CONFIGURATION"]
    assert one.split("  ")[0] == "one, pid 7"
    assert one.split()[3:] == ["leads", "3h", "12s", "1.2.3", "90s", "the", "same"]
    assert two.split()[:5] == ["two,", "pid", "8", "stands", "by"]
    assert notes(found) == []


def test_a_configuration_that_differs_is_noted() -> None:
    found = sharing(digest="y")
    assert rows(found)[-1].endswith("differs")
    assert notes(found) == [
        "the leader has loaded another configuration than this one; roll one out to all, and reload each"
    ]


def test_a_state_without_a_leader_is_noted() -> None:
    """Nothing is scaled, whether daemons stand by or none runs."""
    assert notes(sharing(None)) == ["no daemon runs on this state, so nothing is scaled"]
    assert notes(sharing(None, "two, pid 8")) == ["no daemon leads, so nothing is scaled"]


def test_control_characters_in_the_database_are_escaped() -> None:
    """Other daemons write there."""
    odd = replace(LEADER, name="one\x1b[31m", version="1\x1b]0;x\x07")
    (_, _, *lines) = rows(sharing(odd, "two\x1b[31m"))
    assert len(lines) == 2
    assert all(line.isprintable() for line in lines)
