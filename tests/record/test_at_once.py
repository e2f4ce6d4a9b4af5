"""Shards of a leader, a standby and a command use one PostgreSQL at the same moment."""

from threading import Barrier

import pytest

from autoscaler.model import Direction, ManualControls, Pause, ShardName, shard_of
from autoscaler.record.ledger import Ledger
from autoscaler.record.locks import Lock, wait_for
from autoscaler.record.times import to_micros
from tests.record.conftest import in_threads
from tests.record.hosts import ALL, Host, Hosts, two
from tests.record.samples import at, decision, keep, scaler

pytestmark = pytest.mark.slow


def names_of(name: ShardName, count: int) -> list[str]:
    """Return the names of autoscalers in a shard. Their targets have the same names."""
    names = (f"s{number}" for number in range(10_000))
    mine = (each for each in names if shard_of(scaler(each, each).target, name.of) == name)
    return [next(mine) for _ in range(count)]


def test_shards_can_write_pages_of_one_journal_at_the_same_time(hosts: Hosts, short_blocks: int) -> None:
    """A page has up to 64 autoscalers by their ids. Packing turns pages of both shards into blocks."""
    host = hosts.start()
    host.turn()
    cycles = 5 * short_blocks
    start = Barrier(2)
    names = [names_of(name, 5) for name in ALL[:2]]

    def run(ledger: Ledger, mine: list[str]) -> None:
        start.wait(60)
        for cycle in range(cycles):
            keep(ledger, *(decision(15 * cycle, name, name) for name in mine))

    works = list(zip([host.ledger(name) for name in ALL[:2]], names, strict=True))
    with in_threads([lambda work=work: run(*work) for work in works]) as raised:  # type: ignore[misc]
        pass
    assert raised == []
    for name in [*names[0], *names[1]]:
        recorded = [record.decision.now for record in host.state.archive.records(name)]
        assert sorted(recorded) == [at(15 * cycle) for cycle in range(cycles)]
    assert {made.now for made in host.state.archive.latest().values()} == {at(15 * (cycles - 1))}


def test_a_leader_and_a_standby_can_steer_the_same_autoscalers_at_the_same_time(hosts: Hosts) -> None:
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


def test_a_cycle_does_not_wait_for_the_housekeeping(hosts: Hosts) -> None:
    """A command that deletes an autoscaler holds its lock, or a former leader does."""
    first, second = two(hosts)
    ledger = first.ledger()
    with second.state._database.writing() as connection:
        wait_for(connection, Lock.HOUSEKEEPING)
        keep(ledger, decision(0))
    assert first.state._context.housekeeper._due == to_micros(at(0))
    keep(ledger, decision(15))
    assert first.state._context.housekeeper._due > to_micros(at(15))


def test_neither_a_look_nor_a_renewal_waits_for_a_commit(hosts: Hosts) -> None:
    """A commit that is slow, or whose daemon was stopped, must not cost the lease."""
    first, second = two(hosts)
    ledger = first.ledger()
    ledger.recall([scaler()])
    with first.state._database.writing() as connection:
        first.state._context.fence(connection, ledger.name, ledger.generation, ledger._epoch)
        with in_threads([first.turn, second.turn]) as raised:
            pass  # until they have ended
        assert raised == []
        assert first.lease.seconds_left() == first.lease.options.renew_deadline.total_seconds()
