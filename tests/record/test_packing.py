"""Rows, pages and blocks are packed and unpacked."""

from datetime import timedelta
from itertools import accumulate, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import event, select

from autoscaler.errors import StateError
from autoscaler.model import Observed
from autoscaler.record import schema
from autoscaler.record.binary import differences, running_sums
from autoscaler.record.evaluation import COLUMNS
from autoscaler.record.journal import SEGMENT, page_of, rows_from
from autoscaler.record.packing import full_segments, pack, replace_pages
from autoscaler.record.rows import Row, completed, differing, hashes_of, pack_rows, runs, unpack_rows
from autoscaler.record.times import to_micros
from tests.record.conftest import Opener
from tests.record.samples import START, at, count_rows, decision, keep, observation, scaler
from tests.replaced import replace
from tests.schedule.clock import FakeClock

quick = settings(max_examples=50, deadline=None)
TIMES = st.integers(-(2**50), 2**50)
COLUMN = st.none() | st.binary(max_size=5)
ROWS = st.builds(
    Row,
    st.integers(1, 2**40),
    TIMES,
    st.integers(1, 2**40),
    st.integers(1, 2**40),
    st.tuples(*[COLUMN] * COLUMNS),
    COLUMN,
)


@given(st.lists(ROWS, min_size=1, max_size=6))
@quick
def test_a_block_returns_its_rows_unchanged(rows: list[Row]) -> None:
    """They include times that go back, missing columns and whole rows."""
    assert unpack_rows(pack_rows(rows)) == rows


@given(st.dictionaries(st.integers(1, 2**31), ROWS, max_size=6))
@quick
def test_a_page_returns_its_rows_unchanged(rows: dict[int, Row]) -> None:
    assert dict(rows_from(page_of(rows))) == rows


@given(st.dictionaries(st.integers(1, 9), ROWS, max_size=6), st.sets(st.integers(1, 9)))
@quick
def test_the_rows_of_a_few_autoscalers_are_found_in_a_page(rows: dict[int, Row], ids: set[int]) -> None:
    assert dict(rows_from(page_of(rows), ids)) == {key: row for key, row in rows.items() if key in ids}


@given(st.tuples(*[st.binary(max_size=3)] * COLUMNS), st.tuples(*[st.binary(max_size=3)] * COLUMNS))
@quick
def test_a_whole_row_completes_the_rows_after_it(columns: tuple[bytes, ...], base: tuple[bytes, ...]) -> None:
    whole = Row(1, 0, 1, 1, base, b"")
    assert completed(Row(2, 0, 1, 1, differing(columns, hashes_of(base)), None), whole) == columns


@given(st.lists(st.integers(-(2**70), 2**70), max_size=6))
@quick
def test_differences_add_up_again(values: list[int]) -> None:
    assert running_sums(differences(values)) == values


@given(st.lists(st.integers(1, 3), max_size=10))
@quick
def test_rows_are_divided_at_missing_numbers(steps: list[int]) -> None:
    rows = [Row(number, 0, 1, number, (), None) for number in accumulate(steps)]
    parts = runs(rows)
    assert [row for part in parts for row in part] == rows
    assert all(after.number - before.number == 1 for part in parts for before, after in pairwise(part))
    assert all(one[-1].number + 1 < other[0].number for one, other in pairwise(parts))


def test_an_incomplete_whole_row_is_a_state_error() -> None:
    """A damaged state must not show an invented decision."""
    part = Row(1, 0, 1, 1, (b"",) * (COLUMNS - 1) + (None,), b"")
    with pytest.raises(StateError, match="incomplete; restore a backup"):
        completed(part, part)


def test_equal_cycles_need_little_room(sqlite_opener: Opener) -> None:
    """Most of a target stays the same in the next cycle. Thirty days must fit a small disk."""
    ledger = sqlite_opener.ledger()
    for cycle in range(20):
        keep(ledger, decision(15 * cycle, size=5))
    with ledger._context.readers.begin() as connection:
        sizes = [row[0] for row in connection.exec_driver_sql("SELECT length(body) FROM journal ORDER BY number")]
    assert len(sizes) == 20
    assert sizes[-1] * 3 < sizes[0]


@pytest.mark.usefixtures("short_blocks")
def test_a_page_that_would_grow_too_large_is_packed_early(
    sqlite_opener: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To pack an hour of targets with a thousand instances would take too much memory and time."""
    monkeypatch.setattr("autoscaler.record.journal.PAGES_PER_BLOCK", 10_000)
    monkeypatch.setattr("autoscaler.record.journal.MAX_BYTES", 10_000)
    ledger = sqlite_opener.ledger()
    for cycle in range(10):
        keep(ledger, decision(15 * cycle), seen=observation(replicas=50 + cycle))
    assert count_rows(ledger, "detail") > 1
    assert count_rows(ledger, "journal") < 10
    assert len(list(sqlite_opener.archive().records("web"))) == 10


def test_a_journal_holds_an_hour_however_long_the_period(sqlite_opener: Opener) -> None:
    """Its pages are many times larger than blocks, and state.maxSize does not delete them.

    Four hours of them exceeded it.
    """
    ledger = sqlite_opener.ledger()
    slow = replace(scaler(), sync_period=timedelta(minutes=1))
    for cycle in range(121):
        keep(ledger, decision(60 * cycle), scalers=[slow])
        assert count_rows(ledger, "journal") <= 60
    assert [row.decision.now for row in sqlite_opener.archive().records("web")] == [at(60 * n) for n in range(121)]


def test_no_cycle_packs_sums_or_deletes(opener: Opener, short_blocks: int) -> None:
    """Other transactions wait for the rows that a cycle locks."""
    ledger, statements = opener.ledger(), list[str]()
    event.listen(
        ledger._context.database._engine, "before_cursor_execute", lambda *call: statements.append(call[2].lower())
    )
    for cycle in range(2 * short_blocks):
        ledger.recall([scaler()])
        ledger.record({"web": scaler()}, Observed({"web": observation()}), [decision(15 * cycle)])
    assert not [one for one in statements if "delete" in one or "sum(" in one or "detail" in one]
    assert count_rows(ledger, "journal") == 2 * short_blocks
    ledger._context.housekeeper.tidy(at(15 * 2 * short_blocks))
    assert count_rows(ledger, "journal") == short_blocks
    assert len(list(opener.archive().records("web"))) == 2 * short_blocks


def test_a_cycle_that_is_recorded_while_its_segment_is_packed_is_kept(opener: Opener) -> None:
    """After a wall clock was set forward by a day, the shard of every segment seems to be gone."""
    ledger = opener.ledger()
    keep(ledger, decision(0))
    with ledger._context.readers.begin() as connection:
        (segment,) = full_segments(connection, to_micros(at(0) + timedelta(days=2)))
        packed = pack(connection, segment)
    keep(ledger, decision(15))
    with ledger._context.database.writing() as connection:
        replace_pages(connection, segment, packed)
    assert [record.decision.now for record in opener.archive().records("web")] == [at(0), at(15)]


def test_the_pages_of_a_former_shard_are_packed_a_day_later(opener: Opener) -> None:
    """No later page begins another segment, because another number of shards serves its targets."""
    ledger = opener.ledger()
    for cycle in range(2):
        keep(ledger, decision(15 * cycle))
    ledger._context.housekeeper.tidy(at(23 * 3600))
    assert count_rows(ledger, "journal") == 2
    ledger._context.housekeeper.tidy(at(25 * 3600))
    assert count_rows(ledger, "journal") == 0
    assert len(list(opener.archive().records("web"))) == 2


def test_a_shard_that_stood_still_for_half_a_day_begins_another_segment(sqlite_opener: Opener) -> None:
    """Its earlier rows may be packed. A row that refers to one of them could not be read."""
    ledger, clock = sqlite_opener.ledger(), FakeClock(START)
    for hours in (0, 13, 0):
        clock.advance(3600 * hours + 15)
        ledger.follow_clock(clock.moment())
        ledger.recall([scaler()])
        made = decision((clock.now() - START).total_seconds())
        ledger.record({"web": scaler()}, Observed({"web": observation()}), [made])
    with ledger._context.readers.begin() as connection:
        numbers = list(connection.execute(select(schema.journal.c.number).order_by(schema.journal.c.number)).scalars())
    assert [number // SEGMENT - numbers[0] // SEGMENT for number in numbers] == [0, 1, 1]
