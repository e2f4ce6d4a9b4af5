"""Deployments that reset the size: the return to the size before, and what ends it."""

from datetime import timedelta
from typing import Any

import pytest

from autoscaler.model import (
    DEFAULT_SCALE_DOWN,
    DEFAULT_SCALE_UP,
    Behavior,
    ConditionType,
    Conflict,
    Deployment,
    Direction,
    Hold,
    Limits,
    ManualControls,
    Override,
    Pause,
    Reason,
    Written,
)
from autoscaler.rules.brakes import Brakes
from autoscaler.rules.brakes.common import Brake
from autoscaler.rules.brakes.outside_change import OutsideChangeBrake
from autoscaler.rules.brakes.unfulfilled import UnfulfilledBrake
from autoscaler.rules.idle import Idle
from autoscaler.rules.recover_size import (
    RECOVERING_SIZE,
    RECOVERY_ENDED,
    SIZE_RECOVERED,
    SIZE_RESET,
    SIZE_UNCONFIRMED,
)
from tests.decide.build import state, value
from tests.decide.outage import condition, event_reasons
from tests.replaced import replace
from tests.rules.braking import BrakedAutoscaler, active, workers
from tests.rules.deployed import DEPLOYING, FIVE_MINUTES, REMEDY, Deployed


@pytest.mark.parametrize("wanted", [2, None])
def test_a_size_that_a_deployment_reset_returns_at_once(wanted: int | None) -> None:
    """The classic outage: `count = 1` in the job file takes a service from 40 to 1 on every deployment."""
    one = Deployed()
    one.edit(behavior=Behavior(replace(DEFAULT_SCALE_UP, stabilization_window=FIVE_MINUTES)))
    one.deploy()
    made = one.runs(wanted)
    assert (made.written, event_reasons(made)[-1]) == (40, Reason.SUCCESSFUL_RESCALE)
    assert REMEDY in made.events[0].message or REMEDY in made.events[1].message
    limited = condition(made, ConditionType.SCALING_LIMITED)
    assert (limited.status, limited.reason) == (True, RECOVERING_SIZE)
    assert "from 40 to 1" in limited.message
    assert REMEDY in limited.message
    made = one.runs(40)
    assert (made.change, event_reasons(made)) == (None, [SIZE_RECOVERED])
    assert not condition(made, ConditionType.SCALING_LIMITED).status


def test_a_recovery_returns_to_no_more_than_was_asked_for() -> None:
    """An operator's 40 of which the load needed 12 is not worth 40 instances."""
    one = Deployed()
    for _ in range(6):
        one.scale(40)
        one.step(
            value(15_000 * 12), after=60, outcome=None, target=replace(state(40), hold=Hold(None, DEPLOYING.scale_out))
        )
    one.deploy()
    assert one.runs(2).written == 12


def test_the_metrics_may_ask_for_more() -> None:
    """What is above the size before follows the policies, as always."""
    one = Deployed()
    one.deploy()
    assert [one.runs(50).written, one.runs(50).written] == [40, 50]


def test_a_recovery_waits_for_the_deployment_however_long_that_takes() -> None:
    """Nomad takes no count while a deployment is active, and a slow one outlasts every window."""
    one = Deployed()
    one.deploy()
    made = one.runs(1, DEPLOYING)
    assert (made.desired, made.change) == (40, None)
    assert condition(made, ConditionType.ABLE_TO_SCALE).reason == "DeploymentActive"
    assert condition(made, ConditionType.SCALING_LIMITED).reason == RECOVERING_SIZE
    for _ in range(30):
        assert one.runs(1, DEPLOYING).change is None
    assert one.runs(1).written == 40


def test_a_recovery_ends_a_window_after_the_last_hold() -> None:
    """A back end that refuses the size must not get requests for ever for a size that is no longer needed."""
    one = Deployed()
    one.deploy()
    one.runs(1, DEPLOYING)
    target = replace(state(1), deployment=one.deployment)
    for _ in range(6):
        made = one.step(value(15_000), after=60, target=target, outcome=Conflict("the job has changed"))
        assert (made.desired, RECOVERY_ENDED in event_reasons(made)) == (40, False)
    made = one.step(value(15_000), after=60, target=target)
    assert event_reasons(made) == [RECOVERY_ENDED]


@pytest.mark.parametrize("asked", ["pause", "override", "resume"])
def test_an_operator_who_acts_ends_it(asked: str) -> None:
    one = Deployed()
    pause = ManualControls(pause=Pause(Direction.IN, "ada", "", one.now, None))
    if asked == "resume":
        one.history = replace(one.history, manual=pause)
    one.deploy()
    one.runs(1, DEPLOYING)
    override = ManualControls(override=Override(1, 60, "ada", "", one.now, None))
    asks = {"pause": pause, "override": override, "resume": ManualControls()}
    one.history = replace(one.history, manual=asks[asked])
    made = one.runs(1)
    assert (made.desired, event_reasons(made)) == (1, [RECOVERY_ENDED])


def test_a_pause_delays_it_and_a_lower_maximum_limits_it() -> None:
    """Both hold for every proposal. A pause that ends by itself is no request, and the maximum is a reload's."""
    one = Deployed()
    pause = Pause(Direction.OUT, "ada", "", one.now, one.now + timedelta(minutes=30))
    one.history = replace(one.history, manual=ManualControls(pause=pause))
    one.deploy()
    for _ in range(29):
        assert one.runs(1).change is None
    one.edit(max_replicas=10)
    assert [one.runs(1).written, one.runs(1).change] == [10, None]
    one.edit(max_replicas=60)
    assert one.runs(1).desired == 10


@pytest.mark.parametrize("wanted", [1, None])
def test_a_target_that_was_created_anew_keeps_its_size(wanted: int | None) -> None:
    """An operator who removes a job and registers it again means the file's size."""
    one = Deployed()
    one.deploy()
    one.runs(1, DEPLOYING)
    one.deployment = Deployment("anew", 0, "")
    made = one.runs(wanted)
    assert (made.change, RECOVERY_ENDED in event_reasons(made)) == (None, True)
    assert one.runs(wanted).change is None


@pytest.mark.parametrize(("minimum", "minutes"), [(0, 2), (1, 7)])
def test_a_target_that_became_idle_does_not_return(minimum: int, minutes: int) -> None:
    """Then one message must not start 40 instances. A target's own minimum of 1 may be a size of before."""
    one = Deployed()
    one.limits = Limits(minimum)
    one.edit(rules=one.autoscaler.rules.replaced(Idle(timedelta(minutes=5), (0,))))
    one.runs(40)
    one.deploy()
    for _ in range(5):
        one.runs(0, DEPLOYING)
    for _ in range(minutes):
        one.runs(0)
    assert one.size == minimum
    one.runs(2)
    assert one.size <= 2


def test_a_dry_run_returns_to_nothing() -> None:
    """It writes nothing back."""
    one = Deployed(dry_run=True)
    one.deploy()
    assert SIZE_RESET not in event_reasons(one.runs(2))


def test_a_dry_run_ends_it() -> None:
    """The event does not blame `recoverSize`, which may be true."""
    one = Deployed()
    one.deploy()
    one.runs(1, DEPLOYING)
    one.edit(dry_run=True)
    (ended,) = one.runs(1).events
    assert (ended.reason, "dry run" in ended.message) == (RECOVERY_ENDED, True)


def test_another_clients_size_ends_it() -> None:
    one = Deployed()
    one.deploy()
    one.runs(1, DEPLOYING)
    one.scale(3)
    made = one.runs(3)
    assert (made.change, event_reasons(made)) == (None, [RECOVERY_ENDED])


def test_the_autoscalers_own_smaller_size_does_not_end_a_recovery() -> None:
    """A connection's maxTotal may leave room for a part of the way at first."""
    one = Deployed()
    one.deploy()
    one.runs(1, DEPLOYING)
    part = replace(state(1), deployment=one.deployment)
    one.step(value(15_000), after=60, target=part, outcome=Written(20))
    one.scale(20)
    assert one.runs(1).written == 40


def test_a_second_deployment_does_not_lower_the_goal() -> None:
    one = Deployed()
    one.deploy()
    one.runs(1, DEPLOYING)
    one.deploy()
    assert one.runs(1, DEPLOYING).desired == 40
    assert one.runs(1).written == 40


def test_a_deployment_with_another_size_is_meant() -> None:
    """An operator who writes 5 in place of 1 into the job file wants 5."""
    one = Deployed()
    one.deploy(1)
    one.runs(1)
    one.runs(40)
    one.deploy(5)
    made = one.runs(5)
    assert (made.change, event_reasons(made)) == (None, [])


def test_a_deployment_that_kept_the_size_says_nothing_about_the_file() -> None:
    one = Deployed()
    one.deploy(1)
    one.runs(1)
    one.runs(40)
    one.deploy(40)
    one.runs(40)
    one.deploy(1)
    assert one.runs(1).written == 40


@pytest.mark.parametrize(("size", "rollback"), [(1, True), (0, False)])
def test_a_rollback_and_a_zero_are_left(size: int, rollback: bool) -> None:
    """A rollback restores a size that was wanted once; a size of 0 switches scaling off."""
    one = Deployed()
    one.deploy(size, rollback=rollback)
    assert one.runs(1).change is None


def test_a_deployment_of_before_the_first_cycle_is_left() -> None:
    one = Deployed()
    fresh = BrakedAutoscaler(one.autoscaler, 1)
    target = replace(state(1), deployment=Deployment("1", 40, REMEDY))
    assert fresh.step(value(15_000), target=target).change is None
    assert fresh.step(value(15_000), after=60, target=target).change is None


def test_recovery_can_be_switched_off() -> None:
    one = Deployed(recovers=False)
    one.deploy()
    assert one.runs(1).change is None


def test_the_brake_outside_change_then_holds_only_scale_ins() -> None:
    """Otherwise it prolongs the outage by ten minutes."""
    one = Deployed(Brakes(outside_change=OutsideChangeBrake()))
    one.deploy()
    assert one.runs(1).written == 40
    assert active(one.runs(40)) == [Brake.OUTSIDE_CHANGE]
    assert one.runs(45).written == 45
    made = one.runs(20)
    assert made.change is None


def test_a_lost_answer_does_not_end_it() -> None:
    """The daemon died after it had announced the size, and before it recorded it."""
    one = Deployed()
    one.deploy()
    one.runs(1, DEPLOYING)
    one.scale(one.dies_while_writing(1))
    assert event_reasons(one.runs(1)) == [SIZE_RECOVERED]


def test_several_deployments_between_two_cycles_are_one_reset() -> None:
    """The daemon is upgraded meanwhile, or a deployment is repeated at once."""
    one = Deployed()
    one.deploy(certain=False)
    one.deploy(certain=False)
    one.becomes_certain()
    assert one.runs(2).written == 40
    one.runs(40)
    one.deploy(certain=False)
    one.runs(1)
    one.deploy(certain=False)
    one.runs(1)
    one.becomes_certain()
    assert one.runs(1).written == 40


def test_a_deployment_that_was_seen_is_no_part_of_the_next_reset() -> None:
    """An operator ended the return, so the small size is what the next deployment finds."""
    one = Deployed()
    one.deploy()
    one.runs(1, DEPLOYING)
    one.history = replace(one.history, manual=ManualControls(pause=Pause(Direction.OUT, "ada", "", one.now, None)))
    one.runs(1)
    assert one.deployment is not None
    one.deployment = Deployment("later", 1, REMEDY, earlier=((one.deployment.id, 40),))
    made = one.runs(1)
    assert (made.desired, event_reasons(made)) == (1, [])


@pytest.mark.parametrize("window", [timedelta(0), FIVE_MINUTES])
def test_the_goal_is_that_of_the_first_sight(window: timedelta) -> None:
    """Until the back end reports the deployment, cycles measure the single remaining instance."""
    one = Deployed()
    one.edit(behavior=Behavior(scale_down=replace(DEFAULT_SCALE_DOWN, stabilization_window=window)))
    one.deploy(certain=False)
    one.runs(1, DEPLOYING)
    one.becomes_certain()
    assert one.runs(1, DEPLOYING).desired == 40
    assert one.runs(1).written == 40


def test_a_size_that_may_be_another_clients_is_not_overwritten() -> None:
    """The record of a scaling is a later write than the size."""
    one = Deployed()
    one.deploy()
    one.runs(1, DEPLOYING)
    one.deploy(5, certain=False)
    assert one.runs(5).written is None
    one.scale(5)
    made = one.runs(5)
    assert (made.change, event_reasons(made)) == (None, [RECOVERY_ENDED])


def test_a_second_deployment_in_mid_return_does_not_lower_the_goal() -> None:
    """A maxTotal left room for 20, which the second deployment takes for the size before."""
    one = Deployed()
    one.deploy()
    one.runs(1, DEPLOYING)
    one.step(value(15_000), after=60, target=replace(state(1), deployment=one.deployment), outcome=Written(20))
    one.size = 20
    one.deploy(certain=False)
    assert event_reasons(one.runs(1, DEPLOYING)) == []
    one.becomes_certain()
    assert one.runs(1).written == 40


def test_a_deployment_of_before_the_first_cycle_is_left_when_it_is_told() -> None:
    one = Deployed()
    fresh = BrakedAutoscaler(one.autoscaler, 1)
    first = replace(state(1), deployment=Deployment("1", 40, REMEDY, certain=False))
    assert fresh.step(value(15_000 * 4), target=first, outcome=Conflict("busy")).desired == 4
    told = replace(state(1), deployment=Deployment("1", 40, REMEDY))
    assert event_reasons(fresh.step(value(15_000), after=60, target=told)) == []


def test_no_brake_stops_the_way_to_a_minimum() -> None:
    """A brake prevents what metrics ask for, and no way back into the bounds."""
    brakes = Brakes(unfulfilled=UnfulfilledBrake())
    one = Deployed(brakes)
    one.edit(min_replicas=20)
    one.deploy(10)
    target = replace(state(10, workers(2, pending=8)), status_replicas=2, deployment=one.deployment)
    held = replace(target, hold=DEPLOYING)
    for _ in range(12):
        made = one.step(value(15_000 * 40), after=60, target=held)
    assert active(made) == [Brake.UNFULFILLED]
    made = one.step(value(15_000 * 40), after=60, target=target)
    assert made.written == 20


def test_until_it_is_told_nothing_is_written() -> None:
    """A size of the daemon's own would hide the deployment. A target without a hold accepts one at once."""
    one = Deployed()
    one.deploy(certain=False)
    made = one.runs(2)
    able = condition(made, ConditionType.ABLE_TO_SCALE)
    assert (made.change, able.status, able.reason) == (None, False, SIZE_UNCONFIRMED)
    assert "the size is 1 after 40" in able.message
    one.becomes_certain()
    assert one.runs(2).written == 40


@pytest.mark.parametrize("options", [{"recovers": False}, {}], ids=["off", "larger"])
def test_a_size_that_is_no_reset_holds_nothing(options: dict[str, Any]) -> None:
    """The size grew, or its return is switched off."""
    one = Deployed(**options)
    one.deploy(20 if options else 41, certain=False)
    assert one.runs(50).written is not None
