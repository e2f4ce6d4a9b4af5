"""`state.maxSize`: what goes first when there is too much, and what never goes."""

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
    """A cycle of some kilobytes every quarter of an hour, an hour's to a block."""
    for quarter in range(first, first + quarters):
        keep(ledger, decision(QUARTER * quarter), seen=noise(quarter))


def quarters(archive: Archive) -> list[float]:
    """Of which cycles the detail is there."""
    return [(record.decision.now - START).total_seconds() / QUARTER for record in archive.records("web")]


def total(ledger: Ledger, table: Table) -> int:
    with ledger._context.readers.begin() as connection:
        return int(connection.execute(select(func.coalesce(func.sum(table.c.size), 0))).scalar_one())


def numbers(ledger: Ledger, table: Table) -> list[int]:
    """Which of the blocks of `add` are there."""
    query = select(table.c.first).where(table.c.autoscaler_id == 99).order_by(table.c.first)
    with ledger._context.readers.begin() as connection:
        return list(connection.execute(query).scalars())


def add(ledger: Ledger, table: Table, count: int, size: int) -> None:
    """So many blocks of another autoscaler, one a minute, the newest a day old."""
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
    """So many of the autoscaler `web`, one a second, the newest a day old; so many texts, each of so many letters."""
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
    """How many there are, and texts."""
    with ledger._context.readers.begin() as connection:
        count, texts = (
            connection.execute(select(func.count()).select_from(table)).scalar_one()
            for table in (schema.event, schema.event_text)
        )
    return count, texts


def cycle(ledger: Ledger, seconds: float = 0) -> None:
    """One in which the state is looked through."""
    keep(ledger, decision(seconds))


def test_nothing_is_cut_while_there_is_room(opener: Opener) -> None:
    ledger = opener.ledger(limited(10**8))
    fill(ledger, 20)
    archive = opener.archive()
    assert quarters(archive) == list(range(20))
    assert archive.cuts() == []


def test_the_oldest_detail_goes_first(opener: Opener) -> None:
    """Charts and events are small, and asked for longest."""
    ledger = opener.ledger(limited(10 * MB))
    add(ledger, schema.detail, 150, MB // 10)
    add(ledger, schema.series, 150, 1_000)
    cycle(ledger)
    left = numbers(ledger, schema.detail)
    assert left == list(range(left[0], 151))
    assert 8.5 * MB < total(ledger, schema.detail) < 10 * MB
    assert numbers(ledger, schema.series) == list(range(1, 151))
    assert [cut.tier for cut in opener.archive().cuts()] == ["detail"]


def test_what_was_cut_is_known(opener: Opener) -> None:
    """For a line in the log, the page, and a metric: up to when, and when that was done last."""
    ledger = opener.ledger(limited(1))
    fill(ledger, 30)
    archive = opener.archive()
    detail, series = archive.cuts()
    assert (detail.tier, series.tier) == ("detail", "series")
    assert at(0) < detail.until < at(QUARTER * quarters(archive)[0])
    assert detail.at <= at(QUARTER * 29)
    assert archive.size().cuts == [detail, series]


def test_the_last_hour_is_never_cut(opener: Opener) -> None:
    """What operators look at while something goes wrong."""
    ledger = opener.ledger(limited(1))
    fill(ledger, 40)
    archive = opener.archive()
    assert quarters(archive)[0] <= 35
    assert quarters(archive)[-1] == 39
    assert len(archive.series("web", since=at(QUARTER * 35))) == 5


def test_what_decisions_remember_is_never_cut(opener: Opener) -> None:
    """A small disk may cost explanations, never a window or a rate limit."""
    ledger = opener.ledger(limited(1))
    fill(ledger, 40)
    expected = ledger.recall([scaler()])
    assert expected["web"].at == at(QUARTER * 39)
    assert opener.restart().recall([scaler()]) == expected


def test_detail_keeps_half_while_there_are_series(opener: Opener) -> None:
    """Years of charts must not take the room of the last two days' explanations."""
    ledger = opener.ledger(limited(10 * MB))
    add(ledger, schema.detail, 80, MB // 10)
    add(ledger, schema.series, 80, MB // 10)
    cycle(ledger)
    assert 4.9 * MB <= total(ledger, schema.detail) <= 5 * MB
    assert 3.5 * MB < total(ledger, schema.series) < 5 * MB
    assert [cut.tier for cut in opener.archive().cuts()] == ["detail", "series"]


def test_less_detail_than_half_is_left_alone_while_there_are_series(opener: Opener) -> None:
    """Also where more of them have to go than do at one time."""
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


def test_more_detail_than_goes_at_one_time_goes_before_any_series(opener: Opener) -> None:
    ledger = opener.ledger(limited(10 * MB))
    add(ledger, schema.detail, 3_500, 4_000)
    add(ledger, schema.series, 100, 4_000)
    for each in range(6):
        cycle(ledger, each)
    assert len(numbers(ledger, schema.detail)) < 2_500
    assert len(numbers(ledger, schema.series)) == 100


def test_the_rest_of_detail_goes_when_there_is_nothing_else(opener: Opener) -> None:
    """More than half of it."""
    ledger = opener.ledger(limited(1))
    add(ledger, schema.detail, 40, MB // 10)
    add(ledger, schema.series, 40, MB // 10)
    cycle(ledger)
    assert numbers(ledger, schema.detail) == numbers(ledger, schema.series) == []


def test_events_beyond_a_tenth_go_before_series(opener: Opener) -> None:
    """A message of its own in each cycle must not take the room of the charts, nor charts that of all events."""
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


def test_a_tenth_of_events_stays_while_there_is_anything_else(opener: Opener) -> None:
    ledger = opener.ledger(limited(10 * MB))
    add_events(ledger, 1_000, 1_000)
    add(ledger, schema.series, 150, MB // 10)
    cycle(ledger, 60)
    assert events(ledger) == (1_000, 1_000)
    assert [cut.tier for cut in opener.archive().cuts()] == ["series"]


def test_the_last_events_go_when_there_is_nothing_else(opener: Opener) -> None:
    """But for those of the last hour; and a text that is still used stays."""
    ledger = opener.ledger(limited(1))
    add_events(ledger, 500, 1)
    keep(ledger, decision(0, events=[event(message=f"{0:0400}", reason="Test"), event(message="new")]))
    cycle(ledger, 60)
    assert events(ledger)[0] == 2
    assert {row.message for row in opener.archive().events("web")} == {f"{0:0400}", "new"}
