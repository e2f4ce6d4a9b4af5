"""`state.maxSize`: what goes first when there is too much, and what never goes."""

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import Table, func, insert, select

from autoscaler.record import Archive, Ledger, Retention, schema
from autoscaler.record.housekeeping import live_bytes
from tests.record.conftest import Opener, kept_for
from tests.record.samples import START, at, decision, keep, scaler
from tests.record.test_retention import noise

QUARTER = 900.0
pytestmark = pytest.mark.usefixtures("short_blocks")


def limited(max_bytes: int) -> Retention:
    return replace(kept_for(), max_bytes=max_bytes)


def fill(ledger: Ledger, quarters: int, first: int = 0, replicas: int = 1000) -> None:
    """A cycle of some kilobytes every quarter of an hour, an hour's to a block."""
    for quarter in range(first, first + quarters):
        keep(ledger, decision(QUARTER * quarter), seen=noise(quarter, replicas))


def quarters(archive: Archive) -> list[float]:
    """Of which cycles the detail is there."""
    return [(record.decision.now - START).total_seconds() / QUARTER for record in archive.records("web")]


def total(ledger: Ledger, table: Table) -> int:
    with ledger._shared.readers.begin() as connection:
        return int(connection.execute(select(func.coalesce(func.sum(table.c.size), 0))).scalar_one())


def live(ledger: Ledger) -> int:
    with ledger._shared.readers.begin() as connection:
        return live_bytes(connection)


def add_series(ledger: Ledger, count: int, size: int) -> None:
    """So many blocks of series, years old."""
    row = {"autoscaler_id": 1, "since": 0, "size": size, "body": bytes(size)}
    with ledger._shared.database.writing() as connection:
        connection.execute(
            insert(schema.series), [row | {"first": -number, "until": number} for number in range(1, count + 1)]
        )


def test_nothing_is_cut_while_there_is_room(opener: Opener) -> None:
    ledger = opener.ledger(limited(10**8))
    fill(ledger, 20)
    archive = opener.archive()
    assert quarters(archive) == list(range(20))
    assert archive.cuts() == []


def test_the_oldest_detail_goes_first(opener: Opener) -> None:
    """Charts and events are small, and asked for longest."""
    ledger = opener.ledger(limited(1_600_000))
    fill(ledger, 120, replicas=5000)
    archive = opener.archive()
    there = quarters(archive)
    assert there == [float(number) for number in range(int(there[0]), 120)]
    assert 20 < there[0] < 110
    assert len(archive.series("web")) == 120
    assert [cut.tier for cut in archive.cuts()] == ["detail"]
    assert live(ledger) < 1_700_000


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
    ledger = opener.ledger(kept_for())
    fill(ledger, 40)
    detail = total(ledger, schema.detail)
    add_series(ledger, 300, 4_000)
    opener.close()
    ledger = opener.ledger(replace(kept_for(retention=timedelta(days=36_500)), max_bytes=3 * detail))
    fill(ledger, 8, first=40)
    assert total(ledger, schema.detail) >= detail
    assert total(ledger, schema.series) < 300 * 4_000
    assert [cut.tier for cut in opener.archive().cuts()] == ["series"]


def test_detail_keeps_half_also_where_series_take_several_commits_to_cut(opener: Opener) -> None:
    """At most a thousand rows go at a time."""
    ledger = opener.ledger(kept_for())
    fill(ledger, 40)
    detail = total(ledger, schema.detail)
    add_series(ledger, 2_500, 400)
    opener.close()
    ledger = opener.ledger(replace(kept_for(retention=timedelta(days=36_500)), max_bytes=3 * detail))
    seen = []
    for quarter in range(40, 44):
        keep(ledger, decision(QUARTER * 40 + quarter))
        seen.append(total(ledger, schema.detail) >= detail)
    assert seen == [True] * 4


def test_the_rest_of_detail_goes_when_there_is_nothing_else(opener: Opener) -> None:
    """More than half of it, when the series are all of the last hour."""
    ledger = opener.ledger(limited(10**9))
    fill(ledger, 40)
    before = total(ledger, schema.detail)
    opener.close()
    ledger = opener.ledger(limited(before // 2))
    fill(ledger, 2, first=40)
    assert total(ledger, schema.detail) < before // 4
