"""What the daemon knows that a back end does not."""

from datetime import timedelta

import pytest

from autoscaler.model import Phase, TargetRef, TargetState, later
from autoscaler.observe.readiness import Normaliser, normalise
from tests.observe.build import NOW, ago, instance

LATER = NOW + timedelta(minutes=1)


def test_running_without_health_information_is_ready() -> None:
    """HPA holds an unknown readiness unready for ever: such a target would never scale."""
    assert normalise({}, [instance("a", ready=None)], NOW).instances[0].ready is True


def test_pending_without_health_information_stays_unknown() -> None:
    """What does not run yet cannot be ready."""
    assert normalise({}, [instance("a", ready=None, phase=Phase.PENDING)], NOW).instances[0].ready is None


def test_unknown_times_are_when_it_was_first_seen() -> None:
    """The cpu readiness rule needs a start and a transition."""
    (seen,) = normalise({}, [instance("a")], NOW).instances
    assert (seen.started_at, seen.ready_transition) == (NOW, NOW)


def test_first_seen_is_remembered() -> None:
    """Otherwise every instance would be new in every cycle, and its samples ignored for ever."""
    known = normalise({}, [instance("a")], NOW).sightings
    (seen,) = normalise(known, [instance("a")], LATER).instances
    assert (seen.started_at, seen.ready_transition) == (NOW, NOW)


@pytest.mark.parametrize("turned", [True, False])
def test_a_turn_of_readiness_is_dated_by_the_cycle_that_saw_it(turned: bool) -> None:
    """In both directions: HPA's rules ask when the condition last changed."""
    known = normalise({}, [instance("a", ready=not turned)], NOW).sightings
    (seen,) = normalise(known, [instance("a", ready=turned)], LATER).instances
    assert (seen.started_at, seen.ready_transition) == (NOW, LATER)


def test_what_the_back_end_knows_is_kept() -> None:
    """Its times are better than ours."""
    (seen,) = normalise({}, [instance("a", started_at=ago(90), ready_transition=ago(60))], NOW).instances
    assert (seen.started_at, seen.ready_transition) == (ago(90), ago(60))


def test_what_has_disappeared_is_forgotten() -> None:
    """Memory must not grow with every instance that ever was."""
    known = normalise({}, [instance("a"), instance("b")], NOW).sightings
    assert set(normalise(known, [instance("b")], LATER).sightings) == {"b"}


TARGET = TargetRef("fleet", "web")


def test_a_state_that_stays_the_same_is_not_looked_at_again() -> None:
    """Ten thousand targets' instances would be walked through in every cycle."""
    normaliser, state = Normaliser(), TargetState(1, 1, (instance("a"),))
    _, known = normaliser(TARGET, state, {}, NOW)
    complete, same = normaliser(TARGET, state, known, LATER)
    assert same is known
    assert normaliser(TARGET, state, known, LATER) == (complete, known)
    assert normaliser(TARGET, state, known, LATER)[0] is complete
    assert complete.instances == normalise(known, state.instances, LATER).instances


def test_what_is_known_otherwise_counts_at_once() -> None:
    """As after a clock was set: every age is another one."""
    normaliser, state = Normaliser(), TargetState(1, 1, (instance("a"),))
    _, known = normaliser(TARGET, state, {}, NOW)
    normaliser(TARGET, state, known, NOW)
    moved = {name: later(sighting, timedelta(hours=1)) for name, sighting in known.items()}
    complete, _ = normaliser(TARGET, state, moved, LATER)
    assert complete.instances[0].started_at == NOW + timedelta(hours=1)


def test_what_is_held_of_a_target_that_left_goes() -> None:
    """Memory must not grow with every target that ever was."""
    normaliser, state = Normaliser(), TargetState(1, 1, (instance("a"),))
    _, known = normaliser(TARGET, state, {}, NOW)
    before, _ = normaliser(TARGET, state, known, NOW)
    normaliser.follow(set())
    after, _ = normaliser(TARGET, state, known, NOW)
    assert after is not before
    assert after == before
