"""Two daemons act at the same moment on a real PostgreSQL. Locks force the orders."""

import time
from collections.abc import Mapping
from threading import Barrier

import pytest
from psycopg import OperationalError
from sqlalchemy import Connection, delete, select

from autoscaler.errors import StaleLedger
from autoscaler.model import Direction, ManualControls, Pause, ShardName, shard_of
from autoscaler.record import Ledger, schema
from autoscaler.record.locks import KEY, Lock, wait_for
from autoscaler.record.member_rows import evict
from autoscaler.record.times import to_micros
from tests.record.conftest import in_threads
from tests.record.hosts import SECONDS, SHARDS, WEB, Host, Hosts
from tests.record.samples import at, decision, keep, rising, scaler
from tests.record.test_epochs_postgresql import until_blocked

pytestmark = pytest.mark.slow


def two(hosts: Hosts) -> tuple[Host, Host]:
    first, second = hosts.start(), hosts.start()
    for _ in range(3):
        first.turn()
        second.turn()
    return first, second


def test_a_lease_that_is_renewed_at_the_last_moment_is_not_ended(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is renewed between the read that shows it dead and its end."""
    first, second = two(hosts)

    def late(connection: Connection, dead: Mapping[str, str]) -> None:
        if dead:
            first.leases.renew()
        evict(connection, dead)

    monkeypatch.setattr("autoscaler.record.leases.evict", late)
    first.clock.advance(-SECONDS)  # it finds itself in time
    hosts.live(int(SECONDS), second)
    assert (second.count(), second.leases.members) == (4, 2)


def test_a_renewal_waits_for_a_takeover_and_finds_its_lease_lost(hosts: Hosts) -> None:
    """A read would still find the row, and the daemon would continue beside its successor."""
    first, second = two(hosts)
    with second.state._database.writing() as connection:
        connection.execute(delete(schema.member).where(schema.member.c.id == first.leases.member))
        renewing = in_threads([first.leases.renew])
        raised = renewing.__enter__()
        until_blocked(second.state._database)
    renewing.__exit__(None, None, None)
    assert (raised, first.leases.member, first.leases.held) == ([], None, frozenset())


def announce(ledger: Ledger) -> None:
    ledger.intend([rising(15)])


def test_an_announcement_waits_for_a_takeover_and_is_refused(hosts: Hosts) -> None:
    """The successor decides from what was committed before."""
    first, second = two(hosts)
    one, other = owner_first(first, second)
    ledger = one.ledger()
    ledger.recall([scaler()])
    with other.state._database.writing() as connection:
        connection.execute(delete(schema.member).where(schema.member.c.id == one.leases.member))
        announcing = in_threads([lambda: announce(ledger)])
        raised = announcing.__enter__()
        until_blocked(other.state._database)
    announcing.__exit__(None, None, None)
    assert [type(error) for error in raised] == [StaleLedger]
    with other.state._database.writing() as connection:
        assert connection.execute(select(schema.memory)).all() == []


def owner_first(first: Host, second: Host) -> tuple[Host, Host]:
    return (first, second) if WEB in first.leases.held else (second, first)


def names_of(name: ShardName, count: int) -> list[str]:
    """Return the names of autoscalers in a shard. Their targets have the same names."""
    names = (f"s{number}" for number in range(10_000))
    mine = (each for each in names if shard_of(scaler(each, each).target, name.of) == name)
    return [next(mine) for _ in range(count)]


def test_daemons_can_write_pages_of_one_chunk_at_the_same_time(hosts: Hosts, short_blocks: int) -> None:
    """A page has up to 64 autoscalers by their ids. Packing turns pages of both daemons into blocks."""
    found = two(hosts)
    cycles = 5 * short_blocks
    start = Barrier(2)
    shards = [min(host.leases.held) for host in found]
    names = [names_of(name, 5) for name in shards]

    def run(ledger: Ledger, mine: list[str]) -> None:
        start.wait(30)
        for cycle in range(cycles):
            keep(ledger, *(decision(15 * cycle, name, name) for name in mine))

    ledgers = [host.ledger(name) for host, name in zip(found, shards, strict=True)]
    works = list(zip(ledgers, names, strict=True))
    with in_threads([lambda work=work: run(*work) for work in works]) as raised:  # type: ignore[misc]
        pass
    assert raised == []
    for host in found:
        for name in [*names[0], *names[1]]:
            recorded = [record.decision.now for record in host.state.archive.records(name)]
            assert sorted(recorded) == [at(15 * cycle) for cycle in range(cycles)]
        assert {made.now for made in host.state.archive.latest().values()} == {at(15 * (cycles - 1))}


def test_daemons_can_steer_the_same_autoscalers_at_the_same_time(hosts: Hosts) -> None:
    """They pause and resume in opposite orders, without a deadlock."""
    found = two(hosts)
    names = [f"s{number}" for number in range(40)]
    pause = ManualControls(pause=Pause(Direction.IN, "ops", "sale", at(0), None))

    def run(host: Host, order: list[str]) -> None:
        for turn in range(25):
            asked = {name: pause if (number + turn) % 2 else ManualControls() for number, name in enumerate(order)}
            host.state.change_steering(lambda _known, asked=asked: asked, lambda *_: None, at(turn))  # type: ignore[misc]

    with in_threads([lambda: run(found[0], names), lambda: run(found[1], names[::-1])]) as raised:
        pass
    assert raised == []


def test_one_daemon_does_the_upkeep_at_a_time(hosts: Hosts) -> None:
    """The cycle of another daemon does not wait for it."""
    first, second = two(hosts)
    one, other = owner_first(first, second)
    ledger = one.ledger()
    with other.state._database.writing() as connection:
        wait_for(connection, Lock.HOUSEKEEPING)
        keep(ledger, decision(0))
    assert one.state._context.housekeeper._due == to_micros(at(0))
    keep(ledger, decision(15))
    assert one.state._context.housekeeper._due > to_micros(at(15))


def test_a_daemon_that_is_stopped_while_it_shares_out_shards_ends_no_other_lease(hosts: Hosts) -> None:
    """Its transaction stays open until the server ends it. The others once waited for it and did not renew."""
    first, second = two(hosts)
    held = second.leases.held
    with first.state._database.writing() as connection:
        wait_for(connection, Lock.SHARING)
        with in_threads([second.turn]) as raised:
            pass  # until it has ended
    assert raised == []
    assert second.leases.held == held


@pytest.mark.parametrize("locked", ["its row", "sharing"])
def test_the_shards_of_a_daemon_that_is_stopped_in_a_transaction_are_taken_over(hosts: Hosts, locked: str) -> None:
    """Its session has sent a part of a command. No time-out of the server ends that session, so it keeps its locks."""
    first, second = two(hosts)
    member = first.leases.member
    with first.state._database._engine.connect() as connection:
        driver = connection.connection.driver_connection
        assert driver is not None
        driver.execute("SET idle_in_transaction_session_timeout = 0")  # as if it did not count
        if locked == "sharing":
            driver.execute(f"SELECT pg_advisory_xact_lock({KEY.replace(':lock', '%s')})", (Lock.SHARING.value,))
        else:
            driver.execute("UPDATE member SET place = place WHERE id = %s", (member,))
        hosts.live(int(SECONDS), second)
        end = time.monotonic() + 60
        while second.count() < SHARDS:
            assert time.monotonic() < end, "its shards are not taken over"
            second.turn()
            time.sleep(0.1)
        with pytest.raises(OperationalError):
            driver.execute("SELECT 1")
