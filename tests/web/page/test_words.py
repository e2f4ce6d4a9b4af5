"""Plain words."""

from datetime import timedelta

import pytest

from autoscaler.documents.metric import metric
from autoscaler.documents.summary import conditions
from autoscaler.model import ConditionType, MetricOutcome, MetricTarget, MetricType, TargetType
from autoscaler.web.page import words
from tests.decisions import NOW, condition, cpu


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (42, "42s"), (61, "1m"), (3_599, "59m"), (3_600 + 600, "1h10m"), (86_400 * 2 + 3_600 * 4, "2d4h")],
)
def test_an_age_is_as_exact_as_it_needs_to_be(seconds: int, text: str) -> None:
    """Nobody reads the seconds of an hour."""
    assert words.about(timedelta(seconds=seconds)) == text


def test_what_is_to_come_is_in_so_long() -> None:
    """A pause that ends is not a pause that ended."""
    assert words.ago(NOW + timedelta(hours=2), NOW) == "in 2h"
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


def test_the_moment_before_is_another_decision() -> None:
    """Times are kept to the microsecond."""
    assert words.rfc3339(words.before(NOW)) == "2026-05-04T11:59:59.999999Z"


@pytest.mark.parametrize(
    ("kind", "if_true", "if_false"),
    [
        (ConditionType.ABLE_TO_SCALE, "good", "bad"),
        (ConditionType.SCALING_ACTIVE, "good", "bad"),
        (ConditionType.SCALING_LIMITED, "bad", "good"),
        (ConditionType.METRIC_FALLBACK_ACTIVE, "bad", "good"),
        (ConditionType.SCALED_TO_ZERO, "neutral", "neutral"),
    ],
)
def test_a_condition_that_is_true_is_not_always_good(kind: ConditionType, if_true: str, if_false: str) -> None:
    """A fallback in force is an outage that is bridged."""
    both = conditions([condition(kind, "Why", status=True), condition(kind, "Why", status=False)])
    assert [words.bearing(each) for each in both] == [if_true, if_false]
