"""Readers never wait for shards, nor shards for readers."""

import threading

import pytest
from sqlalchemy import delete, select

from autoscaler.record import schema
from autoscaler.record.archive import Archive
from tests.record.conftest import Opener, each_database, in_threads
from tests.record.samples import FLEET, at, decision, event, keep, rising, save, scaler, written


def read_all(archive: Archive) -> None:
    """Read everything that an archive has."""
    archive.latest()
    archive.knows("web")
    archive.record_at("web")
    list(archive.records("web"))
    archive.events()
    archive.series("web")
    archive.first_seen()
    archive.steering()
    archive.cuts()
    archive.size()


@each_database
def test_a_reader_does_not_wait_for_a_commit(opener: Opener) -> None:
    """The page and the command line answer while the commit is open."""
    state = opener.state()
    ledger = state.ledger(FLEET)
    keep(ledger, decision(0, events=[event()]))
    ledger.recall([scaler()])
    inside, over = threading.Event(), threading.Event()

    def hang() -> None:
        with ledger._commit():
            inside.set()
            over.wait(60)

    with in_threads([hang]) as raised:
        assert inside.wait(60)
        read_all(state.archive)
        read_all(opener.archive())
        over.set()
    assert raised == []


@each_database
def test_a_shard_recalls_while_another_one_commits(opener: Opener) -> None:
    """A shard that does not write is independent of another shard's slow disk."""
    state = opener.state()
    slow, quick = state.ledger("slow"), state.ledger("quick")
    keep(quick, decision(0))
    quick.follow([scaler()])  # which releases its locks
    slow.recall([])
    with slow._commit():
        assert quick.recall([scaler()])["web"].at == at(0)
        assert quick.sightings([scaler().target]) == {}
        assert quick.adapter_memory() == {}


@each_database
@pytest.mark.usefixtures("short_blocks")
def test_a_commit_does_not_wait_for_a_reader(opener: Opener) -> None:
    """The readers continue after the commits. A commit that waited for a reader would fail at its time-out."""
    state = opener.state()
    ledger = state.ledger(FLEET)
    for cycle in range(6):
        keep(ledger, decision(15 * cycle))
    readers = [state.archive.records("web"), opener.archive().records("web")]
    begun = [next(reader).decision.now for reader in readers]
    for cycle in range(6, 12):
        ledger.recall([scaler()])
        ledger.intend([rising(15 * cycle)])
        save(ledger, written(rising(15 * cycle)))
    assert begun == [at(0), at(0)]
    assert [len(list(reader)) for reader in readers] == [5, 5]


@each_database
@pytest.mark.usefixtures("short_blocks")
def test_a_reader_sees_one_state(opener: Opener) -> None:
    """Rows move from pages into blocks while it reads. Each row is read once."""
    state = opener.state()
    ledger = state.ledger(FLEET)
    stop = threading.Event()
    seen: list[list[float]] = []

    def read() -> None:
        archive = opener.archive()
        while not stop.is_set():
            seen.append([record.decision.now.timestamp() - at(0).timestamp() for record in archive.records("web")])

    with in_threads([read]) as raised:
        for cycle in range(60):
            keep(ledger, decision(15 * cycle))
        stop.set()
    assert raised == []
    assert all(times == [15.0 * cycle for cycle in range(len(times))] for times in seen)
    assert len(seen) > 1


@each_database
@pytest.mark.usefixtures("short_blocks")
def test_a_slow_reader_has_no_open_transaction_between_two_cycles(opener: Opener) -> None:
    """With one SQLite's log would grow, and PostgreSQL would end the session after 30 s."""
    ledger = opener.ledger()
    for cycle in range(14):
        keep(ledger, decision(15 * cycle))
    archive = opener.archive()
    cycles = archive.records("web")
    seen = [next(cycles)]
    for cycle in range(14, 20):  # packs and deletes rows that it has not read yet
        keep(ledger, decision(15 * cycle))
    assert archive._readers._engine.pool.checkedout() == 0  # type: ignore[attr-defined]  # of QueuePool, which both have
    seen += cycles
    assert [each.decision.now for each in seen] == [at(15 * cycle) for cycle in range(14)]


@each_database
@pytest.mark.usefixtures("short_blocks")
def test_cycles_that_are_deleted_during_a_read_are_left_out(opener: Opener) -> None:
    """Their retention was over, so the answer begins later."""
    ledger = opener.ledger()
    for cycle in range(14):
        keep(ledger, decision(15 * cycle))
    cycles = opener.archive().records("web")
    first = next(cycles)
    with ledger._context.readers.begin() as connection:
        blocks = list(connection.execute(select(schema.block.c.id).order_by(schema.block.c.id)).scalars())
    with ledger._context.database.writing() as connection:
        connection.execute(delete(schema.block).where(schema.block.c.id == blocks[1]))
    numbers = [(each.decision.now - at(0)).total_seconds() / 15 for each in (first, *cycles)]
    assert numbers == [0, 1, 2, 3, 8, 9, 10, 11, 12, 13]
