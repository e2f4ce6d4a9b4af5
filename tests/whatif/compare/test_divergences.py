"""When and why two configurations differ over one past."""

from datetime import timedelta

from autoscaler.model import Autoscaler, Behavior, PolicyType, Reason, ScalingPolicy, ScalingRules, SelectPolicy
from autoscaler.whatif.compare.divergences import Divergence, Divergences, Sizes
from autoscaler.whatif.past.past import Cycle
from autoscaler.whatif.replay.replay import Candidate, Load, Replay
from tests.decide.build import CPU_60, NOW, scaler
from tests.replaced import replace
from tests.whatif.pasts import Life

WEB = scaler(CPU_60, maximum=10, behavior=Behavior())
WITHOUT_WINDOW = replace(
    WEB, behavior=Behavior(scale_down=replace(Behavior().scale_down, stabilization_window=timedelta(0)))
)
ONE_AT_A_TIME = replace(
    WEB,
    behavior=Behavior(
        scale_up=ScalingRules(
            timedelta(0), SelectPolicy.MAX, (ScalingPolicy(PolicyType.PODS, 1, timedelta(seconds=15)),)
        )
    ),
)


def past(*percents: int, size: int = 2) -> list[Cycle]:
    """Cycles of a fixed size, in which each instance uses this much."""
    life = Life(replace(WEB, min_replicas=size, max_replicas=size), size)
    life.cpu(*percents)
    return life.cycles


def at(cycle: int) -> timedelta:
    return cycle * WEB.sync_period


def diverged(cycles: list[Cycle], one: Autoscaler, other: Autoscaler) -> list[Divergence]:
    first, second = (Replay(Candidate("new", each, Load.RECORDED)) for each in (one, other))
    divergences = Divergences()
    for cycle in cycles:
        divergences.add(first.step(cycle), second.step(cycle))
    return list(divergences.found())


def test_the_same_configuration_never_differs() -> None:
    assert diverged(past(60, 120, 20, 60), WEB, WEB) == []


def test_a_divergence_has_its_times_and_the_sizes_of_both() -> None:
    """The first and the last cycle with different decisions."""
    (found,) = diverged(past(60, 120, 180, 120, 60), WEB, ONE_AT_A_TIME)
    assert (found.begin, found.end) == (NOW + at(1), NOW + at(3))
    assert found.first == Sizes(4, 3)
    assert found.furthest == Sizes(6, 3)


def test_the_cause_is_the_first_step_that_differs() -> None:
    """Both metrics ask for the same: the policy makes the difference."""
    (found,) = diverged(past(60, 120, 60), WEB, ONE_AT_A_TIME)
    assert found.causes is not None
    mine, theirs = found.causes
    assert mine is not None
    assert theirs is not None
    assert (theirs.reason, theirs.before, theirs.after) == (Reason.SCALE_UP_LIMIT, 4, 3)
    assert (mine.before, mine.after) == (4, 4)


def test_another_target_differs_at_the_metric() -> None:
    """At the first step of all."""
    other = replace(WEB, metrics=(replace(CPU_60, target=replace(CPU_60.target, value=40)),))
    found = diverged(past(60, 60), WEB, other)[0]
    assert found.causes is not None
    _, theirs = found.causes
    assert theirs is not None
    assert (theirs.reason, theirs.after) == (Reason.VALID_METRIC_FOUND, 3)


def test_a_window_of_one_of_them_is_the_cause() -> None:
    (found,) = diverged(past(60, 60, 30, 60, size=4), WEB, WITHOUT_WINDOW)
    assert found.causes is not None
    mine, _ = found.causes
    assert mine is not None
    assert mine.reason == Reason.SCALE_DOWN_STABILIZED
    assert found.first == Sizes(4, 2)


def test_each_time_with_different_sizes_is_a_divergence() -> None:
    """Also one that has not ended."""
    found = diverged(past(60, 120, 60, 60, 120), WEB, ONE_AT_A_TIME)
    assert [(each.begin, each.end) for each in found] == [(NOW + at(1), NOW + at(1)), (NOW + at(4), NOW + at(4))]


def test_a_candidate_with_a_longer_sync_period_keeps_its_size_between_cycles() -> None:
    """It decides every other recorded cycle."""
    rare = replace(WEB, sync_period=timedelta(seconds=30))
    (found,) = diverged(past(60, 60, 60, 120, 120, 120), WEB, rare)
    assert (found.begin, found.end, found.first) == (NOW + at(3), NOW + at(3), Sizes(4, 2))
    assert found.causes != (None, None)
