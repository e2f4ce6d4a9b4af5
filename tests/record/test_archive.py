"""Readers see the decisions, their times and their reasons."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select, update

from autoscaler.decide import remember
from autoscaler.errors import StateError
from autoscaler.model import Decision, Direction, History, TargetRef
from autoscaler.record import schema
from autoscaler.record.evaluation import Columns, decision_from
from autoscaler.record.values import EventRow, Record
from autoscaler.view.parameters import EventParameters, ExplainParameters, HistoryParameters
from autoscaler.view.reads import UnknownAutoscaler
from tests.record.conftest import Opener, each_database
from tests.record.samples import FLEET, START, at, count_rows, decision, event, keep, observation, scaler
from tests.replaced import replace
from tests.view.lives import reads_of


def test_readers_see_the_latest_decision_of_each_autoscaler(opener: Opener) -> None:
    """`get` shows it, with a daemon (from memory) and without one."""
    state = opener.state()
    ledger = state.ledger(FLEET)
    keep(ledger, decision(0, "a"), decision(0, "b"))
    assert state.archive.latest() == {"a": decision(0, "a"), "b": decision(0, "b")}
    keep(ledger, decision(15, "a"))
    assert state.archive.latest() == {"a": decision(15, "a"), "b": decision(0, "b")}
    assert opener.archive().latest() == state.archive.latest()


def test_decisions_of_this_process_are_not_read_from_the_state(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    """To read ten thousand decisions took three seconds for the first page, and half of a cycle's time."""
    keep(opener.ledger(), decision(0, "a"), decision(0, "gone"))
    opener.close()
    state = opener.state()
    ledger = state.ledger(FLEET)
    keep(ledger, decision(15, "a"), decision(15, "b"))
    read = list[str]()

    def named(columns: Columns, now: int, name: str, target: TargetRef) -> Decision:
        read.append(name)
        return decision_from(columns, now, name, target)

    monkeypatch.setattr("autoscaler.record.newest.decision_from", named)
    assert sorted(state.archive.latest()) == ["a", "b", "gone"]
    assert read == ["gone"]


def test_after_a_change_of_target_the_latest_decision_is_about_the_new_target(opener: Opener) -> None:
    """The decisions about both targets have the autoscaler's name."""
    ledger = opener.ledger()
    keep(ledger, decision(0, target="old"))
    keep(ledger, decision(15, target="new"))
    assert opener.archive().latest() == {"web": decision(15, target="new")}


def test_decisions_are_in_the_order_of_their_commits(opener: Opener) -> None:
    """After the clock is set back, the newest decision has the earliest time."""
    state = opener.state()
    ledger = state.ledger(FLEET)
    for seconds in (60, 75, 15):
        keep(ledger, decision(seconds))
    for archive in (state.archive, opener.archive()):
        assert [record.decision.now for record in archive.records("web")] == [at(60), at(75), at(15)]
        assert [round((row.time - START).total_seconds()) for row in archive.series("web")] == [60, 75, 15]
        assert archive.latest()["web"].now == at(15)
        newest, earlier = archive.record_at("web"), archive.record_at("web", at(70))
        assert newest is not None
        assert earlier is not None
        assert (newest.decision.now, earlier.decision.now) == (at(15), at(15))


@pytest.mark.parametrize(
    ("name", "seconds", "found"),
    [("web", 14.9, 0), ("web", 15, 15), ("web", 10_000, 15), ("web", -1, None), ("nobody", 15, None)],
)
def test_the_decision_in_force_at_a_time(opener: Opener, name: str, seconds: float, found: float | None) -> None:
    """`explain --at` may name a time between two cycles."""
    ledger = opener.ledger()
    keep(ledger, decision(0, size=5))
    keep(ledger, decision(15, size=6))
    record = opener.archive().record_at(name, at(seconds))
    assert (record and record.decision.now) == (None if found is None else at(found))


@each_database
def test_a_name_with_a_nul_is_unknown(opener: Opener) -> None:
    """Any client may ask for `/autoscalers/%00`; PostgreSQL refuses the text, which looked like an outage (503)."""
    keep(opener.ledger(), decision(0))
    reads = reads_of(opener.archive(), None, at(1))
    for name in ("\0", "web\0", "a\0b"):
        with pytest.raises(UnknownAutoscaler):
            reads.get_autoscaler(name)
        with pytest.raises(UnknownAutoscaler):
            reads.explain_autoscaler(name, ExplainParameters())
        with pytest.raises(UnknownAutoscaler):
            reads.get_history(name, HistoryParameters())
        with pytest.raises(UnknownAutoscaler):
            reads.list_events(EventParameters(name=name))
    assert reads.get_autoscaler("web").summary.name == "web"


def test_records_of_a_span(opener: Opener) -> None:
    """The span includes both ends."""
    ledger = opener.ledger()
    for seconds in range(0, 75, 15):
        keep(ledger, decision(seconds))
    found = opener.archive().records("web", at(15), at(45))
    assert [record.decision.now for record in found] == [at(15), at(30), at(45)]


def test_a_record_holds_everything_the_decision_was_made_from(opener: Opener) -> None:
    """Replay repeats the decision from the specification and the observation of that time."""
    before, after = scaler(maximum=20), scaler(maximum=30)
    ledger = opener.ledger()
    keep(ledger, decision(0), scalers=[before])
    keep(ledger, decision(15), scalers=[after])
    ledger = opener.restart()
    keep(ledger, decision(30), scalers=[after])
    first = remember(before, History(), decision(0))
    second = remember(after, first, decision(15))
    archive = opener.archive()
    assert list(archive.records("web")) == [
        Record(before, decision(0), observation(), History()),
        Record(after, decision(15), observation(), first),
        Record(after, decision(30), observation(), second),
    ]
    assert count_rows(ledger, "spec") == 2


def test_equal_events_are_counted(opener: Opener) -> None:
    """`kubectl describe` shows `x5 over 96s`. Different events are in the order of their last time."""
    ledger = opener.ledger()
    failed = event("FailedGetResourceMetric", "no answer")
    for seconds in (0, 15):
        keep(ledger, decision(seconds, events=[failed]))
    rescaled = replace(event(), direction=Direction.OUT)
    keep(ledger, decision(30, events=[rescaled]), decision(30, "other", events=[failed]))
    keep(ledger, decision(96, events=[failed]))
    repeated = EventRow("web", failed.type, failed.reason, failed.message, 3, at(0), at(96), dry_run=False)
    once = EventRow("web", failed.type, "SuccessfulRescale", "New size: 8", 1, at(30), at(30), False, Direction.OUT)
    archive = opener.archive()
    assert archive.events("web") == [once, repeated]
    assert archive.events("web", since=at(15)) == [once, replace(repeated, count=2, first=at(15))]
    assert sorted(row.name for row in archive.events()) == ["other", "web", "web"]


@each_database
def test_of_too_many_events_only_the_newest_are_counted(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    """An outage of 3,000 autoscalers adds a million in two hours. To count them all took longer than a client waits."""
    monkeypatch.setattr("autoscaler.record.events._MOST_MERGED", 4)
    ledger = opener.ledger()
    failed = event("FailedGetResourceMetric", "no answer")
    for seconds in range(0, 60, 15):
        keep(ledger, *(decision(seconds, name, events=[failed]) for name in ("a", "b", "c")))
    archive = opener.archive()
    page = archive.event_page(since=at(15), limit=2)
    assert [(row.name, row.count, row.first) for row in page.rows] == [("b", 2, at(30)), ("c", 2, at(30))]
    assert (page.total, page.since) == (3, at(30)), "a cycle is read as a whole"
    assert [(row.count, row.first) for row in archive.events("a")] == [(4, at(0))]
    assert archive.event_page("a").since is None
    assert archive.event_page(merged=False).total == 12


@each_database
@pytest.mark.parametrize("merged", [True, False])
def test_a_page_of_events_reads_only_what_it_shows(
    opener: Opener, monkeypatch: pytest.MonkeyPatch, merged: bool
) -> None:
    """A reader of ten events must not make the daemon load a month's events of ten thousand autoscalers."""
    ledger = opener.ledger()
    for cycle in range(6):
        events = [event(message=f"New size: {cycle}")]
        keep(ledger, decision(15 * cycle, "a", events=events), decision(15 * cycle, "b", events=events))
    made = list[str]()

    def counted(*values: Any, **more: Any) -> EventRow:
        row = EventRow(*values, **more)
        made.append(row.message)
        return row

    monkeypatch.setattr("autoscaler.record.events.EventRow", counted)
    page = opener.archive().event_page(offset=3, limit=2, merged=merged)
    assert [(row.name, row.message) for row in page.rows] == [("b", "New size: 3"), ("a", "New size: 4")]
    assert (page.total, len(made)) == (12, 2)


def test_a_damaged_event_affects_only_its_own_autoscaler(opener: Opener) -> None:
    """Operators need the events of the others most when a disk fails."""
    ledger = opener.ledger()
    keep(ledger, decision(0, "hurt", events=[event()]), decision(0, "other", events=[event()]))
    with ledger._context.database.writing() as connection:
        hurt = select(schema.autoscaler.c.id).where(schema.autoscaler.c.name == "hurt").scalar_subquery()
        connection.execute(update(schema.event).where(schema.event.c.autoscaler_id == hurt).values(at=2**62))
    archive = opener.archive()
    assert [row.name for row in archive.events()] == ["other"]
    with pytest.raises(StateError, match="autoscaler 'hurt': a recorded value cannot be read"):
        archive.events("hurt")


def test_the_size_of_the_state(opener: Opener) -> None:
    """A metric that grows before the disk is full."""
    state = opener.state()
    empty = state.archive.size()
    keep(state.ledger(FLEET), *(decision(0, f"s{k}", events=[event()]) for k in range(50)))
    full = state.archive.size()
    assert full.bytes > empty.bytes > 0


def test_an_autoscaler_was_first_seen_at_its_first_decision(opener: Opener) -> None:
    """The AGE column shows the age of the first recorded decision."""
    ledger = opener.ledger()
    keep(ledger, decision(0, "a"))
    keep(ledger, decision(15, "a"), decision(15, "b"))
    assert opener.archive().first_seen() == {"a": at(0), "b": at(15)}


def test_a_damaged_target_is_an_error_that_names_its_autoscaler(opener: Opener) -> None:
    """Every command reads this first, for any name."""
    ledger = opener.ledger()
    keep(ledger, decision(0, "hurt"), decision(0, "other"))
    with ledger._context.database.writing() as connection:
        connection.execute(update(schema.autoscaler).where(schema.autoscaler.c.name == "hurt").values(target="{"))
    archive = opener.archive()
    with pytest.raises(StateError, match="autoscaler 'hurt': a recorded value cannot be read"):
        archive.knows("hurt")
    assert archive.knows("other")


def test_a_reader_may_stop_in_the_middle_of_the_records(opener: Opener) -> None:
    """Its open cursor blocks neither writes nor the closing of the state."""
    ledger = opener.ledger()
    keep(ledger, decision(0))
    keep(ledger, decision(15))
    archive = opener.archive()
    assert next(archive.records("web")).decision.now == at(0)
    keep(ledger, decision(30))
    assert [record.decision.now for record in archive.records("web", since=at(0) + timedelta(seconds=20))] == [at(30)]
