"""Daemons that share a state on a real PostgreSQL: which one leads, and from when."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, event

from autoscaler.errors import StateError
from autoscaler.record.daemons import read_leader
from autoscaler.record.housekeeping import Retention
from autoscaler.record.lease import _prolong
from autoscaler.record.state import State
from tests.record.conftest import in_threads
from tests.record.hosts import DEADLINE, LEASE, SECONDS, Host, Hosts, two
from tests.record.postgresql import empty_state
from tests.record.samples import rising, scaler

pytestmark = pytest.mark.slow


def test_one_daemon_leads(hosts: Hosts) -> None:
    only = hosts.start()
    assert (only.leads, only.lease.generation) == (False, None)
    only.turn()
    assert (only.leads, only.lease.seconds_left()) == (True, DEADLINE)
    generation = only.lease.generation
    hosts.live(3 * int(SECONDS), only)
    assert only.lease.generation == generation


def test_every_other_daemon_stands_by_and_names_the_leader(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, third = hosts.start(), hosts.start(), hosts.start()
    for host, name in ((first, "one"), (second, "two"), (third, "three")):
        monkeypatch.setattr("socket.gethostname", lambda name=name: name)
        host.turn()
    hosts.live(2 * int(SECONDS), first, second, third)
    assert [host.leads for host in (first, second, third)] == [True, False, False]
    for standby in (second, third):
        assert (standby.lease.generation, standby.lease.seconds_left()) == (None, 0)
        assert standby.lease.leader is not None
        assert standby.lease.leader.startswith("one, pid ")


def test_a_standby_leads_after_the_lease_of_a_dead_leader(hosts: Hosts) -> None:
    first, second = two(hosts)
    hosts.live(int(SECONDS) - 1, second)
    assert (first.leads, second.leads) == (False, False)
    hosts.live(1, second)
    assert second.leads


def test_tokens_are_compared_within_one_session(hosts: Hosts) -> None:
    """A new session may reach another server with an old row."""
    _, second = two(hosts)
    hosts.live(int(SECONDS) - 1, second)
    second.lease._database._engine.dispose()
    hosts.live(int(SECONDS), second)
    assert not second.leads
    hosts.live(1, second)
    assert second.leads


def test_simultaneous_commits_do_not_delay_a_takeover(hosts: Hosts) -> None:
    """If the lease used the sessions of other commits, each read would be in another session."""
    _, second = two(hosts)
    for turn in range(int(SECONDS)):
        hosts.advance(1)
        with ExitStack() as commits:
            for _ in range(turn % 3):
                commits.enter_context(second.state._database.writing())
            second.turn()
    assert second.leads


@contextmanager
def slow(host: Host, seconds: float, begins: str = "SELECT lease.") -> Iterator[None]:
    """Each statement that begins so takes so many seconds; without `begins`, each read of the lease."""

    def wait(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if statement.startswith(begins):
            host.clock.advance(seconds)

    engine = host.lease._database._engine
    event.listen(engine, "after_cursor_execute", wait)
    yield
    event.remove(engine, "after_cursor_execute", wait)


def test_the_duration_of_a_read_does_not_count(hosts: Hosts) -> None:
    """The token may have changed while the answer was on its way. So time counts from the first answer with it until
    before the next question.
    """
    first, second = hosts.start(), hosts.start()
    first.turn()
    with slow(second, 3):
        second.turn()
    hosts.live(int(SECONDS) - 2, second)
    with slow(second, 3):
        hosts.live(1, second)
        assert not second.leads
    second.clock.advance(-3)
    hosts.live(1, second)
    assert second.leads


@pytest.mark.parametrize("step", [3600, -3600])
def test_a_step_of_the_database_s_clock_ends_and_prolongs_no_lease(hosts: Hosts, step: float) -> None:
    """After a step back nothing was served for an hour; a step forward let another daemon write too early."""
    first, second = two(hosts)
    ledger, generation = first.ledger(), first.lease.generation
    hosts.live(3, first, second)
    hosts.step(step)
    for host in (second, first):
        host.turn()
    assert ledger.is_current()
    hosts.live(int(SECONDS), first, second)
    assert ledger.is_current()
    assert (first.lease.generation, second.leads) == (generation, False)
    hosts.step(step)
    hosts.live(int(SECONDS) - 1, second)
    assert not second.leads
    hosts.live(1, second)
    assert (first.leads, second.leads) == (False, True)


@pytest.mark.parametrize("theirs", [8, 30])
def test_each_lease_lasts_as_long_as_its_own_daemon_says(hosts: Hosts, theirs: int) -> None:
    """`ha` is changed on one host after another. A leader with longer times must not count as dead."""
    seconds = timedelta(seconds=theirs)
    first = hosts.start(options=replace(LEASE, duration=seconds, renew_deadline=seconds / 2))
    second = hosts.start()
    for host in (first, second):
        host.turn()
    hosts.live(theirs - 1, second)
    assert not second.leads
    hosts.live(1, second)
    assert second.leads


@pytest.mark.parametrize("wrong_by", [600, -600])
def test_neither_a_wrong_clock_nor_the_uptime_of_a_host_moves_a_lease(hosts: Hosts, wrong_by: float) -> None:
    """The leader's clock is wrong by ten minutes, and the standby's is set by as much: by them a lease would be over at
    once, or never. The standby's machine started a month before the leader's.
    """
    wrong, right = hosts.start(wrong_by), hosts.start(up=30 * 86_400)
    for _ in range(10):
        for host in (wrong, right):
            host.turn()
        hosts.advance(2)
    assert (wrong.leads, right.leads) == (True, False)
    right.clock.step(wrong_by)
    hosts.live(int(SECONDS) - 3, right)
    assert not right.leads
    hosts.live(1, right)
    assert right.leads


def test_an_announced_write_renews_the_lease(hosts: Hosts) -> None:
    """The standbys see it, too."""
    first, second = two(hosts)
    ledger = first.ledger()
    ledger.recall([scaler()])
    hosts.live(8, second)
    assert first.lease.seconds_left() == DEADLINE - 8
    ledger.intend([rising(10)])
    assert first.lease.seconds_left() == DEADLINE
    hosts.live(int(SECONDS), second)
    assert not second.leads
    hosts.live(1, second)
    assert second.leads


def test_a_lease_counts_from_before_its_request(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer may take long. So the lease ends here before it ends for the others, which saw the renewal later."""
    only = hosts.start()
    only.turn()

    def slow(connection: Connection, generation: str) -> bool:
        found = _prolong(connection, generation)
        hosts.advance(4)
        return found

    monkeypatch.setattr("autoscaler.record.lease._prolong", slow)
    hosts.advance(2)
    only.turn()
    assert only.lease.seconds_left() == DEADLINE - 4
    hosts.advance(1)
    ledger = only.ledger()
    ledger.recall([scaler()])
    ledger.intend([rising(10)])
    assert only.lease.seconds_left() == DEADLINE - 4


def test_a_lease_that_was_just_taken_counts_from_before_its_last_request(hosts: Hosts) -> None:
    """The requests before it, such as a migration, do not count: no standby sees the token before the commit."""
    only = hosts.start()
    with slow(only, 3), slow(only, 4, "UPDATE lease SET token"):
        only.turn()
    assert only.lease.seconds_left() == DEADLINE - 4


def test_after_a_sleep_of_the_machine_a_daemon_knows_that_its_lease_is_over(hosts: Hosts) -> None:
    """It need not ask the database: CLOCK_BOOTTIME includes the sleep."""
    first, _ = two(hosts)
    ledger = first.ledger()
    assert ledger.is_current()
    first.clock.sleep(DEADLINE)
    assert not ledger.is_current()
    assert not first.leads


def test_a_lease_that_is_over_is_not_renewed(hosts: Hosts) -> None:
    """Even if no other daemon took it, the daemon begins another generation, and reads everything anew."""
    only = hosts.start()
    only.turn()
    ledger, generation = only.ledger(), only.lease.generation
    hosts.advance(DEADLINE)
    only.turn()
    assert (only.lease.generation, only.leads) == (None, False)
    hosts.live(int(SECONDS), only)
    assert only.leads
    assert only.lease.generation not in (None, generation)
    assert not ledger.is_current()


def test_only_the_leader_has_a_ledger(hosts: Hosts) -> None:
    _, second = two(hosts)
    with pytest.raises(StateError, match="this daemon does not lead"):
        second.ledger()


def test_a_daemon_whose_lease_another_one_took_begins_no_shard(hosts: Hosts) -> None:
    """It does not know that yet."""
    first, second = two(hosts)
    hosts.live(int(SECONDS), second, without=[first])
    assert first.leads
    with pytest.raises(StateError, match="another daemon has become the leader"):
        first.ledger()
    first.turn()
    assert (first.leads, second.leads) == (False, True)


def loaded(host: Host) -> datetime | None:
    """Return when the leader's configuration was loaded, as readers of the state are told."""
    with host.state._context.readers.begin() as connection:
        leader = read_leader(connection)
        assert leader is not None
        return leader.loaded


def test_a_standby_knows_whether_the_leader_has_another_configuration(hosts: Hosts) -> None:
    first, second = hosts.start(), hosts.start()
    first.lease.follow("one")
    second.lease.follow("two")
    for host in (first, second):
        host.turn()
    assert (first.lease.differs, second.lease.differs) == (False, True)
    hosts.advance(1)
    first.lease.follow("two")
    hosts.live(1, first, second)
    assert (first.lease.differs, second.lease.differs) == (False, False)
    second.lease.follow("three")
    assert second.lease.differs
    hosts.live(int(SECONDS), second)
    assert (second.leads, second.lease.differs) == (True, False)


def test_a_daemon_that_leads_anew_keeps_the_time_of_its_configuration(hosts: Hosts) -> None:
    """Otherwise an old configuration would count as one that was just loaded."""
    only = hosts.start()
    only.lease.follow("one")
    only.turn()
    expected = loaded(only)
    assert expected is not None
    hosts.advance(SECONDS)
    only.turn()
    hosts.live(int(SECONDS), only)
    assert only.leads
    assert loaded(only) == expected


def test_daemons_that_start_at_once_on_an_empty_database_share_it(postgresql: str, tmp_path: Path) -> None:
    """All find no tables, and one leads."""
    url = empty_state(postgresql)
    opened: list[State] = []

    def start() -> None:
        state = State.open(url, tmp_path, Retention())
        opened.append(state)
        assert state.lease is not None
        state.lease.turn()

    with in_threads([start] * 3) as raised:
        pass
    leading = [state.lease is not None and state.lease.seconds_left() > 0 for state in opened]
    for state in opened:
        state.close()
    assert (sorted(leading), raised) == ([False, False, True], [])
