"""The log line of a decision."""

import io
import json

import pytest

from autoscaler.log import line
from autoscaler.log.configure import Format, Level, configure
from autoscaler.model import ConditionType, Conflict, Decision, Proposed, Written
from tests.decisions import condition, cpu, decision, rescale
from tests.replaced import replace

ABLE, ACTIVE, LIMITED = ConditionType.ABLE_TO_SCALE, ConditionType.SCALING_ACTIVE, ConditionType.SCALING_LIMITED


def written_line(made: Decision) -> dict[str, object]:
    out = io.StringIO()
    line.log(configure(Level.INFO, Format.JSON, out), made)
    parsed: dict[str, object] = json.loads(out.getvalue())
    return parsed


def test_keys_are_in_the_documented_order() -> None:
    """People and scripts read the lines."""
    parsed = written_line(decision())
    assert list(parsed) == [
        "timestamp", "level", "event", "autoscaler", "target", "current", "desired", "written", "reason", "message",
        "metrics", "conditions", "dry_run", "why",
    ]  # fmt: skip
    assert parsed["event"] == "decision"
    assert parsed["level"] == "info"
    assert str(parsed["timestamp"]).endswith("Z")


def test_metrics_and_conditions_have_kubectls_notation() -> None:
    parsed = written_line(decision())
    assert parsed["target"] == "fleet/web-asg"
    assert parsed["metrics"] == [{"name": "cpu", "type": "Resource", "value": "63%", "target": "60%"}]
    assert parsed["conditions"] == {
        "AbleToScale": ["True", "ReadyForNewScale"],
        "ScalingActive": ["True", "ValidMetricFound"],
        "ScalingLimited": ["False", "DesiredWithinRange"],
    }


def test_a_metric_counts_instances_without_a_sample_and_those_that_warm_up() -> None:
    """Without such instances the keys are omitted."""
    measured = replace(cpu(), ready=1, missing=("i-2", "i-3"), aside=("i-4",))
    (metric,) = line.keys(decision(metrics=(measured,)))["metrics"]
    assert metric == {"name": "cpu", "type": "Resource", "value": "63%", "target": "60%", "missing": 2, "warming": 1}


def test_a_failed_metric_is_null_and_the_line_a_warning() -> None:
    """An outage must not look like zero load."""
    parsed = written_line(decision(metrics=(cpu(None),), desired=None, error="1 of 1 metrics failed"))
    assert parsed["metrics"] == [{"name": "cpu", "type": "Resource", "value": None, "target": "60%"}]
    assert parsed["level"] == "warning"
    assert parsed["desired"] is None


@pytest.mark.parametrize(("outcome", "size"), [(Written(5), 5), (Proposed(5), None), (Conflict("now 7"), None)])
def test_written_is_the_size_that_was_written(outcome: object, size: int | None) -> None:
    """A dry run's proposal is not a write."""
    assert line.keys(rescale(outcome=outcome))["written"] == size


@pytest.mark.parametrize(
    ("conditions", "reason"),
    [
        ([(ABLE, False, "FailedGetScale"), (ACTIVE, False, "X"), (LIMITED, True, "Y")], "FailedGetScale"),
        (
            [(ABLE, True, "X"), (ACTIVE, False, "FailedGetResourceMetric"), (LIMITED, True, "Y")],
            "FailedGetResourceMetric",
        ),
        ([(ABLE, True, "X"), (ACTIVE, True, "Y"), (LIMITED, True, "TooManyReplicas")], "TooManyReplicas"),
        ([(ABLE, True, "SucceededRescale"), (ACTIVE, True, "X"), (LIMITED, False, "Y")], "SucceededRescale"),
        ([], None),
    ],
)
def test_the_reason_is_that_of_the_most_important_condition(
    conditions: list[tuple[ConditionType, bool, str]], reason: str | None
) -> None:
    """In the documented order: unable, inactive, limited, able."""
    made = decision(conditions=tuple(condition(type_, word, status=status) for type_, status, word in conditions))
    assert line.keys(made)["reason"] == reason
