"""Rows, pages and blocks are packed and unpacked."""

from datetime import timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import event, select

from autoscaler.errors import StateError
from autoscaler.model import Observed
from autoscaler.record import schema
from autoscaler.record.binary import pack
from autoscaler.record.evaluation import COLUMNS
from autoscaler.record.packing import PAGES_PER_BLOCK, full_chunks, replace_pages
from autoscaler.record.packing import pack as pack_chunk
from autoscaler.record.rows import Row, pack_page, pack_rows, rows_by_id, rows_of
from autoscaler.record.times import to_micros
from tests.record.conftest import Opener, each_database
from tests.record.samples import at, count_blocks, decision, keep, observation, scaler

TIMES = st.integers(-(2**50), 2**50)
COLUMN = st.binary(max_size=2)
ROWS = st.builds(
    Row,
    st.integers(1, 2**40),
    TIMES,
    st.integers(1, 2**40),
    st.none() | st.integers(-(2**40), 2**40),
    st.tuples(*[COLUMN] * COLUMNS),
)


@given(st.dictionaries(st.integers(1, 2**31), st.lists(ROWS, min_size=1, max_size=6), max_size=6))
def test_a_block_returns_its_rows_unchanged(rows: dict[int, list[Row]]) -> None:
    """They include times that go back, and equal values in different columns."""
    body = pack_rows(rows)
    assert dict(rows_by_id(body)) == rows
    assert {owner_id: rows_of(owner_id, body) for owner_id in rows} == rows
    assert rows_of(0, body) == []


@given(st.dictionaries(st.integers(1, 2**31), ROWS, max_size=6))
def test_a_page_returns_its_rows_unchanged(rows: dict[int, Row]) -> None:
    assert dict(rows_by_id(pack_page(rows))) == {owner_id: [row] for owner_id, row in rows.items()}


def test_rows_with_columns_of_another_version_are_a_state_error() -> None:
    """A damaged state must not show an invented decision."""
    sheet = ([1], [0], [1], [None], [[0]] * (COLUMNS - 1), [[b""]] * (COLUMNS - 2))
    body = pack(msgspec.msgpack.encode({1: sheet}))
    with pytest.raises(StateError, match="restore a backup"):
        rows_of(1, body)
    assert [type(found) for _, found in rows_by_id(body)] == [StateError]


def test_equal_cycles_need_little_room(opener: Opener) -> None:
    """Most of a target stays the same in the next cycle. Two days must fit a small disk."""
    ledger = opener.ledger()
    for cycle in range(PAGES_PER_BLOCK + 1):
        keep(ledger, decision(15 * cycle, size=5))
    with ledger._context.readers.begin() as connection:
        sizes = {row.packed: row.size for row in connection.execute(select(schema.block))}
    assert sizes[True] < 3 * sizes[False]


@each_database
def test_a_block_that_would_grow_too_large_is_divided(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    """To read an hour of targets with a thousand instances would take too much memory and time."""
    monkeypatch.setattr("autoscaler.record.packing.PAGES_PER_BLOCK", 10)
    monkeypatch.setattr("autoscaler.record.packing.MAX_BYTES", 100_000)
    ledger = opener.ledger()
    for cycle in range(13):
        keep(ledger, decision(15 * cycle), seen=observation(replicas=150 + cycle))
    assert count_blocks(ledger, packed=True) == 3
    assert [record.decision.now for record in opener.archive().records("web")] == [at(15 * n) for n in range(13)]


def test_a_page_that_would_grow_too_large_is_divided(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page has up to 64 autoscalers, and what cannot be unpacked again cannot be shown."""
    monkeypatch.setattr("autoscaler.record.pages.MAX_BYTES", 10_000)
    ledger = opener.ledger()
    names = [f"s{number}" for number in range(9)]
    keep(ledger, *(decision(0, name) for name in names), seen=observation(replicas=50))
    assert count_blocks(ledger, packed=False) > 2
    assert [len(list(opener.archive().records(name))) for name in names] == [1] * len(names)


def test_no_cycle_packs_sums_or_deletes(opener: Opener, short_blocks: int) -> None:
    """Other transactions wait for the rows that a cycle locks."""
    ledger, statements = opener.ledger(), list[str]()
    event.listen(
        ledger._context.database._engine, "before_cursor_execute", lambda *call: statements.append(call[2].lower())
    )
    for cycle in range(2 * short_blocks):
        ledger.recall([scaler()])
        ledger.record({"web": scaler()}, Observed({"web": observation()}), [decision(15 * cycle)])
    assert not [one for one in statements if "delete" in one or "sum(" in one or "from block" in one]
    assert count_blocks(ledger, packed=False) == 2 * short_blocks
    ledger._context.housekeeper.tidy(at(15 * 2 * short_blocks))
    assert count_blocks(ledger, packed=False) == short_blocks
    assert len(list(opener.archive().records("web"))) == 2 * short_blocks


def test_a_cycle_that_is_recorded_while_its_chunk_is_packed_is_kept(opener: Opener) -> None:
    """Its page is not among those that were read."""
    ledger = opener.ledger()
    keep(ledger, decision(0))
    with ledger._context.readers.begin() as connection:
        (chunk,) = full_chunks(connection, to_micros(at(0) + timedelta(days=2)))
        packed = pack_chunk(connection, chunk)
    keep(ledger, decision(15))
    with ledger._context.database.writing() as connection:
        replace_pages(connection, packed)
    assert [record.decision.now for record in opener.archive().records("web")] == [at(0), at(15)]


def test_the_pages_of_a_former_shard_are_packed_a_day_later(opener: Opener) -> None:
    """No later page begins another segment, because another number of shards serves its targets."""
    ledger = opener.ledger()
    for cycle in range(2):
        keep(ledger, decision(15 * cycle))
    ledger._context.housekeeper.tidy(at(23 * 3600))
    assert count_blocks(ledger, packed=False) == 2
    ledger._context.housekeeper.tidy(at(25 * 3600))
    assert count_blocks(ledger, packed=False) == 0
    assert len(list(opener.archive().records("web"))) == 2


def test_pages_that_another_daemon_has_packed_are_left(opener: Opener) -> None:
    """Both read them before one of them had the lock of the housekeeping."""
    ledger = opener.ledger()
    for cycle in range(3):
        keep(ledger, decision(15 * cycle))
    with ledger._context.readers.begin() as connection:
        first, second = pack_chunk(connection, 0), pack_chunk(connection, 0)
    for packed in (first, second):
        with ledger._context.database.writing() as connection:
            replace_pages(connection, packed)
    assert [record.decision.now for record in opener.archive().records("web")] == [at(0), at(15), at(30)]
