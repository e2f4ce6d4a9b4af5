"""Headroom is part of what a metric asks for, and no limit."""

from autoscaler.model import Rules
from autoscaler.rules.headroom import Headroom
from autoscaler.view.verdict import limits
from tests.decide.build import QUEUE_15, scaler, value
from tests.replaced import replace
from tests.view.diary import Diary


def test_spare_instances_are_no_limit() -> None:
    """`get` and `describe` would name them beside maxReplicas, and `explain` as what is in the way."""
    diary = Diary(replace(scaler(QUEUE_15, maximum=5), rules=Rules([Headroom(replicas=2)])), 3)
    for _ in range(2):
        diary.step(value(15_000 * 9))
    told = diary.explained()
    assert [step.source for step in told.trace if step.reason == "Headroom"] == ["headroom"]
    assert not any("spare" in way.text for way in told.ways)
    assert told.bounds is not None


def test_the_step_is_not_among_the_limits() -> None:
    diary = Diary(replace(scaler(QUEUE_15, maximum=5), rules=Rules([Headroom(replicas=2)])), 3)
    made = diary.step(value(15_000 * 9))
    assert "headroom" in [step.source for step in made.trace]
    assert "headroom" not in [step.source for step in limits(made)]
