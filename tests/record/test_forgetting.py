"""Autoscalers that left the configuration are forgotten after the retention."""

from datetime import timedelta

import pytest
from sqlalchemy import select

from autoscaler.model import History, Observed, Sighting
from autoscaler.record import schema
from autoscaler.record.ledger import Ledger
from autoscaler.record.rows import rows_by_id
from autoscaler.record.state import State
from tests.record.conftest import Opener, each_database, kept_for
from tests.record.samples import FLEET, at, decision, event, keep, rising, save, scaler, serving

KEEP = kept_for(retention=timedelta(hours=2))
PAST = 7200.0
"""Seconds of the retention."""


def ids(ledger: Ledger) -> dict[str, set[int]]:
    """Return table -> ids of the autoscalers with rows in it."""
    with ledger._context.readers.begin() as connection:
        return {
            name: set(connection.execute(select(table.c.autoscaler_id)).scalars())
            for name, table in schema.metadata.tables.items()
            if "autoscaler_id" in table.c
        }


def shard(state: State, *names: str) -> Ledger:
    """Return the ledger of a shard that has just got these autoscalers."""
    scalers = [scaler(name, name) for name in names]
    ledger = state.ledger(FLEET)
    state.follow(KEEP, scalers)
    ledger.follow(scalers)
    return ledger


def test_a_removed_autoscaler_is_remembered_for_the_retention(opener: Opener) -> None:
    """It was removed by mistake and put back: its windows are unchanged."""
    ledger = opener.ledger(KEEP)
    keep(ledger, decision(0, "left"), decision(0, "stays"))
    remembered = ledger.recall([scaler("left")])
    opener.close()
    ledger = opener.ledger(KEEP)
    keep(ledger, decision(PAST - 10, "stays"))
    assert ledger.recall([scaler("left")]) == remembered


@each_database
@pytest.mark.usefixtures("short_blocks")
def test_a_removed_autoscaler_is_forgotten_after_the_retention(opener: Opener) -> None:
    """Its rows in every table, the sightings of its target and the adapter's values are deleted."""
    state = opener.state(KEEP)
    ledger = shard(state, "left", "stays")
    left, stays = scaler("left", "left"), scaler("stays", "stays")
    for cycle in range(6):
        keep(ledger, *(decision(30 * cycle, name, name, events=[event()]) for name in ("left", "stays")))
    seen = {one.target: {"i-0": Sighting(at(0), None, at(0))} for one in (left, stays)}
    ledger.record({}, Observed({}, seen), [])
    for one in (left, stays):
        ledger.save_adapter_memory(one.target, {"failures": 1})
    assert {len(owners) for name, owners in ids(ledger).items() if name != "removal"} == {2}
    ledger = shard(state, "stays")
    keep(ledger, decision(PAST + 160, "stays", "stays"))
    assert {len(owners) for owners in ids(ledger).values()} <= {0, 1}
    assert state.archive.latest().keys() == opener.archive().latest().keys() == {"stays"}
    assert not opener.archive().knows("left")
    assert set(opener.restart().sightings([left.target, stays.target])) == {stays.target}
    assert set(serving(opener.restart(), left.target, stays.target).adapter_memory()) == {stays.target}
    assert opener.restart().recall([left]) == {"left": History()}


def test_an_announced_write_without_a_record_is_forgotten_too(opener: Opener) -> None:
    """The daemon died in the autoscaler's first cycle and never returned."""
    ledger = opener.ledger(KEEP)
    ledger.recall([scaler("left")])
    ledger.intend([rising(0, name="left")])
    opener.close()
    keep(opener.ledger(KEEP), decision(PAST + 10, "stays"))
    assert opener.restart().recall([scaler("left")]) == {"left": History()}


def test_a_configured_autoscaler_is_never_forgotten(opener: Opener) -> None:
    """After a long pause the first cycle of one shard ends before that of another."""
    state = opener.state(KEEP)
    keep(state.ledger("slow"), decision(0, "slow"))
    keep(state.ledger("fast"), decision(0, "fast"))
    opener.close()
    state = opener.state(KEEP)
    state.follow(KEEP, [scaler("slow"), scaler("fast")])
    slow, fast = state.ledger("slow"), state.ledger("fast")
    for minutes in range(5):
        keep(fast, decision(PAST + 100 * minutes, "fast"))
    assert slow.recall([scaler("slow")])["slow"].at == at(0)
    keep(slow, decision(PAST + 1000, "slow"))
    assert opener.archive().latest().keys() == {"slow", "fast"}


def test_a_forgotten_autoscaler_that_returns_is_recorded_anew(opener: Opener) -> None:
    """The ids in the daemon's memory belong to deleted rows."""
    state = opener.state(KEEP)
    ledger = shard(state, "left", "stays")
    keep(ledger, decision(0, "left", "left"), decision(0, "stays", "stays"))
    for names in (("stays",), ("left", "stays")):
        scalers = [scaler(name, name) for name in names]
        state.follow(KEEP, scalers)
        ledger.follow(scalers)
        keep(ledger, *(decision(PAST + 10, name, name) for name in names))
    assert opener.archive().first_seen() == {"stays": at(0), "left": at(PAST + 10)}
    assert [record.decision.now for record in opener.archive().records("left")] == [at(PAST + 10)]


def test_a_forgotten_autoscaler_that_the_daemon_never_knew_is_recorded_anew(opener: Opener) -> None:
    """It was removed before the daemon's start, forgotten afterwards, and put back."""
    state = opener.state(KEEP)
    keep(shard(state, "left", "stays"), decision(0, "left", "left"), decision(0, "stays", "stays"))
    opener.close()
    state = opener.state(KEEP)
    ledger = shard(state, "stays")
    keep(ledger, decision(PAST + 10, "stays", "stays"))
    both = [scaler("left", "left"), scaler("stays", "stays")]
    state.follow(KEEP, both)
    ledger.follow(both)
    keep(ledger, decision(PAST + 20, "left", "left"))
    assert opener.restart().recall(both[:1])["left"].at == at(PAST + 20)


@pytest.mark.usefixtures("short_blocks")
def test_packing_skips_the_rows_of_a_forgotten_autoscaler(opener: Opener) -> None:
    """They are in one page with rows of other autoscalers."""
    state = opener.state(KEEP)
    ledger = shard(state, "left", "stays")
    keep(ledger, decision(0, "left", "left"), decision(0, "stays", "stays"))
    ledger = shard(state, "stays")
    for minute in range(12):
        keep(ledger, decision(PAST + 10 + 60 * minute, "stays", "stays"))
    assert len(list(opener.archive().records("stays"))) == 13
    with ledger._context.readers.begin() as connection:
        bodies = connection.execute(select(schema.block.c.body).where(schema.block.c.packed)).scalars().all()
    assert {owner_id for body in bodies for owner_id, _ in rows_by_id(body)} == {2}


@each_database
def test_an_id_is_never_given_to_another_autoscaler(opener: Opener) -> None:
    """Blocks may still have rows of the forgotten one, which would become the new one's."""
    state = opener.state(KEEP)
    ledger = shard(state, "stays", "left")
    keep(ledger, decision(0, "stays", "stays"), decision(0, "left", "left"))
    ledger = shard(state, "stays")
    keep(ledger, decision(PAST + 10, "stays", "stays"))
    ledger = shard(state, "stays", "new")
    ledger.recall([scaler("new", "new")])
    save(ledger, decision(PAST + 20, "new", "new"))
    assert [record.decision.now for record in opener.archive().records("new")] == [at(PAST + 20)]
