"""The notation of metrics."""

import pytest

from autoscaler.model import MetricOutcome, MetricTarget, MetricType, TargetType
from autoscaler.view import notation
from autoscaler.view.metric import MetricDocument, current_words, metric, target_decimal

THIRTY = MetricTarget(TargetType.AVERAGE_VALUE, 30_000)
FIFTEEN = MetricTarget(TargetType.VALUE, 15_000)
SIXTY = MetricTarget(TargetType.UTILIZATION, 60)
CASES = [
    (MetricOutcome("cpu", MetricType.RESOURCE, SIXTY, average_utilization=63), "cpu: 63%/60%"),
    (MetricOutcome("cpu", MetricType.CONTAINER_RESOURCE, SIXTY, average_utilization=0), "cpu: 0%/60%"),
    (MetricOutcome("memory", MetricType.RESOURCE, THIRTY, average_value=37_500), "memory: 37.5/30"),
    (MetricOutcome("inflight", MetricType.PODS, THIRTY, average_value=37_500), "37.5/30"),
    (MetricOutcome("queue", MetricType.EXTERNAL, THIRTY, average_value=37_500), "37.5/30 (avg)"),
    (MetricOutcome("queue", MetricType.OBJECT, THIRTY, average_value=2_000), "2/30 (avg)"),
    (MetricOutcome("queue", MetricType.EXTERNAL, FIFTEEN, value=80_000), "80/15"),
    (MetricOutcome("queue", MetricType.EXTERNAL, FIFTEEN, error="no answer"), "<unknown>/15"),
    (MetricOutcome("queue", MetricType.EXTERNAL, FIFTEEN), "<not read>/15"),
    (MetricOutcome("cpu", MetricType.RESOURCE, SIXTY, error="no answer"), "cpu: <unknown>/60%"),
]


@pytest.mark.parametrize(("outcome", "text"), CASES, ids=[text for _, text in CASES])
def test_a_metric_has_kubectls_layout_with_decimals(outcome: MetricOutcome, text: str) -> None:
    """`explain` and the page show the same number: 37.5, not 37500m."""
    assert notation.metric(outcome) == text


def test_zero_is_a_value() -> None:
    """Zero differs from an unknown value."""
    assert notation.value(MetricOutcome("queue", MetricType.EXTERNAL, FIFTEEN, value=0)) == "0"


def test_only_two_metrics_are_listed() -> None:
    """Kubectl shows the first two."""
    outcomes = [CASES[0][0], CASES[6][0], CASES[4][0]]
    assert notation.metrics(outcomes) == "cpu: 63%/60%, 80/15 + 1 more..."
    assert notation.metrics(outcomes[:2]) == "cpu: 63%/60%, 80/15"
    assert notation.metrics([]) == "<none>"


def test_thousandths_are_shown_as_decimals() -> None:
    """Fields for programs keep kubectl's notation, 8334m."""
    queue = metric(MetricOutcome("queue", MetricType.EXTERNAL, THIRTY, average_value=8_334), MetricDocument)
    assert (current_words(queue), target_decimal(queue)) == ("8.33", "30")
    assert (queue.current, queue.target) == ("8334m", "30")
    assert queue.text == "8.33/30 (avg)"
    assert (notation.plain("8334m"), notation.plain("63%"), notation.plain("30")) == ("8.33", "63%", "30")
