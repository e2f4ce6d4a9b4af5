"""Two daemons, or two threads of one, act at the same moment on a real PostgreSQL. Locks force the orders."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread, current_thread
from typing import Any

import pytest
from psycopg import OperationalError
from sqlalchemy import Connection, Engine, event, select

from autoscaler.errors import StaleLedger, StateError
from autoscaler.record import schema
from autoscaler.record.daemons import end_sessions
from autoscaler.record.ledger import Ledger
from tests.record.blocked import held_after, until_blocked
from tests.record.conftest import in_threads
from tests.record.hosts import DEADLINE, SECONDS, Host, Hosts, two
from tests.record.samples import decision, rising, save, scaler

pytestmark = pytest.mark.slow


def test_a_lease_that_is_renewed_at_the_last_moment_is_not_taken(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is renewed between the read that shows it over and the takeover."""
    first, second = two(hosts)

    def late(connection: Connection, process: str) -> None:
        first.turn()
        end_sessions(connection, process)

    monkeypatch.setattr("autoscaler.record.lease.end_sessions", late)
    first.clock.advance(-SECONDS)  # it finds itself in time
    hosts.live(int(SECONDS), second)
    assert (first.leads, second.leads) == (True, False)


def test_one_of_several_standbys_wins_the_race(hosts: Hosts) -> None:
    """All have found the lease over before one takes it."""
    _, *others = two(hosts, 3)
    hosts.live(int(SECONDS) - 1, *others)
    hosts.advance(1)
    onlooker = hosts.start().state._database
    with onlooker.writing() as connection:
        connection.execute(select(schema.lease).with_for_update())
        racing = in_threads([host.turn for host in others])
        raised = racing.__enter__()
        until_blocked(onlooker, 3)
    racing.__exit__(None, None, None)
    assert raised == []
    assert [host.leads for host in others].count(True) == 1
    hosts.live(1, *others)
    assert [host.leads for host in others].count(True) == 1


@contextmanager
def takeover(second: Host) -> Iterator[None]:
    """A takeover that is committed at the end of the block."""
    with second.lease._database.writing() as connection:
        second.lease._waits_until = second.lease.elapsed()
        assert second.lease._take(connection) is not None
        yield


def test_a_renewal_waits_for_a_takeover_and_finds_its_lease_lost(hosts: Hosts) -> None:
    """A read would still find the row, and the daemon would continue beside its successor."""
    first, second = two(hosts)
    first.clock.advance(-SECONDS)
    hosts.advance(SECONDS)
    with takeover(second):
        renewing = in_threads([first.turn])
        raised = renewing.__enter__()
        until_blocked(second.state._database)
        assert first.leads
    renewing.__exit__(None, None, None)
    assert (raised, first.lease.generation) == ([], None)


@pytest.mark.parametrize(
    "commit",
    [lambda ledger: ledger.intend([rising(15)]), lambda ledger: save(ledger, decision(15))],
    ids=["announcement", "record"],
)
def test_a_commit_waits_for_a_takeover_and_is_refused(hosts: Hosts, commit: Callable[[Ledger], object]) -> None:
    """The successor decides from what was committed before."""
    first, second = two(hosts)
    ledger = first.ledger()
    ledger.recall([scaler()])
    first.clock.advance(-SECONDS)
    hosts.advance(SECONDS)
    with takeover(second):
        late = in_threads([lambda: commit(ledger)])  # type: ignore[list-item]
        raised = late.__enter__()
        until_blocked(second.state._database)
    late.__exit__(None, None, None)
    assert [type(error) for error in raised] == [StaleLedger]
    with second.state._database.writing() as connection:
        assert connection.execute(select(schema.autoscaler)).all() == []


COMMITS: dict[str, tuple[str, Callable[[Ledger], object]]] = {
    "an announcement that has renewed the lease": ("UPDATE lease", lambda ledger: ledger.intend([rising(15)])),
    "an announcement that is fenced": ("UPDATE autoscaler", lambda ledger: ledger.intend([rising(15)])),
    "a record": ("INSERT INTO block", lambda ledger: save(ledger, decision(15))),
    "values of an adapter": ("SELECT (extract", lambda ledger: ledger.save_adapter_memory(scaler().target, {"a": 1})),
}


@pytest.mark.parametrize(("after", "commit"), COMMITS.values(), ids=COMMITS)
def test_a_takeover_ends_a_commit_that_began_before_it(
    hosts: Hosts, after: str, commit: Callable[[Ledger], object]
) -> None:
    """The former leader was stopped within it, and continues afterwards."""
    first, second = two(hosts)
    ledger = first.ledger()
    ledger.recall([scaler()])
    with (
        held_after(first.state._database._engine, after) as (held, go_on),
        in_threads([lambda: commit(ledger)]) as raised,  # type: ignore[list-item]
    ):
        assert held.wait(60)
        hosts.live(int(SECONDS), second, without=[first])
        assert second.leads
        go_on.set()
    assert [type(error) for error in raised] == [StateError]
    with second.state._database.writing() as connection:
        assert connection.execute(select(schema.autoscaler)).all() == []
        assert connection.execute(select(schema.kept)).all() == []


@pytest.mark.parametrize("locked", ["lease", "fence"])
def test_a_daemon_that_is_stopped_in_a_transaction_has_a_successor(hosts: Hosts, locked: str) -> None:
    """Its session has sent a part of a command. No time-out of the server ends that session, so it keeps its locks."""
    first, second = two(hosts)
    with first.state._database._engine.connect() as connection:
        driver = connection.connection.driver_connection
        assert driver is not None
        driver.execute("SET idle_in_transaction_session_timeout = 0")  # as if it did not count
        driver.execute(f"SELECT * FROM {locked} FOR UPDATE")
        hosts.live(int(SECONDS), second)
        end = time.monotonic() + 60
        while not second.leads:
            assert time.monotonic() < end, "it has no successor"
            second.turn()
            time.sleep(0.1)
        with pytest.raises(OperationalError):
            driver.execute("SELECT 1")


class Hanging:
    """A turn of the lease in a thread of its own, which hangs at a statement until the test lets it go on."""

    def __init__(self, host: Host, statement: str, when: str = "after_cursor_execute") -> None:
        self._engine: Engine = host.lease._database._engine
        self._statement, self._when = statement, when
        self._there, self._go_on = Event(), Event()
        self._thread = Thread(target=host.turn, daemon=True)
        event.listen(self._engine, when, self._hold)
        self._thread.start()
        assert self._there.wait(60)

    def _hold(self, _connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if statement.startswith(self._statement) and current_thread() is self._thread:
            self._there.set()
            assert self._go_on.wait(60)

    def end(self) -> None:
        self._go_on.set()
        self._thread.join(60)
        assert not self._thread.is_alive()
        event.remove(self._engine, self._when, self._hold)


def test_a_look_that_hung_ends_no_leadership_that_began_meanwhile(hosts: Hosts) -> None:
    """It has found the lease in use. Another thread has taken the lease since."""
    first, second = two(hosts)
    hanging = Hanging(second, "SELECT lease.")
    hosts.live(int(SECONDS) + 1, second, without=[first])
    generation = second.lease.generation
    assert generation is not None
    hanging.end()
    assert (second.leads, second.lease.generation) == (True, generation)


def test_a_renewal_that_hung_ends_no_leadership_that_began_meanwhile(hosts: Hosts) -> None:
    """Its generation is over. It neither ends nor prolongs the next one."""
    only = hosts.start()
    only.turn()
    ledger = only.ledger()
    hanging = Hanging(only, "UPDATE lease", "before_cursor_execute")
    hosts.advance(DEADLINE)
    hosts.live(int(SECONDS) + 1, only)
    generation, left = only.lease.generation, only.lease.seconds_left()
    assert only.leads
    hanging.end()
    assert (only.lease.generation, only.lease.seconds_left()) == (generation, left)
    assert not ledger.is_current()


def test_a_daemon_that_resigns_while_a_thread_takes_the_lease_does_not_lead(hosts: Hosts) -> None:
    """The lease is free again, so that a standby leads at its next look."""
    first, second = hosts.start(), hosts.start()
    hanging = Hanging(first, "UPDATE lease")
    first.lease.resign()
    hanging.end()
    assert (first.leads, first.lease.generation) == (False, None)
    second.turn()
    assert second.leads


def test_a_lease_that_was_taken_too_slowly_is_not_held(hosts: Hosts) -> None:
    """A standby may have it by now. The daemon waits for its own lease to end, as for any other."""
    first, second = hosts.start(), hosts.start()
    hanging = Hanging(first, "UPDATE lease SET token")
    hosts.advance(DEADLINE)
    hanging.end()
    assert not first.leads
    ledger = first.ledger()
    ledger.recall([scaler()])
    with pytest.raises(StaleLedger):
        ledger.intend([rising(15)])
    hosts.live(int(SECONDS) + 1, first, second)
    assert [first.leads, second.leads].count(True) == 1


def test_a_daemon_that_resigns_during_a_renewal_frees_the_lease(hosts: Hosts) -> None:
    """It waits for the renewal's transaction."""
    first, second = two(hosts)
    hanging = Hanging(first, "UPDATE lease")
    with in_threads([first.lease.resign]) as raised:
        until_blocked(second.state._database)
        assert not first.leads
        hanging.end()
    assert (raised, first.leads) == ([], False)
    second.turn()
    assert second.leads
