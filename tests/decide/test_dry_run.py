"""A dry run decides from the real size in every cycle, and remembers what it proposed and not what never happened."""

from datetime import timedelta

from autoscaler.model import (
    Behavior,
    ConditionType,
    EventType,
    PolicyType,
    Proposed,
    Reason,
    Rules,
    ScalingPolicy,
    ScalingRules,
    SelectPolicy,
)
from autoscaler.rules.brakes import Brakes
from autoscaler.rules.brakes.loss import LossBrake
from autoscaler.rules.brakes.outside_change import OutsideChangeBrake
from autoscaler.rules.brakes.unfulfilled import UnfulfilledBrake
from autoscaler.rules.recover_size import RecoverSize
from tests.decide.build import QUEUE_15, Life, scaler, value
from tests.replaced import replace
from tests.rules.braking import active

SLOWLY = ScalingRules(timedelta(0), SelectPolicy.MAX, (ScalingPolicy(PolicyType.PODS, 2, timedelta(minutes=10)),))


def dry(size: int = 3, **changes: object) -> Life:
    return Life(replace(scaler(QUEUE_15, maximum=100), dry_run=True, **changes), size)


def test_each_cycle_decides_from_the_real_size() -> None:
    """Nothing was written, so the first step repeats; another size of the target counts at once."""
    one = dry()
    for _ in range(3):
        made = one.step(value(90_000), after=15)
        assert (made.current, made.desired, made.outcome, made.written) == (3, 6, Proposed(6), None)
    one.size = 5
    assert one.step(value(90_000), after=15).current == 5


def test_a_proposal_is_no_scale_event() -> None:
    """It never happened: no policy counts it, and the whole step is allowed again."""
    one = dry(behavior=Behavior(scale_up=SLOWLY))
    for _ in range(4):
        assert one.step(value(900_000), after=15).desired == 5
    assert one.history.hpa.scale_ups == one.history.hpa.scale_downs == ()


def test_recommendations_are_remembered_and_stay_when_it_ends() -> None:
    """They are proposals. A window is full when the autoscaler begins to write."""
    one = dry(size=6)
    one.step(value(90_000), after=15)
    one.step(value(15_000), after=15)
    assert [each.replicas for each in one.history.hpa.recommendations] == [6, 1]
    one.edit(dry_run=False)
    made = one.step(value(15_000), after=15)
    assert (made.desired, made.written) == (6, None)
    assert Reason.SCALE_DOWN_STABILIZED in [step.reason for step in made.trace]


def test_scale_events_of_a_live_autoscaler_count_on() -> None:
    """They did happen."""
    one = dry(behavior=Behavior(scale_up=SLOWLY))
    one.edit(dry_run=False)
    assert one.step(value(900_000), after=15).written == 5
    one.edit(dry_run=True)
    assert one.step(value(900_000), after=15).desired == 5


def test_a_size_that_others_set_is_none_of_its_own() -> None:
    """`outsideChange` and `recoverSize` sleep; the other brakes look at the target."""
    one = dry(rules=Rules([Brakes(UnfulfilledBrake(), LossBrake(), OutsideChangeBrake()), RecoverSize()]))
    one.step(value(45_000), after=15)
    one.size = 9
    made = one.step(value(300_000), after=15)
    assert (made.current, made.desired, active(made)) == (9, 18, [])


def test_no_event_says_that_something_was_written() -> None:
    """An event in every cycle would hide the others, too."""
    one = dry()
    made = one.step(value(90_000), after=15)
    assert [each for each in made.events if each.type is EventType.NORMAL] == []
    able = next(each for each in made.conditions if each.type is ConditionType.ABLE_TO_SCALE)
    assert able.reason != Reason.SUCCEEDED_RESCALE
    assert made.trace[-1].reason == Reason.DRY_RUN


def test_a_proposed_zero_is_not_its_own() -> None:
    """A zero that an operator sets switches scaling off, as it does for a live autoscaler."""
    one = dry(size=1, min_replicas=0)
    one.step(value(0), after=15)
    assert one.step(value(0), after=400).desired == 0
    one.size = 0
    assert one.step(value(90_000), after=15).desired == 0
