"""`state.maxSize`: the order in which data is deleted, and the data that always stays."""

import random

import pytest
from sqlalchemy import Table, func, insert, select

from autoscaler.record import Archive, Ledger, Retention, schema
from autoscaler.record.times import to_micros
from tests.record.conftest import Opener, kept_for
from tests.record.samples import START, at, decision, event, keep, scaler
from tests.record.test_retention import noise
from tests.replaced import replace

QUARTER = 900.0
MB = 1_000_000
pytestmark = pytest.mark.usefixtures("short_blocks")


def limited(max_bytes: int) -> Retention:
    return replace(kept_for(), max_bytes=max_bytes)


def fill(ledger: Ledger, quarters: int, first: int = 0) -> None:
    """Record a cycle of some kilobytes every quarter of an hour, with an hour in each block."""
    for quarter in range(first, first + quarters):
        keep(ledger, decision(QUARTER * quarter), seen=noise(quarter))


def quarters(archive: Archive) -> list[float]:
    """Return the cycles that have their detail."""
    return [(record.decision.now - START).total_seconds() / QUARTER for record in archive.records("web")]


def total(ledger: Ledger, table: Table) -> int:
    with ledger._context.readers.begin() as connection:
        return int(connection.execute(select(func.coalesce(func.sum(table.c.size), 0))).scalar_one())


def numbers(ledger: Ledger, table: Table) -> list[int]:
    """Return the numbers of the remaining blocks of `add`."""
    query = select(table.c.first).where(table.c.autoscaler_id == 99).order_by(table.c.first)
    with ledger._context.readers.begin() as connection:
        return list(connection.execute(query).scalars())


def add(ledger: Ledger, table: Table, count: int, size: int) -> None:
    """Add blocks of another autoscaler, one a minute, the newest a day old."""
    newest = to_micros(START) - 24 * 3_600_000_000
    rows = [
        {
            "autoscaler_id": 99,
            "first": number,
            "since": until,
            "until": until,
            "recorded": until,
            "size": size,
            "body": random.randbytes(size),
        }
        for number in range(1, count + 1)
        for until in (newest - 60_000_000 * (count - number),)
    ]
    with ledger._context.database.writing() as connection:
        connection.execute(insert(table), rows)


def add_events(ledger: Ledger, count: int, texts: int, words: int = 400) -> None:
    """Add events of the autoscaler `web`, one a second, the newest a day old, with so many texts of so many letters."""
    newest = to_micros(START) - 24 * 3_600_000_000
    keep(ledger, decision(-1))
    with ledger._context.database.writing() as connection:
        owner = connection.execute(select(schema.autoscaler.c.id)).scalar_one()
        told = [{"id": n, "type": "Normal", "reason": "Test", "message": f"{n:0{words}}"} for n in range(texts)]
        connection.execute(insert(schema.event_text), told)
        rows = [
            {
                "autoscaler_id": owner,
                "number": -number,
                "position": 0,
                "at": at,
                "recorded": at,
                "dry_run": False,
                "text_id": number * texts // count,
            }
            for number in range(count)
            for at in (newest - 1_000_000 * number,)
        ]
        connection.execute(insert(schema.event), rows)


def events(ledger: Ledger) -> tuple[int, int]:
    """Return the numbers of events and of texts."""
    with ledger._context.readers.begin() as connection:
        count, texts = (
            connection.execute(select(func.count()).select_from(table)).scalar_one()
            for table in (schema.event, schema.event_text)
        )
    return count, texts


def cycle(ledger: Ledger, seconds: float = 0) -> None:
    """Run a cycle, with upkeep."""
    keep(ledger, decision(seconds))


def test_nothing_is_deleted_while_there_is_room(opener: Opener) -> None:
    ledger = opener.ledger(limited(10**8))
    fill(ledger, 20)
    archive = opener.archive()
    assert quarters(archive) == list(range(20))
    assert archive.cuts() == []


def test_the_oldest_detail_is_deleted_first(opener: Opener) -> None:
    """Charts and events are small and are needed for longer."""
    ledger = opener.ledger(limited(10 * MB))
    add(ledger, schema.detail, 150, MB // 10)
    add(ledger, schema.series, 150, 1_000)
    cycle(ledger)
    left = numbers(ledger, schema.detail)
    assert left == list(range(left[0], 151))
    assert 8.5 * MB < total(ledger, schema.detail) < 10 * MB
    assert numbers(ledger, schema.series) == list(range(1, 151))
    assert [cut.tier for cut in opener.archive().cuts()] == ["detail"]


def test_a_cut_is_reported(opener: Opener) -> None:
    """The log, the page and a metric show its time and how far it reached."""
    ledger = opener.ledger(limited(1))
    fill(ledger, 30)
    archive = opener.archive()
    detail, series = archive.cuts()
    assert (detail.tier, series.tier) == ("detail", "series")
    assert at(0) < detail.until < at(QUARTER * quarters(archive)[0])
    assert detail.at <= at(QUARTER * 29)
    assert archive.size().cuts == [detail, series]


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


def test_detail_keeps_half_while_there_are_series(opener: Opener) -> None:
    """Years of charts must leave room for the explanations of the last two days."""
    ledger = opener.ledger(limited(10 * MB))
    add(ledger, schema.detail, 80, MB // 10)
    add(ledger, schema.series, 80, MB // 10)
    cycle(ledger)
    assert 4.9 * MB <= total(ledger, schema.detail) <= 5 * MB
    assert 3.5 * MB < total(ledger, schema.series) < 5 * MB
    assert [cut.tier for cut in opener.archive().cuts()] == ["detail", "series"]


def test_detail_below_half_stays_while_there_are_series(opener: Opener) -> None:
    """This holds when several passes are needed to delete them."""
    ledger = opener.ledger(limited(10 * MB))
    add(ledger, schema.detail, 40, MB // 10)
    add(ledger, schema.series, 2_500, 4_000)
    left = []
    for each in range(4):
        cycle(ledger, each)
        left.append(len(numbers(ledger, schema.series)))
    assert left[0] == 1_500
    assert 1_000 < left[-1] < 1_500
    assert numbers(ledger, schema.detail) == list(range(1, 41))
    assert [cut.tier for cut in opener.archive().cuts()] == ["series"]


def test_detail_that_needs_several_passes_is_deleted_before_any_series(opener: Opener) -> None:
    ledger = opener.ledger(limited(10 * MB))
    add(ledger, schema.detail, 3_500, 4_000)
    add(ledger, schema.series, 100, 4_000)
    for each in range(6):
        cycle(ledger, each)
    assert len(numbers(ledger, schema.detail)) < 2_500
    assert len(numbers(ledger, schema.series)) == 100


def test_the_rest_of_the_detail_is_deleted_when_nothing_else_is_left(opener: Opener) -> None:
    """Neither detail nor series remains."""
    ledger = opener.ledger(limited(1))
    add(ledger, schema.detail, 40, MB // 10)
    add(ledger, schema.series, 40, MB // 10)
    cycle(ledger)
    assert numbers(ledger, schema.detail) == numbers(ledger, schema.series) == []


def test_events_beyond_a_tenth_are_deleted_before_series(opener: Opener) -> None:
    """A new message in each cycle must leave room for charts, and charts must leave room for events."""
    ledger = opener.ledger(limited(10 * MB))
    add_events(ledger, 8_000, 8_000)
    add(ledger, schema.detail, 40, MB // 10)
    add(ledger, schema.series, 40, MB // 10)
    for each in range(3):
        cycle(ledger, 60 * (each + 1))
    count, texts = events(ledger)
    assert count == texts
    assert 1_000 < count < 4_000
    assert numbers(ledger, schema.series) == numbers(ledger, schema.detail) == list(range(1, 41))
    (cut,) = opener.archive().cuts()
    assert cut.tier == "events"
    (oldest,) = opener.archive().event_page("web", limit=10_000).rows[-1:]
    assert cut.until < oldest.first


def test_a_tenth_of_events_stays_while_anything_else_is_left(opener: Opener) -> None:
    ledger = opener.ledger(limited(10 * MB))
    add_events(ledger, 1_000, 1_000)
    add(ledger, schema.series, 150, MB // 10)
    cycle(ledger, 60)
    assert events(ledger) == (1_000, 1_000)
    assert [cut.tier for cut in opener.archive().cuts()] == ["series"]


def test_the_last_events_are_deleted_when_nothing_else_is_left(opener: Opener) -> None:
    """Those of the last hour stay, and so do texts in use."""
    ledger = opener.ledger(limited(1))
    add_events(ledger, 500, 1)
    keep(ledger, decision(0, events=[event(message=f"{0:0400}", reason="Test"), event(message="new")]))
    cycle(ledger, 60)
    assert events(ledger)[0] == 2
    assert {row.message for row in opener.archive().events("web")} == {f"{0:0400}", "new"}
