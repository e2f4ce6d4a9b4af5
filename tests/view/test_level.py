"""Levels: which states and conditions need attention."""

from typing import Any

import pytest

from autoscaler.model import HPA, Condition, ConditionType, Decision, Direction, EventType, ManualControls, Pause, Step
from autoscaler.record.values import EventRow
from autoscaler.rules.fallback import Fallbacks
from autoscaler.view.events import EventDocument, event
from autoscaler.view.level import Level
from autoscaler.view.summary import Summary, summaries
from tests.decide.build import NOW, QUEUE_15, Life, scaler, value
from tests.decisions import condition, decision

FREE = ManualControls()
PAUSED = ManualControls(Pause(Direction.BOTH, "ann", "", NOW, None))


def shown(made: Decision, steering: ManualControls = FREE) -> Summary:
    (found,) = summaries(["web"], {"web": scaler(QUEUE_15)}, {"web": made}, {"web": steering}, NOW)
    return found


def queue(length: int, size: int, **bounds: Any) -> Decision:
    """Return the second decision of an autoscaler with this size and this queue."""
    life = Life(scaler(QUEUE_15, **bounds), size)
    life.step(value(15_000 * size))
    return life.step(value(length * 1000), after=3600)


def limited(made: Summary) -> tuple[str, Level]:
    found = next(each for each in made.conditions if each.type == ConditionType.SCALING_LIMITED)
    return found.reason, found.level


def test_an_idle_service_at_its_minimum_is_no_warning() -> None:
    """Many services are idle at night, and warnings for them would hide others."""
    found = shown(queue(0, 2, minimum=2))
    assert (found.state, found.level) == ("steady", Level.NORMAL)
    assert limited(found) == ("TooFewReplicas", Level.NORMAL)


def test_a_proposal_above_the_maximum_is_a_warning() -> None:
    """An operator has to raise the maximum or to accept the load."""
    found = shown(queue(75, 3, maximum=3))
    assert (found.state, found.level) == ("limited", Level.WARNING)
    assert limited(found) == ("TooManyReplicas", Level.WARNING)


def test_a_proposal_equal_to_the_maximum_is_no_warning() -> None:
    assert shown(queue(45, 3, maximum=3)).level is Level.NORMAL


def test_an_earlier_recommendation_above_the_maximum_is_no_warning() -> None:
    """The load is over; only the stabilization window still contains it."""
    life = Life(scaler(QUEUE_15, maximum=3), 3)
    life.step(value(75_000))
    found = shown(life.step(value(45_000), after=15))
    assert limited(found) == ("TooManyReplicas", Level.NORMAL)
    assert found.level is Level.NORMAL


@pytest.mark.parametrize(
    ("kind", "reason", "status", "expected"),
    [
        (ConditionType.ABLE_TO_SCALE, "ReadyForNewScale", True, Level.NORMAL),
        (ConditionType.ABLE_TO_SCALE, "Deploying", False, Level.WARNING),
        (ConditionType.ABLE_TO_SCALE, "Paused", False, Level.WARNING),
        (ConditionType.ABLE_TO_SCALE, "FailedGetScale", False, Level.ERROR),
        (ConditionType.ABLE_TO_SCALE, "FailedUpdateScale", False, Level.ERROR),
        (ConditionType.ABLE_TO_SCALE, "BoundsConflict", False, Level.ERROR),
        (ConditionType.SCALING_ACTIVE, "FailedGetPodsMetric", False, Level.ERROR),
        (ConditionType.SCALING_ACTIVE, "ScalingDisabled", False, Level.WARNING),
        (ConditionType.SCALING_LIMITED, "ScaleUpLimit", True, Level.NORMAL),
        (ConditionType.SCALED_TO_ZERO, "NotScaledToZero", False, Level.NORMAL),
        (Fallbacks.condition, "MetricUnavailable", True, Level.WARNING),
        (Fallbacks.condition, "FallbackQueryFailed", False, Level.ERROR),
        (Fallbacks.condition, "FallbackPending", False, Level.NORMAL),
        (Fallbacks.condition, "MetricsAvailable", False, Level.NORMAL),
    ],
)
def test_each_condition_has_a_level(kind: str, reason: str, status: bool, expected: Level) -> None:
    """A hold is no failure, ScaledToZero may be False, and an outage that a fallback bridges is still an outage."""
    known: Condition = condition(kind, reason, status=status)
    assert [each.level for each in shown(decision(conditions=(known,))).conditions] == [expected]


@pytest.mark.parametrize(
    ("made", "steering", "expected"),
    [
        (decision(), FREE, Level.NORMAL),
        (decision(error="no answer"), FREE, Level.ERROR),
        (decision(), PAUSED, Level.WARNING),
        (queue(75, 3), FREE, Level.ACTIVE),
        (decision(warnings=("worker web-3 ended",)), FREE, Level.WARNING),
        (decision(warnings=("worker web-3 ended",), error="no answer"), FREE, Level.ERROR),
        (decision(conditions=(None,)), FREE, Level.ERROR),
        (decision(trace=(Step(HPA, "ValidMetricFound", 3, 12, "cpu"),), bounds=None), FREE, Level.NORMAL),
    ],
)
def test_each_state_has_a_level(made: Decision, steering: ManualControls, expected: Level) -> None:
    """The terminal and the page colour it. A decision that cannot be shown is an error; one may lack bounds."""
    assert shown(made, steering).level is expected


def test_the_direction_is_that_of_the_desired_size() -> None:
    assert shown(queue(75, 3)).direction is Direction.OUT
    assert shown(queue(0, 3)).direction is Direction.IN
    assert shown(queue(45, 3)).direction is None
    assert shown(decision(current=None, desired=None)).direction is None


def event_of(made: Decision) -> EventDocument:
    (only,) = made.events
    return event(EventRow("web", only.type, only.reason, only.message, 1, NOW, NOW, made.dry_run, only.direction))


def test_an_event_has_the_direction_of_its_change() -> None:
    """Readers need not parse the message."""
    assert event_of(queue(75, 3)).direction is Direction.OUT
    assert event_of(queue(0, 3)).direction is Direction.IN
    assert event_of(Life(scaler(QUEUE_15, maximum=2), 3).step(value(0))).direction is Direction.IN
    assert event_of(Life(scaler(QUEUE_15, minimum=4), 3).step(value(0))).direction is Direction.OUT


def test_other_events_have_no_direction() -> None:
    """The message of a failed metric may contain the words of a change."""
    row = EventRow("web", EventType.WARNING, "FailedGetPodsMetric", "x; reason: y above target", 1, NOW, NOW, False)
    assert event(row).direction is None
