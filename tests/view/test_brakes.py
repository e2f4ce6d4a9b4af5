"""What is shown of an autoscaler with brakes."""

from datetime import timedelta

from autoscaler.model import Instance, ManualControls, Rules, TargetState
from autoscaler.rules.brakes import Brakes
from autoscaler.rules.brakes.loss import LossBrake
from autoscaler.rules.brakes.outside_change import OutsideChangeBrake
from autoscaler.rules.brakes.unfulfilled import UnfulfilledBrake
from autoscaler.view.explanation import Explanation
from autoscaler.view.level import Level
from autoscaler.view.summary import summary
from autoscaler.view.verdict import AutoscalerState
from tests.decide.build import QUEUE_15, scaler, value
from tests.decide.outage import CALM
from tests.replaced import replace
from tests.rules.braking import workers
from tests.view.diary import Diary

MINUTE = timedelta(minutes=1)
ALL = Brakes(UnfulfilledBrake(30, MINUTE), LossBrake(30, 2 * MINUTE), OutsideChangeBrake(3 * MINUTE))


class BrakedDiary(Diary):
    """An autoscaler that follows a queue, 15 for each instance, at once unless a brake prevents it."""

    def __init__(self, size: int = 10, brakes: Brakes = ALL) -> None:
        super().__init__(replace(scaler(QUEUE_15, behavior=CALM), rules=Rules([brakes])), size)

    def cycle(self, wanted: int, running: int | None = None, set_to: int | None = None) -> Explanation:
        """Run one cycle. `set_to` is a size that is set from outside before it."""
        self.size = self.size if set_to is None else set_to
        there: tuple[Instance, ...] = workers(self.size if running is None else min(running, self.size))
        self.step(value(15_000 * wanted), target=TargetState(self.size, len(there), there))
        return self.explained()


def test_an_active_brake_is_a_step_and_a_hurdle() -> None:
    """The explanation includes when the size will change."""
    diary = BrakedDiary()
    diary.cycle(10)
    told = diary.cycle(4, set_to=12)
    assert [step.reason for step in told.trace][-1] == "OutsideChange"
    assert told.if_unchanged is not None
    assert (told.if_unchanged.size, told.if_unchanged.in_seconds) == (4, 3 * MINUTE)
    _, into = told.ways
    assert "  In the way: something else set the size" in into.text
    assert into.text.endswith("; until then the size stays at 12.")
    assert [line for line in told.lines if line.endswith("(OutsideChange) -> 12")]
    assert "If nothing changes, it goes to 4 in 3m." in told.lines


def test_all_active_brakes_are_listed_in_order() -> None:
    diary = BrakedDiary()
    diary.cycle(10)
    told = diary.cycle(4, running=5, set_to=12)
    assert [step.reason for step in told.trace][-2:] == ["InstancesLost", "OutsideChange"]
    assert [(each.brake, each.reason) for each in dict(told)["brakes"]] == [
        ("loss", "InstancesLost"),
        ("outsideChange", "OutsideChange"),
    ]


def test_a_brake_that_prevents_nothing_is_mentioned_once() -> None:
    diary = BrakedDiary(brakes=Brakes(loss=LossBrake()))
    diary.cycle(10)
    told = diary.cycle(10, running=5)
    (line,) = [line for line in told.lines if "brake" in line]
    assert line.startswith("The brake loss was on, and had no change to prevent: 5 of 10 running units were gone")


def test_an_active_brake_is_a_warning() -> None:
    """It is one also while it prevents nothing, because something is wrong with the target."""
    diary = BrakedDiary()
    diary.cycle(10)
    for wanted, state in ((12, AutoscalerState.STEADY), (4, AutoscalerState.HELD)):
        diary.cycle(wanted, set_to=12)
        assert diary.newest is not None
        shown = summary("web", diary.autoscaler, diary.newest.decision, ManualControls(), configured=True)
        assert (shown.state, shown.level) == (state, Level.WARNING)
        assert [each.brake for each in dict(shown)["brakes"]] == ["outsideChange"]
