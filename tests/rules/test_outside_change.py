"""The brake outsideChange: who set a size, and that sizes set by others are kept."""

from datetime import timedelta

import pytest

from autoscaler.errors import TargetDeferred, TargetNotWritten, TargetUnavailable
from autoscaler.model import ConditionType, Conflict, EventType, Outcome, Reason, Unchanged
from autoscaler.rules.brakes import ENDED
from autoscaler.rules.brakes.common import Brake
from tests.decide.outage import condition, event_reasons
from tests.replaced import replace
from tests.rules.braking import OUTSIDE, BrakedAutoscaler, active, brake_memory, braked


def life(size: int = 10) -> BrakedAutoscaler:
    """An autoscaler after one cycle."""
    begun = BrakedAutoscaler(braked(OUTSIDE), size)
    begun.cycle(size)
    return begun


@pytest.mark.parametrize("wanted", [5, 20])
def test_an_outside_size_is_kept_in_both_directions(wanted: int) -> None:
    """An operator who sets a size by hand at three in the morning knows something that no metric shows."""
    one = life()
    one.size = 13
    made = one.cycle(wanted)
    assert (made.change, made.desired, active(made)) == (None, wanted, [Brake.OUTSIDE_CHANGE])
    able = condition(made, ConditionType.ABLE_TO_SCALE)
    assert (able.status, able.reason) == (False, "OutsideChange")
    assert made.events[0].type is EventType.WARNING
    assert made.events[0].reason == "OutsideChange"
    assert "from 10 to 13" in made.events[0].message
    assert made.events[0].message.endswith(f"until {(one.now + timedelta(minutes=10)).isoformat()}")
    for _ in range(9):
        assert one.cycle(wanted).change is None
    made = one.cycle(wanted)
    assert (made.written, event_reasons(made)[0]) == (wanted, ENDED)


def test_each_further_change_is_recorded_and_respected() -> None:
    one = life()
    one.size = 13
    one.cycle(5)
    one.size = 14
    made = one.cycle(5, after=540)
    assert event_reasons(made) == ["OutsideChange"]
    assert "from 13 to 14" in made.events[0].message
    assert one.cycle(5, after=540).change is None


def test_a_size_outside_the_bounds_goes_back_and_is_then_left() -> None:
    one = life()
    one.size = 200
    made = one.cycle(5)
    assert (made.written, active(made)) == (100, [Brake.OUTSIDE_CHANGE])
    made = one.cycle(5)
    assert (made.change, event_reasons(made)) == (None, [])


def test_an_outside_zero_is_recorded() -> None:
    """It switches scaling off, and the size that switches it on again is recorded too."""
    one = life()
    one.size = 0
    assert condition(one.cycle(5), ConditionType.SCALING_ACTIVE).reason == Reason.SCALING_DISABLED
    one.size = 3
    made = one.cycle(5)
    assert "from 0 to 3" in made.events[0].message
    assert made.change is None


def test_the_first_size_is_no_outside_change() -> None:
    assert active(BrakedAutoscaler(braked(OUTSIDE), 10).cycle(10)) == []


def test_an_own_write_is_no_outside_change() -> None:
    one = life()
    assert one.cycle(12).written == 12
    assert one.cycle(14).written == 14
    assert active(one.cycle(14)) == []


def test_an_own_write_seen_late_is_no_outside_change() -> None:
    """AWS's reads lag behind its writes, by several cycles if these are short."""
    one = life()
    assert one.cycle(12, arrives=False).written == 12
    assert one.cycle(13, arrives=False).written == 13
    for size in (10, 12, 12, 13):
        one.size = size
        assert active(one.cycle(size)) == []


def test_an_earlier_own_size_can_be_an_outside_change() -> None:
    """A size that the autoscaler wrote earlier can be set by another client later."""
    one = life()
    one.cycle(12)
    one.cycle(12)
    one.size = 15
    one.cycle(15)
    assert active(one.cycle(15, after=600)) == []
    one.size = 12
    assert active(one.cycle(12)) == [Brake.OUTSIDE_CHANGE]


def test_an_unanswered_write_that_arrives_is_an_own_write() -> None:
    one = life()
    one.cycle(12, outcome=TargetUnavailable("timeout"))
    one.cycle(10)
    one.size = 12
    made = one.cycle(12)
    assert (active(made), made.trace[0].reason) == ([], Reason.SETTLED)


def test_an_unanswered_write_is_own_also_after_a_later_answered_one() -> None:
    """AWS has no compare-and-set, so an earlier request may arrive last."""
    one = life()
    one.cycle(12, outcome=TargetUnavailable("timeout"))
    assert one.cycle(14).written == 14
    assert active(one.cycle(14)) == []
    one.size = 12
    assert active(one.cycle(12)) == []


def test_after_a_crash_before_the_outcome_the_size_is_own() -> None:
    one = life()
    one.size = one.dies_while_writing(12)
    made = one.cycle(12)
    assert (one.size, active(made)) == (12, [])


def test_after_a_takeover_a_predecessors_late_write_is_own() -> None:
    """The hanging thread's request arrives after its successor made another decision."""
    one = life()
    late = one.dies_while_writing(12)
    assert one.cycle(14).written == 14
    assert active(one.cycle(14)) == []
    one.size = late
    assert active(one.cycle(12)) == []


@pytest.mark.parametrize(
    "outcome", [TargetDeferred("its turn never came"), TargetNotWritten("throttled"), Conflict("somebody changed it")]
)
def test_a_write_that_was_not_sent_does_not_explain_a_size(outcome: Outcome) -> None:
    one = life()
    one.cycle(12, outcome=outcome)
    one.size = 12
    assert active(one.cycle(12)) == [Brake.OUTSIDE_CHANGE]


def test_a_size_that_the_target_already_had_is_own() -> None:
    """Both wanted the same size, so there is no outside change to keep."""
    one = life()
    one.size = 10
    one.cycle(12, outcome=Unchanged())
    one.size = 12
    assert active(one.cycle(12)) == []


def test_a_write_that_never_arrives_is_forgotten_after_half_an_hour() -> None:
    one = life()
    one.cycle(12, outcome=TargetUnavailable("timeout"))
    for _ in range(3):
        one.cycle(10, after=600)
    one.size = 12
    assert active(one.cycle(12)) == [Brake.OUTSIDE_CHANGE]


def test_the_memory_of_own_writes_is_bounded() -> None:
    """A client that sets 10 again after each write must not fill the memory."""
    one = life()
    for _ in range(200):
        one.cycle(12, arrives=False, after=1)
    memory = brake_memory(one.history)
    assert memory is not None
    assert len(memory.own) == 1


def test_own_writes_that_are_never_seen_are_forgotten_after_half_an_hour() -> None:
    """A client that sets 100 again after each write, each of which is another one."""
    one = life(100)
    for size in range(80, 10, -1):
        assert one.cycle(size, arrives=False).written is not None
    memory = brake_memory(one.history)
    assert memory is not None
    assert len(memory.own) == 30


def test_a_change_while_the_target_could_not_be_read_is_seen_later() -> None:
    one = life()
    one.cycle(10, target=TargetUnavailable("timeout"))
    one.size = 14
    made = one.cycle(5)
    assert "from 10 to 14" in made.events[0].message


def test_the_hold_ends_while_the_target_cannot_be_read() -> None:
    one = life()
    one.size = 14
    one.cycle(14)
    made = one.cycle(14, after=600, target=TargetUnavailable("timeout"))
    assert active(made) == []
    assert ENDED in event_reasons(made)


def test_a_dry_run_has_no_outside_changes() -> None:
    """It sets no size, so every size is another's."""
    one = life()
    one.autoscaler = replace(one.autoscaler, dry_run=True)
    one.size = 14
    assert active(one.cycle(14)) == []
