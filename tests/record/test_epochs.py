"""A superseded shard commits nothing: each commit checks the epoch."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select

from autoscaler.errors import StaleLedger
from autoscaler.model import Observed, ShardName, Sighting, TargetRef
from autoscaler.record import Ledger, State, schema
from tests.record.conftest import Opener
from tests.record.samples import FLEET, at, decision, keep, rising, save, scaler, written

WEB = TargetRef(FLEET, "web-asg")

LATE: dict[str, Callable[[Ledger], object]] = {
    "record": lambda ledger: save(ledger, written(rising(15))),
    "sightings": lambda ledger: ledger.record({}, Observed({}, {WEB: {"i-0": Sighting(at(9), True, at(9))}}), []),
    "intend": lambda ledger: ledger.intend([rising(15)]),
    "adapter memory": lambda ledger: ledger.save_adapter_memory(WEB, {"late": True}),
    "adapter memory, taken back": lambda ledger: ledger.save_adapter_memory(WEB, None),
}
"""Every kind of commit, by a shard that hung meanwhile."""


def contents(state: State) -> dict[str, list[Any]]:
    """Return the whole content of the state."""
    with state._context.readers.begin() as connection:
        return {name: list(connection.execute(select(table))) for name, table in schema.metadata.tables.items()}


def epochs_of(state: State) -> dict[ShardName, int]:
    """Return the epochs of the shards of FLEET."""
    table = schema.shard
    with state._context.readers.begin() as connection:
        rows = connection.execute(select(table).where(table.c.connection == FLEET))
        return {ShardName(FLEET, row.shard, row.shards): row.epoch for row in rows}


@pytest.mark.parametrize("commit", LATE.values(), ids=LATE)
def test_a_stale_ledger_commits_nothing(opener: Opener, commit: Callable[[Ledger], None]) -> None:
    """A hanging cycle that returns must not undo the successor's work."""
    state = opener.state()
    stale = state.ledger(FLEET)
    keep(stale, decision(0))
    stale.save_adapter_memory(WEB, {"failures": 1})
    stale.recall([scaler()])
    keep(state.ledger(FLEET), decision(60, size=20))
    before = contents(state)
    for _ in range(2):  # nor at the next attempt
        with pytest.raises(StaleLedger, match="shard fleet was superseded"):
            commit(stale)
    assert contents(state) == before


def test_a_successor_knows_what_was_recorded_before_it(opener: Opener) -> None:
    """This includes an announced write that may still arrive."""
    state = opener.state()
    ledger = state.ledger(FLEET)
    keep(ledger, decision(0))
    ledger.intend([rising(15)])
    assert state.ledger(FLEET).recall([scaler()]) == ledger.recall([scaler()])


def test_the_shard_of_another_connection_continues(opener: Opener) -> None:
    """One failure, one victim."""
    state = opener.state()
    ours, theirs = state.ledger(FLEET), state.ledger("swarm")
    state.ledger("swarm")
    keep(ours, decision(0))
    assert ours.is_current()
    assert not theirs.is_current()


def test_a_ledger_is_current_until_the_next_ledger_of_its_shard(opener: Opener) -> None:
    """The actuator checks this before each write."""
    state = opener.state()
    first = state.ledger(FLEET)
    assert first.is_current()
    second = state.ledger(FLEET)
    assert (first.is_current(), second.is_current()) == (False, True)


def test_epochs_continue_after_a_restart(opener: Opener) -> None:
    """The next process fences a process that only seemed dead."""
    state = opener.state()
    for _ in range(3):
        state.ledger(FLEET)
    before = epochs_of(state)[ShardName(FLEET)]
    opener.close()
    state = opener.state()
    state.ledger(FLEET)
    assert epochs_of(state)[ShardName(FLEET)] > before
