"""Documents from a real state."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from autoscaler.foresee.replay import history, lookback

from autoscaler.documents.history import thinned
from autoscaler.documents.library import Library, NoDecision, UnknownAutoscaler
from autoscaler.model import DEFAULT_SCALE_DOWN, Behavior, Decision, PolicyType, ScalingPolicy, TargetRef
from autoscaler.record import Archive, SeriesRow, Store
from tests.decide.build import CPU_60, NOW, scaler
from tests.documents.lives import Recorded, open_store

BEHAVIOR = Behavior(
    scale_down=replace(
        DEFAULT_SCALE_DOWN,
        stabilization_window=timedelta(seconds=60),
        policies=(ScalingPolicy(PolicyType.PODS, 1, timedelta(seconds=30)),),
    )
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path) as store:
        yield store


def lived(store: Store) -> Recorded:
    life = Recorded(store, scaler(CPU_60, maximum=10, behavior=BEHAVIOR))
    for percent in (60, 120, 90, 30, 30, 30, 30, 30, 30, 80, 20, 20):
        life.cpu(percent)
    return life


def test_what_was_remembered_is_found_again_from_the_decisions(store: Store) -> None:
    """Of what windows and periods still look at, nothing is missing and nothing is added."""
    life = lived(store)
    kept = store.recall([life.autoscaler])["web"]
    since = life.now - lookback(life.autoscaler)
    found = history(life.autoscaler, list(reversed(store.decisions("web", since, life.now, 1000))))
    for ours, theirs in (
        (found.recommendations, kept.recommendations),
        (found.scale_ups, kept.scale_ups),
        (found.scale_downs, kept.scale_downs),
    ):
        assert [entry for entry in ours if entry.at >= since] == [entry for entry in theirs if entry.at >= since]
    assert (found.conditions, found.status) == (kept.conditions, kept.status)


def test_the_state_is_explained_the_same_beside_a_daemon_and_without_one(store: Store, tmp_path: Path) -> None:
    life = lived(store)
    told = Library(store, [life.autoscaler]).explanation("web")
    with Archive.open_archive(None, tmp_path) as archive:
        assert Library(archive, None).explanation("web") == told


def test_decisions_about_another_target_have_no_say(store: Store) -> None:
    """Pointed elsewhere, an autoscaler starts fresh: what it remembered of the old target is not what holds it."""
    life = lived(store)
    life.autoscaler = replace(life.autoscaler, target=TargetRef("fleet", "other"))
    life.size = 2
    life.cpu(60)
    told = Library(store, [life.autoscaler]).explanation("web")
    assert told.stabilization is None
    inward = told.policies[1]
    assert (inward.size, inward.next_size) == (1, None)


def test_one_that_is_configured_and_was_never_decided_about_is_known(store: Store) -> None:
    library = Library(store, [scaler(CPU_60)])
    assert library.autoscaler("web", NOW).summary.last_decision is None
    assert library.history("web", NOW, NOW).points == ()
    with pytest.raises(NoDecision, match="had no decision yet"):
        library.explanation("web")


def test_one_that_left_the_configuration_shows_what_it_was(store: Store) -> None:
    life = lived(store)
    found = Library(store, []).autoscaler("web", life.now)
    assert not found.summary.configured
    assert found.spec.maximum == 10


def test_an_unknown_name_is_told(store: Store) -> None:
    library = Library(store, [])
    with pytest.raises(UnknownAutoscaler, match="'nobody'"):
        library.autoscaler("nobody", NOW)
    with pytest.raises(UnknownAutoscaler):
        library.explanation("nobody")


def test_events_come_from_the_newest_in_pages(store: Store) -> None:
    life = lived(store)
    library = Library(store, [life.autoscaler])
    everything = library.events("web", None).events
    assert len(everything) > 2
    assert library.events("web", None, limit=1).events == everything[-1:]
    assert library.events("web", None, offset=1, limit=1).events == everything[-2:-1]
    assert library.events("web", None, offset=1000, limit=5).events == ()


def row(minute: int, size: int) -> SeriesRow:
    return SeriesRow(NOW + timedelta(minutes=minute), size, size, 1, 10, False, ())


def test_a_long_history_is_thinned_and_keeps_every_change_of_size() -> None:
    """A peak of one cycle is what somebody looks for."""
    rows = [row(minute, 9 if minute == 777 else 3) for minute in range(2000)]
    kept = thinned(rows, 50)
    assert len(kept) == 50
    assert (kept[0], kept[-1]) == (rows[0], rows[-1])
    assert [each.current for each in kept].count(9) == 1
    assert list(kept) == sorted(kept, key=lambda each: each.at)


@pytest.mark.parametrize("most", [2, 3, 10, 99, 100, 101])
def test_there_are_never_more_points_than_asked_for(most: int) -> None:
    rows = [row(minute, minute % 7) for minute in range(100)]
    kept = thinned(rows, most)
    assert len(kept) == min(most, 100)
    assert (kept[0], kept[-1]) == (rows[0], rows[-1])


def test_a_decision_is_explained_from_those_before_it_alone(store: Store) -> None:
    """Asked for a time of the past, nothing that came later has a say."""
    life = lived(store)
    library = Library(store, [life.autoscaler])
    first: Decision = store.decisions("web", limit=100)[-1]
    told = library.explanation("web", first.now)
    assert told.at == first.now
    assert told.if_unchanged is None
