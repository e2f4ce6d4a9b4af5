"""A back end may write another size than the decided one: what is remembered follows the size that it wrote.

An Auto Scaling Group writes 8 where 5 was decided if an instance cannot be terminated.
"""

from datetime import timedelta

import pytest

from autoscaler.decide import remember
from autoscaler.model import (
    Behavior,
    ConditionType,
    History,
    PolicyType,
    ScaleEvent,
    ScalingPolicy,
    ScalingRules,
    SelectPolicy,
    Written,
)
from tests.decide.build import NOW, QUEUE_15, Life, scaler, value
from tests.hpa.build import condition

SOON = timedelta(seconds=60)
AT_ONCE = Behavior(
    ScalingRules(timedelta(0), SelectPolicy.MAX, (ScalingPolicy(PolicyType.PERCENT, 100, SOON),)),
    ScalingRules(timedelta(0), SelectPolicy.MAX, (ScalingPolicy(PolicyType.PERCENT, 100, SOON),)),
)
"""Both directions at once, and at most twice the size in a minute."""


def life(size: int, minimum: int = 1) -> Life:
    return Life(scaler(QUEUE_15, minimum=minimum, behavior=AT_ONCE), size)


def load(replicas: int) -> int:
    """Return a queue that asks for so many replicas."""
    return replicas * 15_000


def test_the_next_scale_out_starts_from_what_really_left() -> None:
    """Otherwise a rise by 100 % from 10 may go to 26, where HPA allows 20."""
    one = life(10)
    made = one.step(value(load(5)), outcome=Written(8))
    assert (made.written, one.history.hpa.scale_downs) == (8, (ScaleEvent(2, NOW),))
    assert one.step(value(load(90)), after=15).desired == 20


@pytest.mark.parametrize(
    ("size", "decided", "written", "ups", "downs"),
    [
        (4, 8, 8, [4], []),
        (4, 8, 6, [2], []),
        (8, 4, 4, [], [4]),
        (8, 4, 7, [], [1]),
        (8, 4, 3, [], [5]),
        (8, 4, 8, [], []),
        (8, 4, 9, [1], []),
    ],
)
def test_the_scale_event_is_what_the_size_changed_by(
    size: int, decided: int, written: int, ups: list[int], downs: list[int]
) -> None:
    """In the direction in which it changed; none if it stayed."""
    one = life(size)
    one.step(value(load(decided)), outcome=Written(written))
    assert [
        [each.change for each in events] for events in (one.history.hpa.scale_ups, one.history.hpa.scale_downs)
    ] == [
        ups,
        downs,
    ]


@pytest.mark.parametrize(
    ("size", "decided", "written", "zero"),
    [
        (5, 0, 0, True),
        (5, 0, 3, False),
        (5, 1, 0, True),
        (5, 2, 3, False),
    ],
)
def test_only_a_size_of_0_is_scaled_to_zero(size: int, decided: int, written: int, zero: bool) -> None:
    """A target at 3 that counts as scaled to zero would leave a 0 that an operator sets later."""
    one = life(size, minimum=0)
    made = one.step(value(load(decided)), outcome=Written(written))
    assert condition(made, ConditionType.SCALED_TO_ZERO)[0] is zero


def test_a_target_that_stays_at_0_is_left_in_the_next_cycle() -> None:
    """The back end accepted the write and started nothing: the 0 is still the autoscaler's own."""
    one = life(3, minimum=0)
    one.step(value(0))
    assert one.size == 0
    one.step(value(load(2)), after=15, outcome=Written(0))
    assert one.step(value(load(2)), after=15).written == 2


def test_the_event_and_the_condition_name_both_sizes() -> None:
    """An operator who sees 8 after a decision for 5 must not look for another client."""
    made = life(10).step(value(load(5)), outcome=Written(8))
    assert made.events[-1].message.startswith("New size: 8 instead of 5; reason: ")
    able = next(each for each in made.conditions if each.type is ConditionType.ABLE_TO_SCALE)
    assert (able.status, able.message) == (True, "the target's size was set to 8 instead of 5")
    assert made.remembered.status.desired == 8


def test_without_a_behavior_no_event_is_kept() -> None:
    """As for a write of the decided size."""
    one = Life(scaler(QUEUE_15), 10)
    made = one.step(value(load(15)), outcome=Written(12))
    assert made.written == 12
    remembered = remember(one.autoscaler, History(), made)
    assert (remembered.hpa.scale_ups, remembered.hpa.scale_downs) == ((), ())
