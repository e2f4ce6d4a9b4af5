from dataclasses import replace

from autoscaler.model import TargetType
from autoscaler.record import EventRow, MetricPoint, Record, SeriesRow
from tests.record.conftest import Opener
from tests.record.samples import at, decision, event, keep, observation, scaler


def test_the_latest_decision_of_each_autoscaler(opener: Opener) -> None:
    """What `get` shows, with a daemon (from memory) and without one."""
    store = opener.store()
    keep(store, decision(0, "a"), decision(0, "b"))
    assert store.latest() == {"a": decision(0, "a"), "b": decision(0, "b")}
    keep(store, decision(15, "a"))
    assert store.latest() == {"a": decision(15, "a"), "b": decision(0, "b")}
    assert opener.archive().latest() == store.latest()


def test_the_latest_decision_after_a_change_of_target_is_about_the_new_one(opener: Opener) -> None:
    """Both are kept under the autoscaler's name."""
    store = opener.store()
    keep(store, decision(0, target="old"))
    keep(store, decision(15, target="new"))
    assert opener.archive().latest() == {"web": decision(15, target="new")}


def test_the_decision_in_force_at_a_time(opener: Opener) -> None:
    """`explain --at` asks about a moment between two cycles."""
    store = opener.store()
    keep(store, decision(0, size=5))
    keep(store, decision(15, size=6))
    assert store.decision_at("web", at(14.9)) == decision(0, size=5)
    assert store.decision_at("web", at(15)) == decision(15, size=6)
    assert store.decision_at("web", at(-1)) is None
    assert store.decision_at("nobody", at(15)) is None


def test_decisions_of_a_span_the_newest_first(opener: Opener) -> None:
    """Both ends belong to it; `limit` keeps the newest."""
    store = opener.store()
    for seconds in range(0, 75, 15):
        keep(store, decision(seconds))
    assert [made.now for made in store.decisions("web", at(15), at(45))] == [at(45), at(30), at(15)]
    assert [made.now for made in store.decisions("web", limit=2)] == [at(60), at(45)]


def test_a_record_holds_everything_the_decision_was_made_from(opener: Opener) -> None:
    """Replay decides it again: from the specification of that time and from what was seen then."""
    before, after = scaler(maximum=20), scaler(maximum=30)
    store = opener.store()
    keep(store, decision(0), scalers=[before])
    keep(store, decision(15), scalers=[after])
    opener.close()
    store = opener.store()
    keep(store, decision(30), scalers=[after])
    assert store.records("web") == [
        Record(after, observation(), decision(30)),
        Record(after, observation(), decision(15)),
        Record(before, observation(), decision(0)),
    ]
    assert store.size().rows["spec"] in (0, 2)  # PostgreSQL estimates, and may not have counted yet


def test_equal_events_are_counted(opener: Opener) -> None:
    """`x5 over 96s`, as `kubectl describe` shows them; others in the order of their last time."""
    store = opener.store()
    failed = event("FailedGetResourceMetric", "no answer")
    for seconds in (0, 15, 96):
        keep(store, decision(seconds, events=[failed]))
    keep(store, decision(30, events=[event()]), decision(30, "other", events=[failed]))
    repeated = EventRow("web", failed.type, failed.reason, failed.message, 3, at(0), at(96), dry_run=False)
    once = EventRow("web", failed.type, "SuccessfulRescale", "New size: 8", 1, at(30), at(30), dry_run=False)
    assert store.events("web") == [once, repeated]
    assert store.events("web", since=at(15)) == [once, replace(repeated, count=2, first=at(15))]
    assert [row.name for row in store.events()] == ["web", "other", "web"]


def test_a_series_is_light_and_carries_bounds_and_metrics(opener: Opener) -> None:
    """A chart of a month must not unpack every decision."""
    store = opener.store()
    keep(store, decision(0, size=5))
    blind = replace(
        decision(15), current=None, desired=None, metrics=(replace(decision().metrics[0], average_utilization=None),)
    )
    keep(store, blind)
    point = MetricPoint("cpu", TargetType.UTILIZATION, 60, 65)
    row = SeriesRow(at(0), 5, 5, 1, 20, dry_run=False, metrics=(point,))
    failed = replace(row, at=at(15), current=None, desired=None, metrics=(replace(point, value=None),))
    assert store.series("web") == [row, failed]
    assert store.series("web", since=at(1)) == [failed]
    assert store.series("web", until=at(1)) == [row]


def test_the_size_of_the_state(sqlite_opener: Opener) -> None:
    """A metric that grows before the disk is full."""
    store = sqlite_opener.store()
    empty = store.size()
    keep(store, *(decision(0, f"s{k}", events=[event()]) for k in range(50)))
    full = store.size()
    assert full.bytes > empty.bytes > 0
    assert (full.rows["autoscaler"], full.rows["decision"], full.rows["event"]) == (50, 50, 50)


def test_the_size_of_the_state_on_a_server(opener: Opener) -> None:
    """The same tables are counted wherever they are."""
    store = opener.store()
    assert set(store.size().rows) >= {"autoscaler", "decision", "event", "intent", "sighting", "slot", "spec"}
    assert store.size().bytes > 0


def test_when_an_autoscaler_was_first_seen(opener: Opener) -> None:
    """The AGE column: as old as the first decision remembered."""
    store = opener.store()
    keep(store, decision(0, "a"))
    keep(store, decision(15, "a"), decision(15, "b"))
    assert store.first_seen() == {"a": at(0), "b": at(15)}
