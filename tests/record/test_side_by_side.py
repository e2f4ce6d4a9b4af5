"""Readers wait for no shard, and no shard for readers."""

from collections.abc import Callable

import pytest

from autoscaler.record import Archive
from autoscaler.record.database import Database, locate
from tests.record.conftest import Opener
from tests.record.samples import at, decision, keep

READS: dict[str, Callable[[Archive], object]] = {
    "latest": lambda archive: archive.latest().keys(),
    "record_at": lambda archive: archive.record_at("web"),
    "records": lambda archive: len(list(archive.records("web"))),
    "series": lambda archive: len(archive.series("web")),
    "events": lambda archive: len(archive.events("web")),
    "first_seen": lambda archive: archive.first_seen().keys(),
    "steering": lambda archive: archive.steering(),
    "size": lambda archive: archive.size().bytes > 0,
}


@pytest.mark.parametrize("read", READS)
def test_a_reader_sees_what_is_committed_while_a_shard_is_in_its_commit(opener: Opener, read: str) -> None:
    """A first page view once stood in line with every shard, for one lock."""
    state = opener.state()
    keep(state.ledger("fleet"), decision())
    before = READS[read](state.archive)
    beside = Database(locate(opener.url, opener.folder))
    try:
        with beside.writing() as connection:
            connection.exec_driver_sql("UPDATE counter SET value = value")
            assert READS[read](state.archive) == before
    finally:
        beside.close()


def test_a_shard_commits_while_a_reader_is_half_way(opener: Opener) -> None:
    """Somebody pages through a month; cycles go on."""
    state = opener.state()
    ledger = state.ledger("fleet")
    for seconds in (0, 15):
        keep(ledger, decision(seconds))
    reading = state.archive.records("web")
    assert next(reading).decision.now == at(0)
    keep(ledger, decision(30))
    assert [record.decision.now for record in reading] == [at(15)]
    assert len(list(state.archive.records("web"))) == 3


def test_the_latest_decisions_of_shards_need_no_look_at_the_state(
    sqlite_opener: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the first page view the shards say what they decide: the next ones decode nothing."""
    state = sqlite_opener.state()
    ledger = state.ledger("fleet")
    keep(ledger, decision())
    state.archive.latest()

    def asked(archive: Archive) -> None:
        raise AssertionError("the state was read")

    keep(ledger, decision(15))
    monkeypatch.setattr(Archive, "_reading", asked)
    assert state.archive.latest()["web"].now == at(15)
