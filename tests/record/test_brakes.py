"""The state of brakes survives restarts, crashes, takeovers and steps of the clock."""

from datetime import timedelta

import pytest

from autoscaler.model import Decision, Observation, Rules, TargetState, ValueReading, later
from autoscaler.rules.brakes import BrakeMemory, Brakes
from autoscaler.rules.brakes.common import Brake
from autoscaler.rules.brakes.loss import InstanceLoss, LossBrake
from autoscaler.rules.brakes.outside_change import OutsideChange, OutsideChangeBrake, OwnSize
from autoscaler.rules.brakes.unfulfilled import Shortfall, UnfulfilledBrake
from tests.record.conftest import Opener
from tests.record.cycles import QUEUE, Cycles
from tests.record.samples import START, scaler
from tests.replaced import replace
from tests.rules.braking import ALL, active, workers


class Braked(Cycles):
    """An autoscaler with brakes, whose target the test controls."""

    def __init__(self, opener: Opener, brakes: Brakes = ALL) -> None:
        super().__init__(opener, replace(scaler(), metrics=(QUEUE,), rules=Rules([brakes])))

    def at(self, size: int, running: int, wanted: int | None = None, *, dies: bool = False) -> Decision:
        """Run a cycle with this size and so many running instances. `wanted`: by the metric; None: the size."""
        length = 1000 * (size if wanted is None else wanted)
        return self.cycle(
            Observation(TargetState(size, running, workers(running)), (ValueReading((length,)),)), dies=dies
        )


@pytest.mark.parametrize("step", [0, 3600, -86400])
def test_a_deadline_survives_restarts_and_a_clock_that_is_set(sqlite_opener: Opener, step: float) -> None:
    """Operators restart daemons while capacity is short."""
    braked = Braked(sqlite_opener, Brakes(UnfulfilledBrake()))
    for _ in range(6):
        assert active(braked.at(20, 10)) == []
    braked.restart(step)
    for _ in range(5):
        assert active(braked.at(20, 10)) == []
    assert active(braked.at(20, 10)) == [Brake.UNFULFILLED]


@pytest.mark.parametrize("step", [0, 3600, -86400])
def test_holds_survive_restarts_and_a_clock_that_is_set(sqlite_opener: Opener, step: float) -> None:
    braked = Braked(sqlite_opener, Brakes(None, LossBrake(), OutsideChangeBrake()))
    braked.at(20, 20)
    assert active(braked.at(18, 9, 2)) == [Brake.LOSS, Brake.OUTSIDE_CHANGE]
    braked.restart(step)
    for _ in range(4):
        assert braked.at(18, 9, 2).change is None
    assert active(braked.at(18, 9, 2)) == [Brake.OUTSIDE_CHANGE]
    for _ in range(4):
        assert active(braked.at(18, 9)) == [Brake.OUTSIDE_CHANGE]
    assert active(braked.at(18, 9)) == []


def test_an_outside_change_without_a_running_daemon_is_noticed(opener: Opener) -> None:
    braked = Braked(opener)
    braked.at(10, 10)
    braked.restart()
    assert active(braked.at(12, 4)) == [Brake.LOSS, Brake.OUTSIDE_CHANGE]


def test_the_write_of_a_killed_daemon_is_no_outside_change(opener: Opener) -> None:
    """Its intent was committed before the request was sent."""
    braked = Braked(opener)
    braked.at(10, 10)
    assert braked.at(10, 10, 14, dies=True).change is not None
    braked.restart()
    assert active(braked.at(14, 14)) == []


def test_a_write_that_shows_late_after_a_restart_is_no_outside_change(opener: Opener) -> None:
    braked = Braked(opener)
    braked.at(10, 10)
    assert braked.at(10, 10, 14).written == 14
    braked.restart()
    assert active(braked.at(10, 10)) == []
    assert active(braked.at(14, 14)) == []


def test_a_late_write_of_a_superseded_shard_is_no_outside_change(opener: Opener) -> None:
    """The successor decides differently, and then the hanging request arrives."""
    braked = Braked(opener)
    braked.at(10, 10)
    assert braked.at(10, 10, 14, dies=True).change is not None
    braked.supersede()
    assert braked.at(10, 10, 12).written == 12
    assert active(braked.at(12, 12)) == []
    assert active(braked.at(14, 12)) == []


def test_the_state_of_brakes_shifts_with_the_clock() -> None:
    hour = timedelta(hours=1)
    after = START + hour
    memory = BrakeMemory(
        Shortfall(START, 1, 2, 3, stalled=True),
        7,
        2,
        InstanceLoss(START, 3, 4),
        5,
        (OwnSize(6, START, answered=True),),
        OutsideChange(START, 8, 9),
    )
    assert later(memory, hour) == BrakeMemory(
        Shortfall(after, 1, 2, 3, stalled=True),
        7,
        2,
        InstanceLoss(after, 3, 4),
        5,
        (OwnSize(6, after, answered=True),),
        OutsideChange(after, 8, 9),
    )
