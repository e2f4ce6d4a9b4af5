"""The brake outsideChange: who set a size, and that another's is respected."""

import pytest

from autoscaler.errors import TargetDeferred, TargetNotWritten, TargetUnavailable
from autoscaler.model import Brake, ConditionType, Conflict, EventType, Outcome, Reason, Unchanged
from tests.decide.braking import OUTSIDE, Braked, active, braked
from tests.decide.outage import condition, event_reasons
from tests.replaced import replace


def life(size: int = 10) -> Braked:
    """One cycle old."""
    begun = Braked(braked(OUTSIDE), size)
    begun.cycle(size)
    return begun


@pytest.mark.parametrize("wanted", [5, 20])
def test_a_size_that_somebody_else_set_is_left_in_both_directions(wanted: int) -> None:
    """Somebody who sets a size by hand at three in the morning knows something that no metric does."""
    one = life()
    one.size = 13
    made = one.cycle(wanted)
    assert (made.change, made.desired, active(made)) == (None, wanted, [Brake.OUTSIDE_CHANGE])
    able = condition(made, ConditionType.ABLE_TO_SCALE)
    assert (able.status, able.reason) == (False, Reason.OUTSIDE_CHANGE)
    assert made.events[0].type is EventType.WARNING
    assert made.events[0].reason == Reason.OUTSIDE_CHANGE
    assert "from 10 to 13" in made.events[0].message
    for _ in range(9):
        assert one.cycle(wanted).change is None
    made = one.cycle(wanted)
    assert (made.written, event_reasons(made)[0]) == (wanted, Reason.BRAKE_ENDED)


def test_each_further_change_is_recorded_and_respected() -> None:
    one = life()
    one.size = 13
    one.cycle(5)
    one.size = 14
    made = one.cycle(5, after=540)
    assert event_reasons(made) == [Reason.OUTSIDE_CHANGE]
    assert "from 13 to 14" in made.events[0].message
    assert one.cycle(5, after=540).change is None


def test_a_size_outside_the_bounds_goes_back_and_is_then_left() -> None:
    one = life()
    one.size = 200
    made = one.cycle(5)
    assert (made.written, active(made)) == (100, [Brake.OUTSIDE_CHANGE])
    made = one.cycle(5)
    assert (made.change, event_reasons(made)) == (None, [])


def test_a_zero_is_recorded_as_somebodys() -> None:
    """It switches scaling off, as ever; and so is the size that switches it on again."""
    one = life()
    one.size = 0
    assert condition(one.cycle(5), ConditionType.SCALING_ACTIVE).reason == Reason.SCALING_DISABLED
    one.size = 3
    made = one.cycle(5)
    assert "from 0 to 3" in made.events[0].message
    assert made.change is None


def test_the_first_size_is_nobodys_change() -> None:
    assert Braked(braked(OUTSIDE), 10).cycle(10).brakes == ()


def test_our_own_write_is_not_outside() -> None:
    one = life()
    assert one.cycle(12).written == 12
    assert one.cycle(14).written == 14
    assert one.cycle(14).brakes == ()


def test_an_own_write_that_is_seen_late_is_not_outside() -> None:
    """AWS's reads lag its writes, by cycles where these are short."""
    one = life()
    assert one.cycle(12, arrives=False).written == 12
    assert one.cycle(13, arrives=False).written == 13
    for size in (10, 12, 12, 13):
        one.size = size
        assert one.cycle(size).brakes == ()


def test_a_size_of_ours_that_was_seen_and_left_may_be_set_by_others() -> None:
    """That we once wrote it does not make it ours for ever."""
    one = life()
    one.cycle(12)
    one.cycle(12)
    one.size = 15
    one.cycle(15)
    assert one.cycle(15, after=600).brakes == ()
    one.size = 12
    assert active(one.cycle(12)) == [Brake.OUTSIDE_CHANGE]


def test_a_write_without_an_answer_is_ours_when_it_arrives() -> None:
    one = life()
    one.cycle(12, outcome=TargetUnavailable("timeout"))
    one.cycle(10)
    one.size = 12
    made = one.cycle(12)
    assert (made.brakes, made.trace[0].reason) == ((), Reason.SETTLED)


def test_a_write_without_an_answer_is_ours_also_after_a_later_one_was_answered() -> None:
    """AWS has no compare-and-set: the request of before may overtake."""
    one = life()
    one.cycle(12, outcome=TargetUnavailable("timeout"))
    assert one.cycle(14).written == 14
    assert one.cycle(14).brakes == ()
    one.size = 12
    assert one.cycle(12).brakes == ()


def test_after_a_crash_between_intent_and_outcome_the_size_is_ours() -> None:
    one = life()
    one.size = one.dies_while_writing(12)
    made = one.cycle(12)
    assert (one.size, made.brakes) == (12, ())


def test_after_a_takeover_what_the_one_before_still_writes_is_ours() -> None:
    """The hanging thread's request arrives after its successor has decided otherwise."""
    one = life()
    late = one.dies_while_writing(12)
    assert one.cycle(14).written == 14
    assert one.cycle(14).brakes == ()
    one.size = late
    assert one.cycle(12).brakes == ()


@pytest.mark.parametrize(
    "outcome", [TargetDeferred("its turn never came"), TargetNotWritten("throttled"), Conflict("somebody changed it")]
)
def test_a_write_that_was_certainly_not_made_is_nobodys_alibi(outcome: Outcome) -> None:
    one = life()
    one.cycle(12, outcome=outcome)
    one.size = 12
    assert active(one.cycle(12)) == [Brake.OUTSIDE_CHANGE]


def test_a_size_that_the_target_had_already_when_we_wrote_it_is_ours_too() -> None:
    """Both wanted the same: there is nothing to respect."""
    one = life()
    one.size = 10
    one.cycle(12, outcome=Unchanged())
    one.size = 12
    assert one.cycle(12).brakes == ()


def test_a_write_that_never_arrives_is_forgotten_after_half_an_hour() -> None:
    one = life()
    one.cycle(12, outcome=TargetUnavailable("timeout"))
    for _ in range(3):
        one.cycle(10, after=600)
    one.size = 12
    assert active(one.cycle(12)) == [Brake.OUTSIDE_CHANGE]


def test_what_is_remembered_of_own_writes_stays_small() -> None:
    """Somebody who sets 10 again after each of our writes must not fill the memory."""
    one = life()
    for _ in range(200):
        one.cycle(12, arrives=False, after=1)
    assert one.history.brakes is not None
    assert len(one.history.brakes.own) == 1


def test_a_change_while_the_target_could_not_be_read_is_seen_later() -> None:
    one = life()
    one.cycle(10, unreadable=TargetUnavailable("timeout"))
    one.size = 14
    made = one.cycle(5)
    assert "from 10 to 14" in made.events[0].message


def test_the_hold_ends_while_the_target_cannot_be_read() -> None:
    one = life()
    one.size = 14
    one.cycle(14)
    made = one.cycle(14, after=600, unreadable=TargetUnavailable("timeout"))
    assert made.brakes == ()
    assert Reason.BRAKE_ENDED in event_reasons(made)


def test_a_dry_run_without_a_shadow_writes_nothing_so_every_change_is_somebody_elses() -> None:
    one = life()
    without = replace(one.autoscaler.options, shadow=False)
    one.autoscaler = replace(one.autoscaler, dry_run=True, options=without)
    one.size = 14
    assert active(one.cycle(14)) == [Brake.OUTSIDE_CHANGE]


def test_nobody_else_sets_the_size_of_a_shadow() -> None:
    one = life()
    one.autoscaler = replace(one.autoscaler, dry_run=True)
    one.size = 14
    assert one.cycle(14).brakes == ()
