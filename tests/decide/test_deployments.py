"""Deployments that reset the size: the return to the size before, and what ends it."""

from datetime import timedelta

import pytest

from autoscaler.model import (
    DEFAULT_SCALE_DOWN,
    DEFAULT_SCALE_UP,
    Behavior,
    Brake,
    Brakes,
    ConditionType,
    Conflict,
    Decision,
    Deployment,
    Direction,
    Failure,
    Hold,
    HoldReason,
    OutsideChangeBrake,
    Override,
    Pause,
    Reason,
    Steering,
    Written,
)
from tests.decide.braking import BrakedAutoscaler, active, braked, workers
from tests.decide.build import state, value
from tests.decide.outage import condition, event_reasons
from tests.replaced import replace

FIVE_MINUTES = timedelta(minutes=5)
REMEDY = "use `nomad job run -preserve-counts`"
DEPLOYING = Hold(HoldReason("DeploymentActive", "a deployment is under way"), None)


class Deployed(BrakedAutoscaler):
    """A service that asks for 40 and has them, and whose job file says 1."""

    def __init__(self, brakes: Brakes = Brakes(), **options: object) -> None:  # noqa: B008 - it is frozen
        behavior = Behavior(scale_down=replace(DEFAULT_SCALE_DOWN, stabilization_window=FIVE_MINUTES))
        super().__init__(replace(braked(brakes, maximum=60), behavior=behavior, **options), 40)
        self.deployment: Deployment | None = None
        self.number = 0
        for _ in range(2):
            self.runs(40)

    def deploy(self, size: int = 1, *, rollback: bool = False) -> None:
        """Deploy with a specification that says `size`."""
        self.number += 1
        self.deployment = Deployment(str(self.number), self.size, REMEDY, rollback)
        self.size = size

    def scale(self, size: int) -> None:
        """Set the size as another client does."""
        self.size, self.deployment = size, None

    def resize(self, size: int) -> None:
        self.scale(size)

    def runs(self, wanted: int | None = 40, hold: Hold = Hold(), after: float = 60) -> Decision:  # noqa: B008
        """Run a cycle; without `wanted` the metric fails."""
        target = replace(state(self.size, workers(self.size)), deployment=self.deployment, hold=hold)
        reading = Failure("no answer") if wanted is None else value(15_000 * wanted)
        return self.step(reading, after=after, target=target)


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
    assert (limited.status, limited.reason) == (True, Reason.RECOVERING_SIZE)
    assert "from 40 to 1" in limited.message
    assert REMEDY in limited.message
    made = one.runs(40)
    assert (made.change, event_reasons(made)) == (None, [Reason.SIZE_RECOVERED])
    assert not condition(made, ConditionType.SCALING_LIMITED).status


def test_it_returns_to_no_more_than_was_asked_for() -> None:
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


def test_it_waits_for_the_deployment_however_long_that_takes() -> None:
    """Nomad takes no count while a deployment is active, and a slow one outlasts every window."""
    one = Deployed()
    one.deploy()
    made = one.runs(1, DEPLOYING)
    assert (made.desired, made.change) == (40, None)
    assert condition(made, ConditionType.ABLE_TO_SCALE).reason == "DeploymentActive"
    assert condition(made, ConditionType.SCALING_LIMITED).reason == Reason.RECOVERING_SIZE
    for _ in range(30):
        assert one.runs(1, DEPLOYING).change is None
    assert one.runs(1).written == 40


def test_it_ends_a_window_after_the_last_hold() -> None:
    """A back end that refuses the size must not be asked for ever for what nobody has needed lately."""
    one = Deployed()
    one.deploy()
    one.runs(1, DEPLOYING)
    target = replace(state(1), deployment=one.deployment)
    for _ in range(6):
        made = one.step(value(15_000), after=60, target=target, outcome=Conflict("the job has changed"))
        assert (made.desired, Reason.RECOVERY_ENDED in event_reasons(made)) == (40, False)
    made = one.step(value(15_000), after=60, target=target)
    assert event_reasons(made) == [Reason.RECOVERY_ENDED]


@pytest.mark.parametrize("asked", ["pause", "override"])
def test_an_operator_who_acts_ends_it(asked: str) -> None:
    one = Deployed()
    one.deploy()
    one.runs(1, DEPLOYING)
    pause = Pause(Direction.IN, "ada", "", one.now, None)
    bounds = Override(1, 60, "ada", "", one.now, None)
    steering = Steering(pause=pause) if asked == "pause" else Steering(override=bounds)
    one.history = replace(one.history, steering=steering)
    made = one.runs(1)
    assert (made.desired, event_reasons(made)) == (1, [Reason.RECOVERY_ENDED])


def test_another_clients_size_ends_it() -> None:
    one = Deployed()
    one.deploy()
    one.runs(1, DEPLOYING)
    one.scale(3)
    made = one.runs(3)
    assert (made.change, event_reasons(made)) == (None, [Reason.RECOVERY_ENDED])


def test_its_own_smaller_size_does_not_end_it() -> None:
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
    """Who writes 5 in place of 1 into the job file wants 5."""
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


def test_it_can_be_switched_off() -> None:
    one = Deployed(recover_size=False)
    one.deploy()
    assert one.runs(1).change is None


def test_the_brake_outside_change_then_holds_scale_ins_alone() -> None:
    """Else it keeps the outage for ten minutes longer."""
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
    assert event_reasons(one.runs(1)) == [Reason.SIZE_RECOVERED]
