"""Plain words."""

from datetime import timedelta

import pytest

from autoscaler.documents.instances import InstanceDocument
from autoscaler.documents.level import Level
from autoscaler.documents.metric import metric
from autoscaler.documents.summary import ConditionDocument
from autoscaler.model import ConditionType, MetricOutcome, MetricTarget, MetricType, Phase, TargetType
from autoscaler.web.page import words
from tests.decisions import NOW, cpu


def test_what_is_to_come_is_in_so_long() -> None:
    """A pause that ends is not a pause that ended."""
    assert words.ago(NOW + timedelta(hours=4), NOW) == "in 4h"
    assert words.ago(NOW - timedelta(seconds=5), NOW) == "5s ago"
    assert words.ago(NOW + timedelta(milliseconds=80), NOW) == "0s ago"


def test_thousandths_are_decimals() -> None:
    """`15750m` is for kubectl's readers; the page says 15.75."""
    queue = MetricOutcome(
        "queue", MetricType.EXTERNAL, MetricTarget(TargetType.AVERAGE_VALUE, 500), average_value=15750
    )

    assert (words.value(metric(queue)), words.goal(metric(queue))) == ("15.75", "0.5")
    assert (words.value(metric(cpu())), words.goal(metric(cpu()))) == ("63%", "60%")
    assert words.value(metric(cpu(None))) == "unknown"
    assert [words.number(each) for each in (9.3333, 1234.5, 0.0126, None)] == ["9.33", "1234.5", "0.013", ""]


def test_the_moment_before_is_another_decision() -> None:
    """Times are kept to the microsecond."""
    assert words.rfc3339(words.before(NOW)) == "2026-05-04T11:59:59.999999Z"


def instance(phase: Phase = Phase.RUNNING, *, ready: bool = True, deleting: bool = False) -> InstanceDocument:
    return InstanceDocument(
        name="i-1", phase=phase, ready=ready, deleting=deleting, started_at=None, detail="", values=()
    )


@pytest.mark.parametrize(
    ("shown", "word"),
    [
        (instance(), "Ready"),
        (instance(ready=False), "Not ready"),
        (instance(Phase.PENDING, ready=False), "Pending"),
        (instance(ready=False, deleting=True), "Leaving"),
    ],
)
def test_an_instance_is_in_one_state(shown: InstanceDocument, word: str) -> None:
    """One that leaves is not one that became unready."""
    assert words.readiness(shown) == word


def condition(kind: ConditionType, level: Level, *, status: bool = True) -> ConditionDocument:
    return ConditionDocument(type=kind, status=status, reason="", message="", last_transition=NOW, level=level)


@pytest.mark.parametrize(
    ("shown", "bearing"),
    [
        (condition(ConditionType.SCALING_ACTIVE, Level.NORMAL), "good"),
        (condition(ConditionType.SCALING_ACTIVE, Level.ERROR, status=False), "error"),
        (condition(ConditionType.SCALING_LIMITED, Level.WARNING), "warning"),
        (condition(ConditionType.SCALING_LIMITED, Level.NORMAL), "normal"),
    ],
)
def test_a_condition_is_coloured_by_its_level(shown: ConditionDocument, bearing: str) -> None:
    """An idle service at its minimum is limited, and nothing is wrong with it."""
    assert words.bearing(shown) == bearing
