"""A shard that was superseded commits nothing: whose memory it is, is made sure inside each commit."""

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
"""Everything that commits, by a shard that has hung meanwhile."""


def contents(state: State) -> dict[str, list[Any]]:
    """All that the state holds."""
    with state._context.readers.begin() as connection:
        return {name: list(connection.execute(select(table))) for name, table in schema.metadata.tables.items()}


def epochs_of(state: State) -> dict[ShardName, int]:
    """Of the shards of FLEET."""
    table = schema.shard
    with state._context.readers.begin() as connection:
        rows = connection.execute(select(table).where(table.c.connection == FLEET))
        return {ShardName(FLEET, row.shard, row.shards): row.epoch for row in rows}


@pytest.mark.parametrize("commit", LATE.values(), ids=LATE)
def test_a_stale_ledger_commits_nothing(opener: Opener, commit: Callable[[Ledger], None]) -> None:
    """A cycle that hung and came back after its shard was replaced must not undo what the successor did."""
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
    """Also the write that was announced and may still land."""
    state = opener.state()
    ledger = state.ledger(FLEET)
    keep(ledger, decision(0))
    ledger.intend([rising(15)])
    assert state.ledger(FLEET).recall([scaler()]) == ledger.recall([scaler()])


def test_another_connections_shard_goes_on(opener: Opener) -> None:
    """One failure, one victim."""
    state = opener.state()
    ours, theirs = state.ledger(FLEET), state.ledger("swarm")
    state.ledger("swarm")
    keep(ours, decision(0))
    assert ours.is_current()
    assert not theirs.is_current()


def test_a_ledger_is_current_until_the_next_one_of_its_connection(opener: Opener) -> None:
    """What the actuator asks before each write."""
    state = opener.state()
    first = state.ledger(FLEET)
    assert first.is_current()
    second = state.ledger(FLEET)
    assert (first.is_current(), second.is_current()) == (False, True)


def test_epochs_go_on_after_a_restart(opener: Opener) -> None:
    """A process that is believed dead, and is not, is fenced off by the one that came after it."""
    state = opener.state()
    for _ in range(3):
        state.ledger(FLEET)
    before = epochs_of(state)[ShardName(FLEET)]
    opener.close()
    state = opener.state()
    state.ledger(FLEET)
    assert epochs_of(state)[ShardName(FLEET)] > before
