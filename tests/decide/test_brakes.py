"""Brakes: each prevents a change while something is wrong around the target, and nothing else."""

import pytest

from autoscaler.decide.brakes import FEWEST
from autoscaler.errors import TargetUnavailable
from autoscaler.model import (
    Brake,
    Brakes,
    ConditionType,
    Direction,
    EventType,
    Hold,
    HoldReason,
    LossBrake,
    Pause,
    Reason,
    Steering,
    UnfulfilledBrake,
)
from tests.decide.braking import ALL, LOSS, OUTSIDE, UNFULFILLED, Braked, active, braked, holding
from tests.decide.build import NOW
from tests.decide.outage import condition, event_reasons
from tests.replaced import replace

ABLE = ConditionType.ABLE_TO_SCALE


def stalled(asked: int = 20, there: int = 10, brakes: Brakes = UNFULFILLED, weight: int = 1) -> Braked:
    """After 11 minutes in which no more than `there` units arrived."""
    life = Braked(braked(brakes), asked)
    for _ in range(11):
        made = life.cycle(asked, there // weight, weight=weight)
        assert active(made) == []
    return life


def test_without_brakes_nothing_is_remembered() -> None:
    made = Braked(braked(Brakes()), 10).cycle(10)
    assert (made.brakes, made.brake_memory) == ((), None)


# unfulfilled


def test_it_grows_no_further_while_what_was_asked_for_does_not_arrive() -> None:
    """A region without capacity: each larger size only makes the bill of a later minute larger."""
    life = stalled()
    made = life.cycle(30, 10)
    assert (made.change, made.desired, active(made)) == (None, 30, [Brake.UNFULFILLED])
    able = condition(made, ABLE)
    assert (able.status, able.reason) == (False, Reason.UNFULFILLED)
    assert "10 of 20 that were asked for have not arrived" in able.message
    assert event_reasons(made) == [Reason.UNFULFILLED]
    assert event_reasons(life.cycle(30, 10)) == []


def test_scale_in_goes_on_while_much_is_missing() -> None:
    life = stalled()
    assert life.cycle(8, 10).written == 8


def test_what_is_missing_holds_nothing_before_the_deadline() -> None:
    life = Braked(braked(UNFULFILLED), 20)
    for size in (22, 24, 26, 28):
        assert life.cycle(size, 10).written == size


def test_arrivals_are_progress_and_the_deadline_begins_anew() -> None:
    life = stalled()
    assert active(life.cycle(30, 10)) == [Brake.UNFULFILLED]
    made = life.cycle(30, 11)
    assert (made.written, event_reasons(made)[0]) == (30, Reason.BRAKE_ENDED)
    for _ in range(10):
        assert life.cycle(31, 11).brakes == ()
    assert active(life.cycle(31, 11)) == [Brake.UNFULFILLED]


def test_growing_further_does_not_count_as_progress() -> None:
    """Else a load that rises all the time would never meet the brake."""
    life = Braked(braked(UNFULFILLED), 20)
    for extra in range(11):
        life.cycle(20 + extra, 10)
    assert active(life.cycle(40, 10)) == [Brake.UNFULFILLED]


def test_an_instance_that_ends_and_starts_again_is_no_progress() -> None:
    life = Braked(braked(UNFULFILLED), 20)
    for cycle in range(11):
        life.cycle(20, 10 - cycle % 2)
    assert active(life.cycle(20, 10)) == [Brake.UNFULFILLED]


def test_it_ends_once_the_share_has_arrived() -> None:
    life = stalled()
    assert active(life.cycle(20, 10)) == [Brake.UNFULFILLED]
    made = life.cycle(20, 14)  # 6 of 20 are missing, that is 30 %
    assert (made.brakes, event_reasons(made)) == ((), [Reason.BRAKE_ENDED])
    assert made.events[0].type is EventType.NORMAL


@pytest.mark.parametrize(("asked", "there", "brakes"), [(20, 14, 0), (20, 13, 1), (4, 2, 0), (4, 1, 1), (2, 0, 0)])
def test_a_few_that_are_missing_are_no_outage(asked: int, there: int, brakes: int) -> None:
    """More than the share, and at least three: half of four instances is a slow start."""
    life = Braked(braked(UNFULFILLED), asked)
    for _ in range(12):
        made = life.cycle(asked, there)
    assert len(made.brakes) == brakes


def test_what_is_pending_has_arrived() -> None:
    """An instance in Pending:Wait is being set up by a lifecycle hook: the capacity was there."""
    life = Braked(braked(UNFULFILLED), 20)
    for _ in range(15):
        made = life.cycle(20, 10, pending=10)
    assert made.brakes == ()


def test_one_heavy_instance_that_is_missing_is_no_outage() -> None:
    """Its eight units are one instance of a weighted group."""
    life = Braked(braked(UNFULFILLED), 16)
    for _ in range(12):
        made = life.cycle(16, 1, weight=8)
    assert made.brakes == ()
    assert active(stalled(48, 16, weight=8).cycle(48, 2, weight=8)) == [Brake.UNFULFILLED]


def test_a_deadline_that_is_made_longer_lets_go_at_once() -> None:
    """What is remembered are times; what follows from them is for the configuration in force to say."""
    life = stalled()
    assert active(life.cycle(20, 10)) == [Brake.UNFULFILLED]
    longer = UnfulfilledBrake(30, 10 * UnfulfilledBrake().progress_deadline)
    life.autoscaler = replace(life.autoscaler, brakes=Brakes(longer))
    assert active(life.cycle(20, 10)) == []


# loss


def test_after_a_loss_nothing_is_scaled_in_for_a_while() -> None:
    """The survivors have not met the load of the lost yet, or turn it away: it shows on nobody."""
    life = Braked(braked(LOSS), 10)
    life.cycle(10)
    made = life.cycle(4, 7)
    assert (made.change, made.desired, active(made)) == (None, 4, [Brake.LOSS])
    able = condition(made, ABLE)
    assert (able.status, able.reason) == (False, Reason.INSTANCES_LOST)
    assert "3 of 10 that ran were gone" in able.message
    assert event_reasons(made) == [Reason.INSTANCES_LOST]
    for _ in range(4):
        assert (life.cycle(4, 7).change, event_reasons(life.cycle(4, 7, after=0))) == (None, [])
    made = life.cycle(4, 7)
    assert (made.written, event_reasons(made)[0]) == (4, Reason.BRAKE_ENDED)


def test_scale_out_goes_on_after_a_loss() -> None:
    life = Braked(braked(LOSS), 10)
    life.cycle(10)
    made = life.cycle(14, 5)
    assert (made.written, active(made)) == (14, [Brake.LOSS])


def test_another_loss_is_an_event_and_begins_the_time_anew() -> None:
    life = Braked(braked(LOSS), 20)
    life.cycle(20)
    life.cycle(20, 13)
    assert event_reasons(life.cycle(20, 8, after=240)) == [Reason.INSTANCES_LOST]
    assert active(life.cycle(20, 8, after=240)) == [Brake.LOSS]


@pytest.mark.parametrize(("before", "left", "brakes"), [(10, 8, 0), (10, 7, 1), (4, 2, 0), (3, 0, 1), (100, 71, 0)])
def test_a_few_that_are_gone_are_no_loss(before: int, left: int, brakes: int) -> None:
    life = Braked(braked(LOSS), before)
    life.cycle(before)
    assert len(life.cycle(before, left).brakes) == brakes


def test_what_our_own_scale_in_takes_is_not_lost() -> None:
    """However many cycles the back end takes over it."""
    life = Braked(braked(LOSS), 20)
    life.cycle(20)
    assert life.cycle(10).written == 10
    for running in (20, 15, 10):
        assert life.cycle(10, running).brakes == ()


def test_what_still_leaves_while_the_size_grows_again_is_not_lost() -> None:
    life = Braked(braked(LOSS), 20)
    life.cycle(20)
    assert life.cycle(10).written == 10
    assert life.cycle(16, 20).written == 16
    assert life.cycle(16, 10).brakes == ()


def test_what_somebody_elses_smaller_size_takes_is_not_lost() -> None:
    life = Braked(braked(LOSS), 20)
    life.cycle(20)
    life.size = 10
    assert life.cycle(10, 10).brakes == ()


def test_what_goes_beyond_a_smaller_size_is_lost() -> None:
    life = Braked(braked(LOSS), 20)
    life.cycle(20)
    life.size = 16
    made = life.cycle(16, 8)
    assert made.brake_memory is not None
    assert made.brake_memory.loss is not None
    assert (made.brake_memory.loss.lost, made.brake_memory.loss.of) == (8, 16)


def test_instances_that_are_replaced_and_do_not_run_yet_are_lost() -> None:
    """Swarm and Nomad replace what a dead node had at once, with tasks that serve nobody yet."""
    life = Braked(braked(LOSS), 10)
    life.cycle(10)
    assert active(life.cycle(10, 6, pending=4)) == [Brake.LOSS]


def test_what_the_target_replaces_itself_is_not_lost() -> None:
    """A deployment stops a third of the old version at once, and the target says so."""
    life = Braked(braked(LOSS), 10)
    life.cycle(10)
    rollout = HoldReason("RolloutInProgress", "a rollout is under way")
    assert life.cycle(10, 5, pending=5, hold=Hold(rollout, rollout)).brakes == ()
    assert life.cycle(10, 10).brakes == ()


def test_a_heavy_instance_that_is_gone_is_one_instance() -> None:
    life = Braked(braked(LOSS), 32)
    life.cycle(32, weight=8)
    assert life.cycle(32, 3, weight=8).brakes == ()
    assert active(life.cycle(32, 0, weight=8)) == [Brake.LOSS]


def test_two_heavy_instances_that_were_all_there_was_are_no_loss() -> None:
    """What is left of them cannot tell their weight."""
    life = Braked(braked(LOSS), 16)
    life.cycle(16, weight=8)
    assert life.cycle(16, 0).brakes == ()


def test_a_cycle_that_cannot_read_the_target_hides_no_loss() -> None:
    """A failing zone often takes a part of the back end's own answers with it."""
    life = Braked(braked(LOSS), 10)
    life.cycle(10)
    life.cycle(10, unreadable=TargetUnavailable("timeout"))
    assert active(life.cycle(10, 5)) == [Brake.LOSS]


# how they come together


def test_the_first_hold_gives_the_reason_and_the_others_are_listed() -> None:
    """Operator, target, brakes, in this order."""
    life = Braked(braked(ALL), 20)
    life.cycle(20)
    life.size = 18
    life.history = replace(life.history, steering=Steering(Pause(Direction.BOTH, "ann", "load test", NOW, None)))
    hold = Hold(scale_in=HoldReason("InstanceRefresh", "an instance refresh is under way"))
    made = life.cycle(2, 18)
    assert holding(made) == [Reason.PAUSED, Reason.OUTSIDE_CHANGE]
    made = life.cycle(2, 9)
    assert holding(made) == [Reason.PAUSED, Reason.INSTANCES_LOST, Reason.OUTSIDE_CHANGE]
    made = life.cycle(2, 9, hold=hold)
    assert holding(made) == [Reason.PAUSED, "InstanceRefresh", Reason.INSTANCES_LOST, Reason.OUTSIDE_CHANGE]
    able = condition(made, ABLE)
    assert able.reason == Reason.PAUSED
    parts = able.message.split("; also: ")
    assert parts == [step.detail for step in made.trace if step.reason in holding(made)]


def test_the_targets_hold_goes_before_the_brakes() -> None:
    life = Braked(braked(LOSS), 10)
    life.cycle(10)
    life.cycle(10, 5)
    made = life.cycle(2, 5, hold=Hold(scale_in=HoldReason("ScalingSuspended", "Terminate is suspended")))
    assert condition(made, ABLE).reason == "ScalingSuspended"
    assert holding(made) == ["ScalingSuspended", Reason.INSTANCES_LOST]


@pytest.mark.parametrize(("minimum", "maximum", "goes_to"), [(25, 100, 25), (1, 15, 15)])
def test_a_size_outside_the_bounds_goes_back_whatever_brakes(minimum: int, maximum: int, goes_to: int) -> None:
    """Brakes are for what metrics ask; bounds are what people ask."""
    life = stalled(brakes=ALL)
    assert active(life.cycle(20, 2)) == [Brake.UNFULFILLED, Brake.LOSS]
    life.size = 18
    life.autoscaler = replace(life.autoscaler, min_replicas=minimum, max_replicas=maximum)
    made = life.cycle(20, 2)
    assert active(made) == [Brake.UNFULFILLED, Brake.LOSS, Brake.OUTSIDE_CHANGE]
    assert made.written == goes_to


def test_a_brake_that_prevents_nothing_leaves_the_condition_alone() -> None:
    life = stalled()
    made = life.cycle(20, 10)
    assert (active(made), condition(made, ABLE).status) == ([Brake.UNFULFILLED], True)


def test_a_dry_run_brakes_as_the_live_one_would() -> None:
    life = stalled()
    life.autoscaler = replace(life.autoscaler, dry_run=True)
    made = life.cycle(30, 10)
    assert (made.change, condition(made, ABLE).reason) == (None, Reason.UNFULFILLED)


def test_a_brake_that_leaves_the_configuration_ends() -> None:
    life = Braked(braked(LOSS), 10)
    life.cycle(10)
    life.cycle(10, 4)
    life.autoscaler = replace(life.autoscaler, brakes=Brakes())
    made = life.cycle(10, 4)
    assert (event_reasons(made), made.brakes, made.brake_memory) == ([Reason.BRAKE_ENDED], (), None)


def test_a_brake_that_is_new_learns_before_it_judges() -> None:
    life = Braked(braked(OUTSIDE), 10)
    life.cycle(10)
    life.autoscaler = replace(life.autoscaler, brakes=Brakes(loss=LossBrake(1)))
    assert life.cycle(10, 2).brakes == ()
    life.size = 30
    life.autoscaler = replace(life.autoscaler, brakes=ALL)
    assert life.cycle(10, 2).brakes == ()


def test_three_instances_are_the_fewest_that_count() -> None:
    """docs/decision.md says so."""
    assert FEWEST == 3
