"""`state.maxSize`: the order in which data is deleted, and the data that always stays."""

import random
from datetime import timedelta

import pytest
from sqlalchemy import Table, func, select

from autoscaler.model import Direction, ManualControls, Pause
from autoscaler.record import schema
from autoscaler.record.archive import Archive
from autoscaler.record.housekeeping import Retention
from autoscaler.record.ledger import Ledger
from autoscaler.record.sizes import TIERS, count_bytes, counted_bytes, insert_rows, size_of
from autoscaler.record.times import to_micros
from tests.record.conftest import Opener, each_database, kept_for
from tests.record.samples import FLEET, START, at, count_rows, decision, event, keep, noise, scaler
from tests.replaced import replace
from tests.steering import steer

QUARTER = 900.0
MB = 1_000_000
pytestmark = [pytest.mark.usefixtures("short_blocks"), pytest.mark.slow]  # hours of cycles each


def limited(max_bytes: int) -> Retention:
    return replace(kept_for(), max_bytes=max_bytes)


def fill(ledger: Ledger, quarters: int, first: int = 0) -> None:
    """Record a cycle of some kilobytes every quarter of an hour, with an hour in each block."""
    for quarter in range(first, first + quarters):
        keep(ledger, decision(QUARTER * quarter), seen=noise(quarter, 20))


def quarters(archive: Archive) -> list[float]:
    """Return the cycles that have their detail."""
    return [(record.decision.now - START).total_seconds() / QUARTER for record in archive.records("web")]


def total(ledger: Ledger, table: Table) -> int:
    with ledger._context.readers.begin() as connection:
        return int(connection.execute(select(func.coalesce(func.sum(table.c.size), 0))).scalar_one())


def numbers(ledger: Ledger, table: Table) -> list[int]:
    """Return the numbers of the remaining blocks of `add`."""
    query = select(table.c.chunk).where(table.c.chunk > 0).order_by(table.c.id)
    with ledger._context.readers.begin() as connection:
        return list(connection.execute(query).scalars())


def add(ledger: Ledger, table: Table, count: int, size: int) -> None:
    """Add blocks of other autoscalers, one a minute, the newest a day old."""
    newest = to_micros(START) - 24 * 3_600_000_000
    rows = [
        {
            "chunk": number,
            "since": until,
            "until": until,
            "packed": True,
            "size": size,
            "body": random.randbytes(size),
        }
        for number in range(1, count + 1)
        for until in (newest - 60_000_000 * (count - number),)
    ]
    with ledger._context.database.writing() as connection:
        count_bytes(connection, schema.OPERATORS, insert_rows(connection, {table: rows}))


def cycle(ledger: Ledger, seconds: float = 0) -> None:
    """Run a cycle, with upkeep."""
    keep(ledger, decision(seconds))


def test_nothing_is_deleted_while_there_is_room(opener: Opener) -> None:
    ledger = opener.ledger(limited(10**8))
    fill(ledger, 20)
    archive = opener.archive()
    assert quarters(archive) == list(range(20))
    assert archive.cuts() == []


@each_database
def test_the_oldest_detail_is_deleted_first(opener: Opener) -> None:
    """Charts and events are small and are needed for longer."""
    ledger = opener.ledger(limited(10 * MB))
    add(ledger, schema.block, 150, MB // 10)
    keep(ledger, decision(-24 * 3600))
    cycle(ledger)
    left = numbers(ledger, schema.block)
    assert left == list(range(left[0], 151))
    assert 8.5 * MB < total(ledger, schema.block) < 10 * MB
    assert count_rows(ledger, "change") == 1
    assert [cut.tier for cut in opener.archive().cuts()] == ["detail"]


@each_database
def test_events_of_an_outage_leave_the_detail(opener: Opener) -> None:
    """It is what explains the outage. Detail beyond half of the limit goes first, then history, then the rest."""
    ledger = opener.ledger(limited(10 * MB))
    add(ledger, schema.block, 40, MB // 10)
    newest = to_micros(START) - 24 * 3_600_000_000
    fixed = {"autoscaler_id": 99, "spec": 1, "size": MB // 10}
    with ledger._context.database.writing() as connection:
        rows = [
            {**fixed, "number": number, "at": newest + number, "body": random.randbytes(MB // 10)}
            for number in range(1, 81)
        ]
        count_bytes(connection, schema.OPERATORS, insert_rows(connection, {schema.change: rows}))
    keep(ledger, decision(-24 * 3600))
    cycle(ledger)
    assert numbers(ledger, schema.block) == list(range(1, 41))
    assert 4 * MB < total(ledger, schema.change) < 6 * MB
    assert [cut.tier for cut in opener.archive().cuts()] == ["history"]


def test_a_cut_is_reported(opener: Opener) -> None:
    """The log, the page and a metric show its time and how far it reached."""
    ledger = opener.ledger(limited(1))
    fill(ledger, 30)
    archive = opener.archive()
    detail, history = archive.cuts()
    assert (detail.tier, history.tier) == ("detail", "history")
    assert at(0) < detail.until < at(QUARTER * quarters(archive)[0])
    assert detail.at <= at(QUARTER * 29)
    assert archive.size().cuts == [detail, history]


def test_the_last_hour_is_never_deleted(opener: Opener) -> None:
    """Operators read it while something goes wrong."""
    ledger = opener.ledger(limited(1))
    fill(ledger, 40)
    archive = opener.archive()
    assert quarters(archive)[0] <= 35
    assert quarters(archive)[-1] == 39
    assert len(archive.series("web", since=at(QUARTER * 35))) == 5


def test_the_memory_of_decisions_is_never_deleted(opener: Opener) -> None:
    """A small disk may limit explanations, never a window or a rate limit."""
    ledger = opener.ledger(limited(1))
    fill(ledger, 40)
    expected = ledger.recall([scaler()])
    assert expected["web"].at == at(QUARTER * 39)
    assert opener.restart().recall([scaler()]) == expected


def test_of_the_history_the_oldest_is_deleted_first(opener: Opener) -> None:
    """Events and changes reach back equally far, however many there are of each."""
    ledger = opener.ledger(limited(1))
    for hour in range(6):
        keep(ledger, decision(3600 * hour, size=5 + hour, events=[event(message="a" * 400), event(reason="Other")]))
    (_, history) = opener.archive().cuts()
    assert history.until == at(3600 * 3)
    assert {row.first for row in opener.archive().events("web")} == {at(3600 * 4)}
    assert count_rows(ledger, "change") == 2


@each_database
@pytest.mark.parametrize("left", [False, True])
def test_the_counted_bytes_are_those_of_the_rows(opener: Opener, *, left: bool) -> None:
    """After packing, retention, cuts, steering, and an autoscaler that is forgotten."""
    state = opener.state(kept_for(detail=timedelta(hours=2), retention=timedelta(hours=4)))
    ledger = state.ledger(FLEET)
    for quarter in range(24):
        names = ("web",) if left and quarter > 1 else ("web", "gone")
        keep(ledger, *(decision(QUARTER * quarter, name, size=quarter, events=[event(message="ä")]) for name in names))
        if quarter == 20:
            steer(state, "web", ManualControls(Pause(Direction.BOTH, "ann", "", at(0), None)))
    state.follow(limited(1), [scaler()])
    keep(ledger, decision(QUARTER * 24))
    with ledger._context.readers.begin() as connection:
        counted = counted_bytes(connection)
        for tier, tables in TIERS.items():
            sums = [select(func.coalesce(func.sum(size_of(table)), 0)) for table in tables]
            assert getattr(counted, tier) == sum(int(connection.execute(one).scalar_one()) for one in sums)
    assert counted.detail > 0
