"""What brakes remember is kept as everything else is: through restarts, crashes, takeovers and steps of the clock."""

from datetime import timedelta

import pytest

from autoscaler.decide import conclude, decide, remember
from autoscaler.model import (
    Autoscaler,
    Brake,
    BrakeMemory,
    Brakes,
    Decision,
    History,
    InstanceLoss,
    LossBrake,
    MetricSpec,
    MetricTarget,
    MetricType,
    Observation,
    Observed,
    OutsideChange,
    OutsideChangeBrake,
    OwnSize,
    Query,
    Shortfall,
    TargetState,
    TargetType,
    UnfulfilledBrake,
    ValueReading,
    Written,
    later,
)
from autoscaler.record import Ledger
from tests.decide.braking import active, workers
from tests.record.conftest import Opener
from tests.record.samples import FLEET, START, scaler
from tests.replaced import replace
from tests.schedule.clock import FakeClock

ALL = Brakes(UnfulfilledBrake(), LossBrake(), OutsideChangeBrake())


def one(brakes: Brakes = ALL) -> Autoscaler:
    target = MetricTarget(TargetType.AVERAGE_VALUE, 1000)
    return replace(scaler(), metrics=(MetricSpec(MetricType.EXTERNAL, "queue", target, Query("q")),), brakes=brakes)


class Daemon:
    """Whole cycles, 60 s apart, on a state that may be closed and opened again."""

    def __init__(self, opener: Opener, autoscaler: Autoscaler) -> None:
        self.opener, self.autoscaler, self.clock = opener, autoscaler, FakeClock(START)
        self.restart()

    def restart(self, step: float = 0) -> None:
        """`step`: by which the wall clock is set meanwhile."""
        self.opener.close()
        self.clock.step(step)
        self.state = self.opener.state(clock=self.clock)
        self.ledger: Ledger = self.state.ledger(FLEET)

    def cycle(self, size: int, running: int, wanted: int | None = None, *, dies: bool = False) -> Decision:
        """`wanted`: by the metric. `dies`: after the write was sent, before its outcome is recorded."""
        self.clock.advance(60)
        self.ledger.follow_clock(self.clock.moment())
        length = 1000 * (size if wanted is None else wanted)
        seen = Observation(TargetState(size, running, workers(running)), (ValueReading((length,)),))
        made = decide(self.autoscaler, seen, self.history(), self.clock.now())
        assert self.ledger.intend([made]) == {}
        if not dies:
            made = made if made.change is None else conclude(made, Written(made.change.size))
            name = self.autoscaler.name
            assert self.ledger.record({name: self.autoscaler}, Observed({name: seen}), [made]) == {}
        return made

    def history(self) -> History:
        return self.ledger.recall([self.autoscaler])[self.autoscaler.name]


@pytest.mark.parametrize("step", [0, 3600, -86400])
def test_a_deadline_survives_restarts_and_a_clock_that_is_set(sqlite_opener: Opener, step: float) -> None:
    """When capacity is short, daemons are restarted, too."""
    daemon = Daemon(sqlite_opener, one(Brakes(UnfulfilledBrake())))
    for _ in range(6):
        assert active(daemon.cycle(20, 10)) == []
    daemon.restart(step)
    for _ in range(5):
        assert active(daemon.cycle(20, 10)) == []
    assert active(daemon.cycle(20, 10)) == [Brake.UNFULFILLED]


@pytest.mark.parametrize("step", [0, 3600, -86400])
def test_holds_survive_restarts_and_a_clock_that_is_set(sqlite_opener: Opener, step: float) -> None:
    daemon = Daemon(sqlite_opener, one(Brakes(None, LossBrake(), OutsideChangeBrake())))
    daemon.cycle(20, 20)
    assert active(daemon.cycle(18, 9, 2)) == [Brake.LOSS, Brake.OUTSIDE_CHANGE]
    daemon.restart(step)
    for _ in range(4):
        assert daemon.cycle(18, 9, 2).change is None
    assert active(daemon.cycle(18, 9, 2)) == [Brake.OUTSIDE_CHANGE]
    for _ in range(4):
        assert active(daemon.cycle(18, 9)) == [Brake.OUTSIDE_CHANGE]
    assert active(daemon.cycle(18, 9)) == []


def test_what_changed_while_no_daemon_ran_is_noticed(opener: Opener) -> None:
    daemon = Daemon(opener, one())
    daemon.cycle(10, 10)
    daemon.restart()
    assert active(daemon.cycle(12, 4)) == [Brake.LOSS, Brake.OUTSIDE_CHANGE]


def test_a_write_of_a_daemon_that_died_is_not_somebody_elses(opener: Opener) -> None:
    """Its intent was committed before the request was sent."""
    daemon = Daemon(opener, one())
    daemon.cycle(10, 10)
    assert daemon.cycle(10, 10, 14, dies=True).change is not None
    daemon.restart()
    assert active(daemon.cycle(14, 14)) == []


def test_a_write_that_is_seen_late_after_a_restart_is_not_somebody_elses(opener: Opener) -> None:
    daemon = Daemon(opener, one())
    daemon.cycle(10, 10)
    assert daemon.cycle(10, 10, 14).written == 14
    daemon.restart()
    assert active(daemon.cycle(10, 10)) == []
    assert active(daemon.cycle(14, 14)) == []


def test_a_late_write_of_a_shard_that_was_superseded_is_not_somebody_elses(opener: Opener) -> None:
    """The successor decides otherwise, and then the hanging request arrives after all."""
    daemon = Daemon(opener, one())
    daemon.cycle(10, 10)
    assert daemon.cycle(10, 10, 14, dies=True).change is not None
    daemon.ledger = daemon.state.ledger(FLEET)
    assert daemon.cycle(10, 10, 12).written == 12
    assert active(daemon.cycle(12, 12)) == []
    assert active(daemon.cycle(14, 12)) == []


def test_each_cycle_can_be_decided_again(opener: Opener) -> None:
    daemon = Daemon(opener, one())
    for size, running, wanted in ((10, 10, 10), (10, 5, 4), (12, 5, 4), (12, 12, 30), (20, 12, 20), (20, 12, 20)):
        daemon.cycle(size, running, wanted)
    records = list(opener.archive().records("web"))
    assert len(records) == 6
    for each in records:
        assert each.observation is not None
        assert each.history is not None
        made = decide(each.scaler, each.observation, each.history, each.decision.now)
        assert (made.brakes, made.events[:1]) == (each.decision.brakes, each.decision.events[:1])
        again = conclude(made, each.decision.outcome)
        assert again == each.decision
        assert remember(each.scaler, each.history, again).brakes == each.decision.brake_memory


def test_all_that_is_remembered_moves_with_the_clock() -> None:
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
