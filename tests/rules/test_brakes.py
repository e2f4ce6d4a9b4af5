"""Brakes prevent a change while something is wrong with the target, and nothing else."""

import pytest

from autoscaler.errors import TargetUnavailable
from autoscaler.model import ConditionType, Direction, EventType, Hold, HoldReason, ManualControls, Pause
from autoscaler.rules.brakes import ENDED, Brakes
from autoscaler.rules.brakes.common import MIN_MISSING, Brake
from autoscaler.rules.brakes.loss import LossBrake
from autoscaler.rules.brakes.unfulfilled import UnfulfilledBrake
from autoscaler.rules.manual import PAUSED
from tests.decide.build import NOW
from tests.decide.outage import DOWN, condition, event_reasons
from tests.replaced import replace
from tests.rules.braking import (
    ALL,
    LOSS,
    OUTSIDE,
    UNFULFILLED,
    BrakedAutoscaler,
    active,
    brake_memory,
    braked,
    holding,
)

ABLE = ConditionType.ABLE_TO_SCALE


def stalled(asked: int = 20, there: int = 10, brakes: Brakes = UNFULFILLED, weight: int = 1) -> BrakedAutoscaler:
    """Run 11 minutes in which no more than `there` units started."""
    life = BrakedAutoscaler(braked(brakes), asked)
    for _ in range(11):
        made = life.cycle(asked, there // weight, weight=weight)
        assert active(made) == []
    return life


def test_without_brakes_nothing_is_remembered() -> None:
    made = BrakedAutoscaler(braked(None), 10).cycle(10)
    assert (active(made), brake_memory(made)) == ([], None)


@pytest.mark.parametrize(
    ("brakes", "theirs"),
    [(UNFULFILLED, {"shortfall"}), (LOSS, {"running", "loss"}), (OUTSIDE, {"size", "own", "outside"})],
)
def test_brakes_that_are_off_remember_nothing(brakes: Brakes, theirs: set[str]) -> None:
    """The state holds the memory of hundreds of thousands of autoscalers."""
    life = BrakedAutoscaler(braked(brakes), 10)
    life.cycle(10)
    written = life.cycle(12)
    for made in (written, life.step(DOWN, after=3600)):
        memory = brake_memory(made)
        assert memory is not None
        found = {field for field in memory.__struct_fields__ if getattr(memory, field) not in (None, ())}
        assert found <= theirs | {"heaviest", "active"}


# unfulfilled


def test_the_size_stays_while_requested_instances_do_not_arrive() -> None:
    """A region without capacity: a larger size only costs more once capacity returns."""
    life = stalled()
    made = life.cycle(30, 10)
    assert (made.change, made.desired, active(made)) == (None, 30, [Brake.UNFULFILLED])
    able = condition(made, ABLE)
    assert (able.status, able.reason) == (False, "Unfulfilled")
    assert "10 of 20 that were asked for have not arrived" in able.message
    assert event_reasons(made) == ["Unfulfilled"]
    assert event_reasons(life.cycle(30, 10)) == []


def test_scale_in_continues_while_instances_are_missing() -> None:
    life = stalled()
    assert life.cycle(8, 10).written == 8


def test_missing_instances_hold_nothing_before_the_deadline() -> None:
    life = BrakedAutoscaler(braked(UNFULFILLED), 20)
    for size in (22, 24, 26, 28):
        assert life.cycle(size, 10).written == size


def test_arrivals_restart_the_deadline() -> None:
    life = stalled()
    assert active(life.cycle(30, 10)) == [Brake.UNFULFILLED]
    made = life.cycle(30, 11)
    assert (made.written, event_reasons(made)[0]) == (30, ENDED)
    for _ in range(10):
        assert active(life.cycle(31, 11)) == []
    assert active(life.cycle(31, 11)) == [Brake.UNFULFILLED]


def test_a_larger_size_does_not_count_as_progress() -> None:
    """Otherwise a steadily rising load would never reach the deadline."""
    life = BrakedAutoscaler(braked(UNFULFILLED), 20)
    for extra in range(11):
        life.cycle(20 + extra, 10)
    assert active(life.cycle(40, 10)) == [Brake.UNFULFILLED]


def test_a_restarted_instance_is_no_progress() -> None:
    life = BrakedAutoscaler(braked(UNFULFILLED), 20)
    for cycle in range(11):
        life.cycle(20, 10 - cycle % 2)
    assert active(life.cycle(20, 10)) == [Brake.UNFULFILLED]


def test_the_brake_ends_once_enough_instances_have_arrived() -> None:
    life = stalled()
    assert active(life.cycle(20, 10)) == [Brake.UNFULFILLED]
    made = life.cycle(20, 14)  # 6 of 20 are missing, which is 30 %
    assert (active(made), event_reasons(made)) == ([], [ENDED])
    assert made.events[0].type is EventType.NORMAL


@pytest.mark.parametrize(("asked", "there", "brakes"), [(20, 14, 0), (20, 13, 1), (4, 2, 0), (4, 1, 1), (2, 0, 0)])
def test_a_few_missing_instances_are_no_outage(asked: int, there: int, brakes: int) -> None:
    """More than the share, and at least three: two of four instances missing is a slow start."""
    life = BrakedAutoscaler(braked(UNFULFILLED), asked)
    for _ in range(12):
        made = life.cycle(asked, there)
    assert len(active(made)) == brakes


def test_pending_instances_have_arrived() -> None:
    """A lifecycle hook sets up an instance in Pending:Wait, so the capacity existed."""
    life = BrakedAutoscaler(braked(UNFULFILLED), 20)
    for _ in range(15):
        made = life.cycle(20, 10, pending=10)
    assert active(made) == []


def test_one_missing_heavy_instance_is_no_outage() -> None:
    """Its eight units are one instance of a weighted group."""
    life = BrakedAutoscaler(braked(UNFULFILLED), 16)
    for _ in range(12):
        made = life.cycle(16, 1, weight=8)
    assert active(made) == []
    assert active(stalled(48, 16, weight=8).cycle(48, 2, weight=8)) == [Brake.UNFULFILLED]


def test_a_longer_deadline_releases_the_brake_at_once() -> None:
    """The memory has times; the current configuration decides what follows from them."""
    life = stalled()
    assert active(life.cycle(20, 10)) == [Brake.UNFULFILLED]
    longer = UnfulfilledBrake(30, 10 * UnfulfilledBrake().progress_deadline)
    life.autoscaler = replace(life.autoscaler, rules=life.autoscaler.rules.replaced(Brakes(longer)))
    assert active(life.cycle(20, 10)) == []


# loss


def test_after_a_loss_the_size_does_not_fall_for_a_while() -> None:
    """The survivors do not have the load of the lost instances yet, so no metric shows it."""
    life = BrakedAutoscaler(braked(LOSS), 10)
    life.cycle(10)
    made = life.cycle(4, 7)
    assert (made.change, made.desired, active(made)) == (None, 4, [Brake.LOSS])
    able = condition(made, ABLE)
    assert (able.status, able.reason) == (False, "InstancesLost")
    assert "3 of 10 running units were gone" in able.message
    assert event_reasons(made) == ["InstancesLost"]
    for _ in range(4):
        assert (life.cycle(4, 7).change, event_reasons(life.cycle(4, 7, after=0))) == (None, [])
    made = life.cycle(4, 7)
    assert (made.written, event_reasons(made)[0]) == (4, ENDED)


def test_scale_out_continues_after_a_loss() -> None:
    life = BrakedAutoscaler(braked(LOSS), 10)
    life.cycle(10)
    made = life.cycle(14, 5)
    assert (made.written, active(made)) == (14, [Brake.LOSS])


def test_another_loss_is_an_event_and_restarts_the_hold() -> None:
    life = BrakedAutoscaler(braked(LOSS), 20)
    life.cycle(20)
    life.cycle(20, 13)
    assert event_reasons(life.cycle(20, 8, after=240)) == ["InstancesLost"]
    assert active(life.cycle(20, 8, after=240)) == [Brake.LOSS]


@pytest.mark.parametrize(("before", "left", "brakes"), [(10, 8, 0), (10, 7, 1), (4, 2, 0), (3, 0, 1), (100, 71, 0)])
def test_a_few_lost_instances_are_no_loss(before: int, left: int, brakes: int) -> None:
    life = BrakedAutoscaler(braked(LOSS), before)
    life.cycle(before)
    assert len(active(life.cycle(before, left))) == brakes


def test_instances_removed_by_an_own_scale_in_are_not_lost() -> None:
    """However many cycles the back end needs."""
    life = BrakedAutoscaler(braked(LOSS), 20)
    life.cycle(20)
    assert life.cycle(10).written == 10
    for running in (20, 15, 10):
        assert active(life.cycle(10, running)) == []


def test_instances_still_leaving_during_a_scale_out_are_not_lost() -> None:
    life = BrakedAutoscaler(braked(LOSS), 20)
    life.cycle(20)
    assert life.cycle(10).written == 10
    assert life.cycle(16, 20).written == 16
    assert active(life.cycle(16, 10)) == []


def test_instances_removed_by_an_outside_change_are_not_lost() -> None:
    life = BrakedAutoscaler(braked(LOSS), 20)
    life.cycle(20)
    life.size = 10
    assert active(life.cycle(10, 10)) == []


def test_more_lost_instances_than_a_scale_in_removes_are_a_loss() -> None:
    life = BrakedAutoscaler(braked(LOSS), 20)
    life.cycle(20)
    life.size = 16
    made = life.cycle(16, 8)
    memory = brake_memory(made)
    assert memory is not None
    assert memory.loss is not None
    assert (memory.loss.lost, memory.loss.of) == (8, 16)


def test_replaced_instances_that_do_not_run_yet_are_lost() -> None:
    """Swarm and Nomad replace a dead node's tasks at once, and the new tasks do not serve yet."""
    life = BrakedAutoscaler(braked(LOSS), 10)
    life.cycle(10)
    assert active(life.cycle(10, 6, pending=4)) == [Brake.LOSS]


def test_instances_that_the_target_replaces_are_not_lost() -> None:
    """A deployment stops a third of the old version at once, and the target reports it."""
    life = BrakedAutoscaler(braked(LOSS), 10)
    life.cycle(10)
    rollout = HoldReason("RolloutInProgress", "a rollout is under way")
    assert active(life.cycle(10, 5, pending=5, hold=Hold(rollout, rollout))) == []
    assert active(life.cycle(10, 10)) == []


def test_a_lost_heavy_instance_counts_as_one_instance() -> None:
    life = BrakedAutoscaler(braked(LOSS), 32)
    life.cycle(32, weight=8)
    assert active(life.cycle(32, 3, weight=8)) == []
    assert active(life.cycle(32, 0, weight=8)) == [Brake.LOSS]


def test_two_heavy_instances_without_others_are_no_loss() -> None:
    """The remaining instances do not show their weight."""
    life = BrakedAutoscaler(braked(LOSS), 16)
    life.cycle(16, weight=8)
    assert active(life.cycle(16, 0)) == []


def test_an_unreadable_target_hides_no_loss() -> None:
    """A failing zone often makes the back end unreadable for a while."""
    life = BrakedAutoscaler(braked(LOSS), 10)
    life.cycle(10)
    life.cycle(10, target=TargetUnavailable("timeout"))
    assert active(life.cycle(10, 5)) == [Brake.LOSS]


# how they come together


def test_the_first_hold_gives_the_reason_and_the_others_are_listed() -> None:
    """The order is operator, target, brakes."""
    life = BrakedAutoscaler(braked(ALL), 20)
    life.cycle(20)
    life.size = 18
    life.history = replace(life.history, manual=ManualControls(Pause(Direction.BOTH, "ann", "load test", NOW, None)))
    hold = Hold(scale_in=HoldReason("InstanceRefresh", "an instance refresh is under way"))
    made = life.cycle(2, 18)
    assert holding(made) == [PAUSED, "OutsideChange"]
    made = life.cycle(2, 9)
    assert holding(made) == [PAUSED, "InstancesLost", "OutsideChange"]
    made = life.cycle(2, 9, hold=hold)
    assert holding(made) == [PAUSED, "InstanceRefresh", "InstancesLost", "OutsideChange"]
    able = condition(made, ABLE)
    assert able.reason == PAUSED
    parts = able.message.split("; also: ")
    assert parts == [step.detail for step in made.trace if step.reason in holding(made)]


def test_the_targets_hold_precedes_the_brakes() -> None:
    life = BrakedAutoscaler(braked(LOSS), 10)
    life.cycle(10)
    life.cycle(10, 5)
    made = life.cycle(2, 5, hold=Hold(scale_in=HoldReason("ScalingSuspended", "Terminate is suspended")))
    assert condition(made, ABLE).reason == "ScalingSuspended"
    assert holding(made) == ["ScalingSuspended", "InstancesLost"]


@pytest.mark.parametrize(("minimum", "maximum", "goes_to"), [(25, 100, 25), (1, 15, 15)])
def test_a_size_outside_the_bounds_returns_despite_brakes(minimum: int, maximum: int, goes_to: int) -> None:
    """Brakes limit what metrics ask for; operators set the bounds."""
    life = stalled(brakes=ALL)
    assert active(life.cycle(20, 2)) == [Brake.UNFULFILLED, Brake.LOSS]
    life.size = 18
    life.autoscaler = replace(life.autoscaler, min_replicas=minimum, max_replicas=maximum)
    made = life.cycle(20, 2)
    assert active(made) == [Brake.UNFULFILLED, Brake.LOSS, Brake.OUTSIDE_CHANGE]
    assert made.written == goes_to


def test_a_brake_that_prevents_nothing_does_not_change_the_condition() -> None:
    life = stalled()
    made = life.cycle(20, 10)
    assert (active(made), condition(made, ABLE).status) == ([Brake.UNFULFILLED], True)


def test_a_dry_run_brakes_like_a_live_autoscaler() -> None:
    life = stalled()
    life.autoscaler = replace(life.autoscaler, dry_run=True)
    made = life.cycle(30, 10)
    assert (made.change, condition(made, ABLE).reason) == (None, "Unfulfilled")


def test_a_brake_that_leaves_the_configuration_ends() -> None:
    life = BrakedAutoscaler(braked(LOSS), 10)
    life.cycle(10)
    life.cycle(10, 4)
    life.autoscaler = replace(life.autoscaler, rules=life.autoscaler.rules.without(Brakes))
    made = life.cycle(10, 4)
    assert (event_reasons(made), active(made), brake_memory(made)) == ([ENDED], [], None)


def test_a_new_brake_observes_one_cycle_first() -> None:
    life = BrakedAutoscaler(braked(OUTSIDE), 10)
    life.cycle(10)
    life.autoscaler = replace(life.autoscaler, rules=life.autoscaler.rules.replaced(Brakes(loss=LossBrake(1))))
    assert active(life.cycle(10, 2)) == []
    life.size = 30
    life.autoscaler = replace(life.autoscaler, rules=life.autoscaler.rules.replaced(ALL))
    assert active(life.cycle(10, 2)) == []


def test_three_instances_are_the_fewest_that_count() -> None:
    """docs/beyond-hpa.md promises it."""
    assert MIN_MISSING == 3
