"""The database has lost commits, as a promoted standby that lagged. The shard's own memory is newer."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from sqlalchemy import delete, insert, select, update

from autoscaler.errors import StateError
from autoscaler.model import PendingWrite
from autoscaler.record import schema
from autoscaler.record.ledger import Ledger
from autoscaler.target.scaled import AS_WRITTEN
from tests.record.conftest import Opener, each_database
from tests.record.samples import at, decision, keep, rising, save, scaler, written

TABLES = (
    schema.autoscaler, schema.writer, schema.kept, schema.spec, schema.block, schema.change, schema.event
)  # fmt: skip
"""The lost rows are newest ones. The lease is renewed, and the shards stay held."""
Rows = Mapping[str, Sequence[Mapping[str, Any]]]


def content(ledger: Ledger) -> Rows:
    with ledger._context.readers.begin() as connection:
        return {table.name: [dict(row) for row in connection.execute(select(table)).mappings()] for table in TABLES}


def set_back(ledger: Ledger, rows: Rows) -> None:
    with ledger._context.database.writing() as connection:
        for table in TABLES:
            connection.execute(delete(table))
            if rows[table.name]:
                connection.execute(insert(table), list(rows[table.name]))


def fails_once(ledger: Ledger, seconds: float) -> None:
    """Assert that one cycle finds the state changed and writes nothing."""
    ledger.recall([scaler()])
    with pytest.raises(StateError, match="does not hold what this daemon wrote last"):
        ledger.intend([rising(seconds)])


@each_database
@pytest.mark.parametrize("cycles_kept", [0, 1, 2])
def test_lost_rows_are_written_anew(opener: Opener, cycles_kept: int) -> None:
    """Windows and rate limits continue; the history has a gap."""
    ledger = opener.ledger()
    before = content(ledger)
    for cycle in range(4):
        keep(ledger, written(rising(15 * cycle, size=9 + cycle)))
        if cycle + 1 == cycles_kept:
            before = content(ledger)
    known = ledger.recall([scaler()])
    set_back(ledger, before)
    fails_once(ledger, 60)
    assert ledger.recall([scaler()]) == known
    keep(ledger, decision(75))
    after = ledger.recall([scaler()])
    assert after["web"].hpa.scale_ups == known["web"].hpa.scale_ups
    assert opener.restart().recall([scaler()]) == after
    found = [record.decision.now for record in opener.archive().records("web")]
    assert found == [at(15 * cycle) for cycle in range(cycles_kept)] + [at(75)]


def test_a_lost_unfinished_write_stays_unfinished(opener: Opener) -> None:
    ledger = opener.ledger()
    keep(ledger, decision(0))
    before = content(ledger)
    ledger.recall([scaler()])
    ledger.intend([rising(15)])
    set_back(ledger, before)
    with pytest.raises(StateError, match="does not hold what this daemon wrote last"):
        save(ledger, written(rising(15)))
    assert ledger.recall([scaler()])["web"].pending == PendingWrite(8, 5, at(15))
    keep(ledger, decision(30))
    assert opener.restart().recall([scaler()])["web"].pending == PendingWrite(8, 5, at(15))


@each_database
def test_a_row_that_now_belongs_to_another_autoscaler_is_not_overwritten(opener: Opener) -> None:
    """A database that lost autoscalers gives their ids to others."""
    ledger = opener.ledger()
    keep(ledger, decision(0))
    known = ledger.recall([scaler()])
    with ledger._context.database.writing() as connection:
        connection.execute(update(schema.autoscaler).values(scaled=AS_WRITTEN(scaler("other").target), name="other"))
        connection.execute(update(schema.autoscaler).values(seq=schema.autoscaler.c.seq + 7))
    fails_once(ledger, 15)
    assert ledger.recall([scaler()]) == known
    keep(ledger, decision(30))
    found = opener.restart().recall([scaler(), scaler("other")])
    assert (found["web"].at, found["other"].at) == (at(30), at(0))


def test_a_newer_row_is_read_and_not_replaced(opener: Opener) -> None:
    """Another process has written it, and its memory counts."""
    ledger = opener.ledger()
    keep(ledger, decision(0))
    before = content(ledger)
    for seconds in (15, 30):
        keep(ledger, written(rising(seconds)))
    newer, known = content(ledger), ledger.recall([scaler()])
    set_back(ledger, before)
    ledger = opener.restart()
    keep(ledger, decision(15))
    set_back(ledger, newer)
    fails_once(ledger, 45)
    assert ledger.recall([scaler()]) == known
