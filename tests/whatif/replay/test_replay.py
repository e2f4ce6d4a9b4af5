"""The daemon's own decisions made again, and a candidate led through what the daemon saw."""

from datetime import timedelta

import pytest

from autoscaler.decide import apply_limits, conclude, decide, remember
from autoscaler.errors import MetricError, TargetNotFound, TargetUnavailable
from autoscaler.model import (
    Behavior,
    Brakes,
    Conflict,
    ConnectionLimits,
    Direction,
    Intent,
    MetricType,
    Observation,
    OutsideChangeBrake,
    Pause,
    Proposed,
    RemovalBudget,
    Standing,
    Steering,
    TargetType,
    Written,
    later,
)
from autoscaler.whatif.past.past import FindingKind, Moment
from autoscaler.whatif.replay.replay import Load, Replay, found_at, replay
from tests.decide.build import CPU_60, NOW, QUEUE_15, metric, samples, scaler, state, value
from tests.replaced import replace
from tests.whatif.pasts import Life


def again(moments: list[Moment]) -> Replay:
    own = Replay(None, Load.RECORDED)
    for moment in moments:
        own.step(moment)
    return own


def kinds(own: Replay) -> list[FindingKind]:
    return [each.kind for each in own.findings]


def all_the_same(own: Replay, moments: list[Moment]) -> bool:
    return own.same == own.compared == len(moments)


def test_the_daemons_own_decisions_come_out_again() -> None:
    life = Life()
    for percent in (60, 120, 90, 60, 20, 20, 20):
        life.cpu(percent)
    own = again(life.moments)
    assert all_the_same(own, life.moments)
    assert own.findings == []


@pytest.mark.parametrize(
    "outcome", [TargetUnavailable("no answer"), TargetNotFound("gone"), Conflict("somebody else"), Proposed(4)]
)
def test_writes_end_as_they_were_recorded(outcome: TargetUnavailable | TargetNotFound | Conflict | Proposed) -> None:
    life = Life()
    for percent in (60, 120, 120, 60):
        life.cpu(percent, outcome)
    assert all_the_same(again(life.moments), life.moments)


def test_an_outage_is_decided_again_as_an_outage() -> None:
    life = Life()
    life.cpu(60)
    life.fail()
    life.unreadable(TargetUnavailable("throttled"))
    life.cpu(60)
    assert all_the_same(again(life.moments), life.moments)


def test_a_decision_that_is_not_what_was_recorded_is_found() -> None:
    """Or else the comparison would hold for anything."""
    life = Life()
    life.cpu(60)
    made = life.cpu(120)
    life.moments[-1] = replace(life.moments[-1], decision=replace(made, desired=9))
    own = again(life.moments)
    assert (own.same, own.compared) == (1, 2)
    assert kinds(own) == [FindingKind.DIFFERENCE]
    assert "desired" in own.findings[0].message


def test_one_decision_that_is_another_one_now_does_not_make_those_after_it_different() -> None:
    """As after an upgrade: the record goes on from what was decided then."""
    life = Life()
    for percent in (60, 120, 60, 60):
        life.cpu(percent)
    second = life.moments[1]
    assert second.decision is not None
    assert second.history is not None
    other = replace(second.decision, recommendations=())
    life.moments[1] = replace(second, decision=other)
    life.moments[2] = replace(life.moments[2], history=remember(life.scaler, second.history, other))
    own = again(life.moments[:3])
    assert (own.same, own.compared) == (2, 3)
    assert kinds(own) == [FindingKind.DIFFERENCE]


def test_the_same_difference_cycle_after_cycle_is_one_finding() -> None:
    """A day of them would bury the rest."""
    life = Life()
    for percent in (60, 60, 60, 60):
        life.cpu(percent)
    for place in (0, 1, 3):
        moment = life.moments[place]
        life.moments[place] = replace(moment, decision=replace(moment.decision, maximum=11))
    own = again(life.moments)
    at = [moment.at for moment in life.moments]
    assert [(each.begin, each.end) for each in own.findings] == [(at[0], at[1]), (at[3], at[3])]
    assert (own.same, own.compared) == (1, 4)


def test_a_pause_is_found_and_holds_again() -> None:
    life = Life()
    life.cpu(60)
    life.steer(Steering(Pause(Direction.BOTH, "ann", "", NOW, None)))
    made = life.cpu(120)
    assert made.change is None
    own = again(life.moments)
    assert kinds(own) == [FindingKind.STEERING]
    assert all_the_same(own, life.moments)


def test_a_reload_is_found_with_what_it_changed() -> None:
    life = Life()
    life.cpu(120)
    life.scaler = replace(life.scaler, max_replicas=3)
    life.cpu(120)
    own = again(life.moments)
    assert kinds(own) == [FindingKind.RELOAD]
    assert "max_replicas" in own.findings[0].message
    assert all_the_same(own, life.moments)


def test_a_clock_that_was_set_is_found_and_everything_keeps_its_age() -> None:
    life = Life()
    life.cpu(120)
    life.now += timedelta(hours=2)
    life.history = later(life.history, timedelta(hours=2))
    life.cpu(120)
    own = again(life.moments)
    assert FindingKind.CLOCK in kinds(own)
    assert FindingKind.MEMORY not in kinds(own)
    assert all_the_same(own, life.moments)


def test_a_write_without_a_recorded_outcome_is_found() -> None:
    life = Life()
    life.cpu(60)
    life.history = replace(life.history, unfinished=Intent(4, 2, life.now))
    life.cpu(60)
    own = again(life.moments)
    assert kinds(own) == [FindingKind.RESTART]
    assert all_the_same(own, life.moments)


def test_a_memory_that_does_not_follow_is_found() -> None:
    life = Life()
    life.cpu(60)
    life.history = replace(life.history, recommendations=())
    life.cpu(60)
    own = again(life.moments)
    assert kinds(own) == [FindingKind.MEMORY]
    assert "recommendations" in own.findings[0].message


def test_what_is_no_longer_known_of_the_memory_follows_from_the_cycle_before() -> None:
    life = Life()
    for percent in (60, 120, 30):
        life.cpu(percent)
    life.moments[1] = replace(life.moments[1], history=None)
    assert all_the_same(again(life.moments), life.moments)


def test_a_decision_that_the_connections_limits_cut_comes_out_again() -> None:
    """What the others had used is not recorded; that it was cut, and to what, is."""
    life = Life(size=8)
    life.cpu(60)
    life.now += timedelta(minutes=10)
    seen = life.seen(10)
    cut = decide(life.scaler, seen, life.history, life.now)
    standing = Standing("fleet", ConnectionLimits(RemovalBudget(2, timedelta(minutes=5))))
    (cut,) = apply_limits([cut], {"web": life.history}, standing, life.now).decisions
    assert cut.change is not None
    assert cut.change.size == 6
    cut = conclude(cut, Written(6))
    life.moments.append(Moment(life.now, seen, cut, life.history, life.scaler))
    own = again(life.moments)
    assert all_the_same(own, life.moments)
    assert kinds(own) == [FindingKind.LIMITS]


def test_a_candidate_decides_by_what_was_seen() -> None:
    life = Life()
    for percent in (60, 120, 120):
        life.cpu(percent)
    candidate = replace(life.scaler, max_replicas=3)
    found = list(replay(life.moments, candidate, Load.RECORDED))
    assert [each.decision.desired for each in found] == [2, 3, 3]
    assert [each.decision.current for each in found] == [2, 2, 4]
    assert {each.scaler.max_replicas for each in found} == {3}


def test_the_same_configuration_decides_the_same_by_what_was_seen() -> None:
    life = Life()
    for percent in (60, 120, 90, 60, 20, 20, 20):
        life.cpu(percent)
    found = list(replay(life.moments, life.scaler, Load.RECORDED))
    assert [each.decision for each in found] == [moment.decision for moment in life.moments]


def test_a_candidates_rates_count_what_was_written_then() -> None:
    """The daemon grew by 4; a candidate that may add 4 in a minute may add no more in that minute."""
    one_step = replace(
        Behavior().scale_up, policies=(replace(Behavior().scale_up.policies[0], value=4, period=timedelta(minutes=1)),)
    )
    life = Life(size=4, scaler=scaler(CPU_60, maximum=40))
    life.cpu(60)
    life.cpu(120)
    life.cpu(120)
    candidate = replace(life.scaler, behavior=Behavior(scale_up=one_step))
    found = list(replay(life.moments, candidate, Load.RECORDED))
    assert [each.decision.current for each in found] == [4, 4, 8]
    assert [each.decision.desired for each in found] == [4, 8, 8]


def test_the_daemons_own_writes_are_no_outside_changes_to_a_candidate() -> None:
    life = Life(scaler=scaler(CPU_60, maximum=10))
    life.cpu(60)
    life.cpu(120)
    life.cpu(60)
    braked = replace(life.scaler, max_replicas=3, brakes=Brakes(outside_change=OutsideChangeBrake()))
    found = list(replay(life.moments, braked, Load.RECORDED))
    assert [each.decision.brakes for each in found] == [(), (), ()]


def test_a_metric_that_was_not_asked_for_then_has_failed_and_is_found() -> None:
    life = Life()
    life.cpu(60)
    life.cpu(60)
    other = metric(MetricType.PODS, TargetType.AVERAGE_VALUE, 100)
    own = Replay(replace(life.scaler, metrics=(CPU_60, other)), Load.RECORDED)
    found = [own.step(moment) for moment in life.moments]
    assert [[each.failed for each in one.decision.metrics] for one in found if one] == [[False, True]] * 2
    assert kinds(own) == [FindingKind.UNKNOWN]


def test_a_candidate_may_name_set_and_order_its_metrics_otherwise() -> None:
    both = scaler(CPU_60, QUEUE_15, maximum=10)
    life = Life(scaler=both)
    life.see(Observation(state(2), (samples([600, 600]), value(90_000))))
    higher = replace(QUEUE_15, name="backlog", target=replace(QUEUE_15.target, value=30_000))
    (found,) = replay(life.moments, replace(both, metrics=(higher, CPU_60)), Load.RECORDED)
    assert [each.name for each in found.decision.metrics] == ["backlog", "cpu"]
    assert [each.proposal for each in found.decision.metrics] == [3, 2]


def test_a_candidate_with_a_longer_sync_period_has_fewer_cycles() -> None:
    life = Life()
    for _ in range(9):
        life.cpu(60)
    slower = replace(life.scaler, sync_period=timedelta(seconds=60))
    found = list(replay(life.moments, slower, Load.RECORDED))
    assert [each.decision.now - NOW for each in found] == [timedelta(seconds=each) for each in (0, 60, 120)]


def test_a_candidate_keeps_its_ages_when_the_clock_is_set() -> None:
    """A window of five minutes does not end because the clock was set forward by an hour."""
    life = Life(size=6)
    life.cpu(60)
    life.now += timedelta(hours=1)
    life.history = later(life.history, timedelta(hours=1))
    life.cpu(10)
    found = list(replay(life.moments, replace(life.scaler, max_replicas=20), Load.RECORDED))
    assert [each.decision.desired for each in found] == [6, 6]


def test_a_cycle_is_found_again_by_its_time() -> None:
    life = Life()
    for percent in (60, 120, 60):
        life.cpu(percent)
    found = found_at(replay(life.moments, life.scaler, Load.RECORDED), life.moments[1].at)
    assert found is not None
    assert found.decision.desired == 4
    assert found_at(replay(life.moments, life.scaler, Load.RECORDED), NOW - timedelta(seconds=1)) is None


def test_a_past_without_decisions_is_decided_by_the_candidate_alone() -> None:
    """As it is read from a Prometheus."""
    life = Life()
    for percent in (60, 120, 60):
        life.cpu(percent)
    bare = [Moment(moment.at, moment.observation) for moment in life.moments]
    found = list(replay(bare, life.scaler, Load.RECORDED))
    assert [each.decision.desired for each in found] == [2, 4, 4]
    assert again(bare).compared == 0


def test_the_daemons_own_decisions_are_of_the_recorded_load_alone() -> None:
    with pytest.raises(ValueError, match="recorded load"):
        Replay(None, Load.CONSERVED)


def test_a_failed_reading_is_not_zero_to_a_candidate() -> None:
    life = Life(size=6)
    life.cpu(60)
    life.see(Observation(state(6), (MetricError("no answer"),)))
    found = list(replay(life.moments, replace(life.scaler, max_replicas=20), Load.RECORDED))
    assert found[-1].decision.desired is None
