"""A candidate at the recorded sizes."""

from collections.abc import Sequence
from datetime import timedelta

from autoscaler.model import (
    Autoscaler,
    Behavior,
    Brakes,
    Deployment,
    Failure,
    MetricType,
    Observation,
    OutsideChangeBrake,
    TargetType,
    Written,
    later,
)
from autoscaler.whatif.past.past import Cycle, FindingKind, Replayed
from autoscaler.whatif.replay.replay import Candidate, Load, Replay, replay
from tests.decide.build import CPU_60, NOW, QUEUE_15, metric, samples, scaler, state, value
from tests.replaced import replace
from tests.whatif.pasts import Life


def tried(life: Life, autoscaler: Autoscaler, cycles: Sequence[Cycle] | None = None) -> list[Replayed]:
    return list(replay(cycles or life.cycles, Candidate("new", autoscaler, Load.RECORDED)))


def desired(found: list[Replayed]) -> list[int | None]:
    return [each.decision.desired for each in found]


def test_a_candidate_decides_from_what_was_observed() -> None:
    life = Life()
    life.cpu(60, 120, 120)
    found = tried(life, replace(life.scaler, max_replicas=3))
    assert desired(found) == [2, 3, 3]
    assert [each.decision.current for each in found] == [2, 2, 4]
    assert {each.scaler.max_replicas for each in found} == {3}


def test_the_same_configuration_decides_the_same() -> None:
    life = Life()
    life.cpu(60, 120, 90, 60, 20, 20, 20)
    assert [each.decision for each in tried(life, life.scaler)] == [cycle.decision for cycle in life.cycles]


def test_policies_of_a_candidate_count_recorded_writes() -> None:
    """The daemon grew by 4, so a candidate that may add 4 a minute adds nothing in that minute."""
    policy = replace(Behavior().scale_up.policies[0], value=4, period=timedelta(minutes=1))
    life = Life(size=4, scaler=scaler(CPU_60, maximum=40))
    life.cpu(60, 120, 120)
    rules = replace(Behavior().scale_up, policies=(policy,))
    found = tried(life, replace(life.scaler, behavior=Behavior(scale_up=rules)))
    assert [each.decision.current for each in found] == [4, 4, 8]
    assert desired(found) == [4, 8, 8]


def test_writes_of_the_daemon_are_no_outside_changes_for_a_candidate() -> None:
    life = Life(scaler=scaler(CPU_60, maximum=10))
    life.cpu(60, 120, 60)
    braked = replace(life.scaler, max_replicas=3, brakes=Brakes(outside_change=OutsideChangeBrake()))
    assert [each.decision.brakes for each in tried(life, braked)] == [(), (), ()]


def test_writes_of_the_daemon_end_no_return_of_a_candidate() -> None:
    """A connection's limit left the daemon only a part of the size that a deployment had reset."""
    life = Life(size=8, scaler=scaler(CPU_60, maximum=10))
    life.cpu(60)
    life.size = 1
    reset = replace(life.seen(60), target=replace(state(1), deployment=Deployment("7", 8, "preserve the count")))
    life.see(reset, outcome=Written(3))
    life.cpu(60)
    *_, last = tried(life, replace(life.scaler, max_replicas=6))
    assert (last.decision.current, last.decision.events) == (3, ())


def test_a_metric_that_was_not_queried_fails_and_is_found() -> None:
    life = Life()
    life.cpu(60, 60)
    other = metric(MetricType.PODS, TargetType.AVERAGE_VALUE, 100)
    made = Replay(Candidate("new", replace(life.scaler, metrics=(CPU_60, other)), Load.RECORDED))
    found = [made.step(cycle) for cycle in life.cycles]
    assert [[each.failed for each in one.decision.metrics] for one in found if one] == [[False, True]] * 2
    assert [each.kind for each in made.findings] == [FindingKind.UNKNOWN]


def test_a_candidate_may_have_other_names_targets_and_order_of_metrics() -> None:
    both = scaler(CPU_60, QUEUE_15, maximum=10)
    life = Life(scaler=both)
    life.see(Observation(state(2), (samples([600, 600]), value(90_000))))
    higher = replace(QUEUE_15, name="backlog", target=replace(QUEUE_15.target, value=30_000))
    (found,) = tried(life, replace(both, metrics=(higher, CPU_60)))
    assert [(each.name, each.proposal) for each in found.decision.metrics] == [("backlog", 3), ("cpu", 2)]


def test_a_candidate_with_a_longer_sync_period_has_fewer_cycles() -> None:
    life = Life()
    life.cpu(*[60] * 9)
    found = tried(life, replace(life.scaler, sync_period=timedelta(seconds=60)))
    assert [each.decision.now - NOW for each in found] == [timedelta(seconds=each) for each in (0, 60, 120)]


def test_ages_of_a_candidate_stay_when_the_clock_is_set() -> None:
    """A window of five minutes does not end because the clock was set forward by an hour."""
    life = Life(size=6)
    life.cpu(60)
    life.now += timedelta(hours=1)
    life.history = later(life.history, timedelta(hours=1))
    life.cpu(10)
    assert desired(tried(life, replace(life.scaler, max_replicas=20))) == [6, 6]


def test_a_past_without_decisions_is_replayed() -> None:
    """A past from Prometheus has none."""
    life = Life()
    life.cpu(60, 120, 60)
    bare = [Cycle(cycle.at, cycle.observation, cycle.scaler) for cycle in life.cycles]
    assert desired(tried(life, life.scaler, bare)) == [2, 4, 4]


def test_a_failed_reading_is_not_zero_for_a_candidate() -> None:
    life = Life(size=6)
    life.cpu(60)
    life.see(Observation(state(6), (Failure("no answer"),)))
    assert desired(tried(life, replace(life.scaler, max_replicas=20)))[-1] is None
