"""What the daemon adds to a back end's data."""

from datetime import timedelta

import pytest

from autoscaler.model import Phase, Sightings, TargetRef, TargetState, later
from autoscaler.observe.readiness import Normaliser, normalise
from tests.observe.build import NOW, ago, instance

LATER = NOW + timedelta(minutes=1)


def test_running_without_health_information_is_ready() -> None:
    """HPA treats an unknown readiness as unready forever, so such a target would never scale."""
    assert normalise({}, [instance("a", ready=None)], NOW).instances[0].ready is True


def test_pending_without_health_information_stays_unknown() -> None:
    """A pending instance cannot be ready."""
    assert normalise({}, [instance("a", ready=None, phase=Phase.PENDING)], NOW).instances[0].ready is None


def test_unknown_times_are_the_first_sighting() -> None:
    """The cpu readiness rule needs a start and a transition."""
    (seen,) = normalise({}, [instance("a")], NOW).instances
    assert (seen.started_at, seen.ready_transition) == (NOW, NOW)


def test_first_seen_is_remembered() -> None:
    """Otherwise every instance would be new in every cycle, and its samples ignored."""
    known = normalise({}, [instance("a")], NOW).sightings
    (seen,) = normalise(known, [instance("a")], LATER).instances
    assert (seen.started_at, seen.ready_transition) == (NOW, NOW)


@pytest.mark.parametrize("turned", [True, False])
def test_a_change_of_readiness_has_the_time_of_its_cycle(turned: bool) -> None:
    """In both directions: HPA's rules use the time of the last change."""
    known = normalise({}, [instance("a", ready=not turned)], NOW).sightings
    (seen,) = normalise(known, [instance("a", ready=turned)], LATER).instances
    assert (seen.started_at, seen.ready_transition) == (NOW, LATER)


def test_the_back_ends_times_are_kept() -> None:
    """The back end's times are more exact."""
    (seen,) = normalise({}, [instance("a", started_at=ago(90), ready_transition=ago(60))], NOW).instances
    assert (seen.started_at, seen.ready_transition) == (ago(90), ago(60))


def test_the_first_readiness_outlasts_a_moment_without() -> None:
    """A warm-up happens once: a health check that flaps must not begin another."""
    known = normalise({}, [instance("a", ready=False)], NOW).sightings
    for seconds, ready in ((60, True), (75, False), (90, True)):
        found = normalise(known, [instance("a", ready=ready)], NOW + timedelta(seconds=seconds))
        known = found.sightings
    (seen,) = found.instances
    assert (seen.ready_transition, seen.first_ready) == (NOW + timedelta(seconds=90), LATER)


@pytest.mark.parametrize("known", [None, {}])
def test_a_back_end_whose_clock_is_ahead_delays_no_warm_up(known: Sightings | None) -> None:
    """An instance was ready at the latest when the daemon first saw that it was."""
    ahead = instance("a", started_at=ago(5), ready_transition=NOW + timedelta(hours=1))
    seen = normalise(known, [ahead], NOW)
    for found in (seen, normalise(seen.sightings, [ahead], LATER)):
        assert found.instances[0].first_ready == NOW


def test_instances_of_a_new_target_were_ready_before() -> None:
    """A new daemon must not find that all instances of a group that has run for a week warm up."""
    old, new = instance("a", started_at=ago(600_000)), instance("b", started_at=ago(5))
    assert [each.first_ready for each in normalise(None, [old, new], NOW).instances] == [ago(600_000), ago(5)]
    known = normalise(None, [old], NOW).sightings
    (_, seen) = normalise(known, [old, new], LATER).instances
    assert (seen.ready_transition, seen.first_ready) == (LATER, None)


def test_a_removed_instance_is_forgotten() -> None:
    """Memory must not grow with every past instance."""
    known = normalise({}, [instance("a"), instance("b")], NOW).sightings
    assert set(normalise(known, [instance("b")], LATER).sightings) == {"b"}


TARGET = TargetRef("fleet", "web")


def test_an_unchanged_state_is_not_processed_again() -> None:
    """Otherwise each cycle would scan the instances of ten thousand targets."""
    normaliser, state = Normaliser(), TargetState(1, 1, (instance("a"),))
    _, known = normaliser(TARGET, state, {}, NOW)
    complete, same = normaliser(TARGET, state, known, LATER)
    assert same is known
    assert normaliser(TARGET, state, known, LATER) == (complete, known)
    assert normaliser(TARGET, state, known, LATER)[0] is complete
    assert complete.instances == normalise(known, state.instances, LATER).instances


def test_changed_sightings_take_effect_at_once() -> None:
    """A clock change, for example, changes every age."""
    normaliser, state = Normaliser(), TargetState(1, 1, (instance("a"),))
    _, known = normaliser(TARGET, state, {}, NOW)
    normaliser(TARGET, state, known, NOW)
    moved = {name: later(sighting, timedelta(hours=1)) for name, sighting in known.items()}
    complete, _ = normaliser(TARGET, state, moved, LATER)
    assert complete.instances[0].started_at == NOW + timedelta(hours=1)


def test_a_removed_target_is_forgotten() -> None:
    """Memory must not grow with every past target."""
    normaliser, state = Normaliser(), TargetState(1, 1, (instance("a"),))
    _, known = normaliser(TARGET, state, {}, NOW)
    before, _ = normaliser(TARGET, state, known, NOW)
    normaliser.follow(set())
    after, _ = normaliser(TARGET, state, known, NOW)
    assert after is not before
    assert after == before
