"""A superseded shard commits nothing: each commit checks the epoch."""

import pytest
from sqlalchemy import update

from autoscaler.errors import StaleLedger
from autoscaler.model import ShardName
from autoscaler.record import schema
from tests.record.conftest import Opener, each_database
from tests.record.epochs import LATE, WEB, contents, epochs_of
from tests.record.samples import FLEET, decision, keep, save, scaler


@each_database
def test_a_stale_ledger_commits_nothing(opener: Opener) -> None:
    """A hanging cycle that returns must not undo the successor's work."""
    state = opener.state()
    stale = state.ledger(FLEET)
    keep(stale, decision(0))
    stale.save_adapter_memory(WEB, {"failures": 1})
    stale.recall([scaler()])
    keep(state.ledger(FLEET), decision(60, size=20))
    before = contents(state)
    for commit in (*LATE, *LATE):  # nor at the next attempt
        with pytest.raises(StaleLedger, match="shard fleet was superseded"):
            commit(stale)
        assert contents(state) == before


@each_database
def test_no_epoch_begins_twice_after_a_restart(opener: Opener) -> None:
    """The next process fences a process that only seemed dead."""
    state = opener.state()
    known = set[str]()
    for _ in range(3):
        stale = state.ledger(FLEET)
        known |= {*epochs_of(state).values()}
    generation = stale.generation
    opener.close()
    state = opener.state()
    assert epochs_of(state) == {}, "every epoch of the former process is over"
    assert state.ledger(FLEET).generation != generation
    assert len(known | {*epochs_of(state).values()}) == 4


@each_database
def test_a_shard_of_another_generation_commits_nothing_although_its_epoch_is_known(opener: Opener) -> None:
    """The epochs that a backup brings back are those of its generation."""
    state = opener.state()
    ledger = state.ledger(FLEET)
    ledger.recall([scaler()])
    with state._context.database.writing() as connection:
        connection.execute(update(schema.fence).values(generation="another"))
    with pytest.raises(StaleLedger, match="shard fleet was superseded"):
        save(ledger, decision(0))


@each_database
def test_shards_of_another_count_end_all_epochs_of_a_connection(opener: Opener) -> None:
    """A target can be in any of them. Those of other connections continue."""
    state = opener.state()
    before = [state.ledger(FLEET, number, 2) for number in (1, 2)]
    swarm = state.ledger("swarm", 1, 2)
    for ledger in before:
        ledger.recall([scaler()])
    state.ledger(FLEET, 1, 3)
    assert epochs_of(state).keys() == {ShardName(FLEET, 1, 3)}
    for ledger in before:
        assert not ledger.is_current()
        with pytest.raises(StaleLedger):
            save(ledger, decision(0))
    keep(swarm, decision(0))
