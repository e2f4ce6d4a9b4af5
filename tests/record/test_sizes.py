"""The small charts of a list read the recent sizes of many autoscalers."""

from collections.abc import Mapping
from typing import Any

import pytest
from sqlalchemy import select, update

from autoscaler.model import Decision
from autoscaler.record import SizePoint, schema
from autoscaler.record.sizes import MOST_POINTS
from tests.record.conftest import Opener
from tests.record.samples import at, decision, keep
from tests.replaced import replace


def read(seconds: float, size: int | None, name: str = "web") -> Decision:
    """Return a decision that found this size and keeps it."""
    return replace(decision(seconds, name), current=size, desired=size)


def test_only_decisions_with_a_change_are_read(opener: Opener) -> None:
    """A size that stays for an hour needs one row."""
    ledger = opener.ledger()
    for seconds, size in ((0, 3), (15, 3), (30, 5), (45, 5), (60, 4)):
        keep(ledger, read(seconds, size))

    assert opener.archive().recent_sizes(["web"], at(0)) == {
        "web": [SizePoint(at(0), 3), SizePoint(at(30), 5), SizePoint(at(60), 4)]
    }


def test_the_size_of_an_unreadable_target_is_unknown(opener: Opener) -> None:
    """The chart has a gap there, not a zero."""
    ledger = opener.ledger()
    keep(ledger, read(0, 3))
    keep(ledger, read(15, None))

    assert opener.archive().recent_sizes(["web"], at(0))["web"][-1] == SizePoint(at(15), None)


def test_the_last_change_before_the_time_is_read_too(opener: Opener) -> None:
    """It is the size with which the chart begins."""
    ledger = opener.ledger()
    for seconds, size in ((0, 2), (15, 3), (30, 5)):
        keep(ledger, read(seconds, size))

    assert opener.archive().recent_sizes(["web"], at(20)) == {"web": [SizePoint(at(15), 3), SizePoint(at(30), 5)]}


def test_only_the_newest_changes_of_a_restless_autoscaler_are_read(opener: Opener) -> None:
    """An autoscaler that changes its size in every cycle must not make the list slow."""
    ledger = opener.ledger()
    for number in range(MOST_POINTS + 5):
        keep(ledger, read(15 * number, 3 + number % 2))

    found = opener.archive().recent_sizes(["web"], at(0))["web"]

    assert len(found) == MOST_POINTS
    assert found[0].at == at(15 * 5)


def test_only_the_requested_names_are_read(opener: Opener) -> None:
    """A page shows a hundred of ten thousand."""
    keep(opener.ledger(), read(0, 3))

    assert opener.archive().recent_sizes(["other"], at(0)) == {}
    assert opener.archive().recent_sizes([], at(0)) == {}


@pytest.mark.parametrize("damage", [{"body": b"nonsense"}, {"at": 2**62}])
def test_a_damaged_record_affects_only_its_own_chart(opener: Opener, damage: Mapping[str, Any]) -> None:
    """The list must work when a disk fails."""
    ledger = opener.ledger()
    keep(ledger, read(0, 3), read(0, 4, "other"))
    archive = opener.archive()
    with ledger._context.database.writing() as connection:
        hurt = select(schema.autoscaler.c.id).where(schema.autoscaler.c.name == "web").scalar_subquery()
        mine = schema.change.c.autoscaler_id == hurt
        connection.execute(update(schema.change).where(mine).values(damage))

    assert archive.recent_sizes(["web", "other"], at(0)) == {"other": [SizePoint(at(0), 4)]}
