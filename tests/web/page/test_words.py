"""The words and numbers of the page."""

from datetime import timedelta

import pytest

from autoscaler.layout import ago
from autoscaler.model import ConditionType, MetricOutcome, MetricTarget, MetricType, Phase, TargetType
from autoscaler.times import rfc3339
from autoscaler.view.instances import InstanceDocument
from autoscaler.view.level import Level
from autoscaler.view.metric import MetricDocument, metric, target_decimal
from autoscaler.view.summary import ConditionDocument
from autoscaler.web.page import words
from tests.decisions import NOW, cpu
from tests.replaced import replace


def test_a_future_time_begins_with_in() -> None:
    """A pause that will end is not a pause that has ended."""
    assert ago(NOW + timedelta(hours=4), NOW) == "in 4h"
    assert ago(NOW - timedelta(seconds=5), NOW) == "5s ago"
    assert ago(NOW + timedelta(milliseconds=80), NOW) == "0s ago"


def test_thousandths_are_decimals() -> None:
    """Kubectl writes `15750m`, the page 15.75."""
    queue = MetricOutcome(
        "queue", MetricType.EXTERNAL, MetricTarget(TargetType.AVERAGE_VALUE, 500), average_value=15750
    )

    assert (words.value(metric(queue, MetricDocument)), target_decimal(metric(queue, MetricDocument))) == (
        "15.75",
        "0.5",
    )
    assert (words.value(metric(cpu(), MetricDocument)), target_decimal(metric(cpu(), MetricDocument))) == ("63%", "60%")
    assert words.value(metric(cpu(None), MetricDocument)) == "unknown"
    assert words.value(metric(replace(cpu(None), error=None), MetricDocument)) == "not read"
    assert [words.number(each) for each in (9.3333, 1234.5, 0.0126, None)] == ["9.33", "1234.5", "0.013", ""]


def test_the_time_before_a_decision_is_a_microsecond_earlier() -> None:
    """The state keeps times to the microsecond."""
    assert rfc3339(words.before(NOW)) == "2026-05-04T11:59:59.999999Z"


def instance(
    phase: Phase = Phase.RUNNING, *, ready: bool = True, deleting: bool = False, warming: bool = False
) -> InstanceDocument:
    given = {"phase": phase, "ready": ready, "deleting": deleting, "warming": warming}
    return InstanceDocument(name="i-1", started_at=None, detail="", values=(), **given)


@pytest.mark.parametrize(
    ("shown", "word"),
    [
        (instance(), "Ready"),
        (instance(ready=False), "Not ready"),
        (instance(Phase.PENDING, ready=False), "Pending"),
        (instance(ready=False, deleting=True), "Leaving"),
        (instance(warming=True), "Ready, warming up"),
        (instance(ready=False, warming=True), "Not ready, warming up"),
    ],
)
def test_an_instance_is_shown_in_one_state(shown: InstanceDocument, word: str) -> None:
    """An instance that is being removed did not become unready."""
    assert words.FILTERS["readiness"](shown) == word


def condition(kind: ConditionType, level: Level, *, status: bool = True) -> ConditionDocument:
    return ConditionDocument(type=kind, status=status, reason="", message="", last_transition=NOW, level=level)


@pytest.mark.parametrize(
    ("shown", "colour"),
    [
        (condition(ConditionType.SCALING_ACTIVE, Level.NORMAL), "good"),
        (condition(ConditionType.SCALING_ACTIVE, Level.ERROR, status=False), "error"),
        (condition(ConditionType.SCALING_LIMITED, Level.WARNING), "warning"),
        (condition(ConditionType.SCALING_LIMITED, Level.NORMAL), "normal"),
    ],
)
def test_a_condition_has_the_colour_of_its_level(shown: ConditionDocument, colour: str) -> None:
    """An idle service at its minimum is limited, and nothing is wrong with it."""
    assert words.condition_class(shown) == colour
