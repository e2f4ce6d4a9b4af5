"""The series of each autoscaler, from its latest decision."""

from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from autoscaler.model import (
    Direction,
    DrainOutcome,
    ManualControls,
    MetricOutcome,
    MetricTarget,
    MetricType,
    Override,
    Pause,
    Rules,
    TargetRef,
    TargetType,
    Written,
)
from autoscaler.rules.brakes import ActiveBrake, BrakeMemory, Brakes
from autoscaler.rules.brakes.common import Brake
from autoscaler.rules.brakes.loss import LossBrake
from autoscaler.rules.brakes.unfulfilled import UnfulfilledBrake
from autoscaler.rules.drain import Drain, DrainAction, DrainMemory, DrainRule
from tests.decisions import NOW, bounds, cpu, decision, remembering, rescale
from tests.metrics.exposed import Shown, scaler
from tests.replaced import replace


def test_sizes_and_bounds_are_the_latest_decisions() -> None:
    """The names are those of the HPA and kube-state-metrics."""
    shown = Shown()
    shown.ended(decision(current=3, desired=5, bounds=bounds(2, 20)))
    names = ("current_replicas", "desired_replicas", "min_replicas", "max_replicas")
    assert [shown.value(name, autoscaler="web") for name in names] == [3, 5, 2, 20]


def test_a_target_that_cannot_be_read_has_no_size() -> None:
    """An outage is a gap in the chart, not an invented number."""
    shown = Shown()
    shown.ended(decision(current=3, desired=3, bounds=bounds(2, 20)))
    shown.ended(decision(current=None, desired=None, error="down", metrics=()))
    assert shown.series("current_replicas") == []
    assert shown.series("max_replicas") == []
    assert shown.series("metric_value") == []


@pytest.mark.parametrize(
    ("metric", "target_type", "value", "target"),
    [
        (cpu(63), "Utilization", 0.63, 0.6),
        (
            MetricOutcome(
                "queue", MetricType.EXTERNAL, MetricTarget(TargetType.AVERAGE_VALUE, 30_000), average_value=37_500
            ),
            "AverageValue",
            37.5,
            30,
        ),
        (
            MetricOutcome("depth", MetricType.OBJECT, MetricTarget(TargetType.VALUE, 500), value=0),
            "Value",
            0,
            0.5,
        ),
    ],
)
def test_a_metric_and_its_target_are_in_base_units(
    metric: MetricOutcome, target_type: str, value: float, target: float
) -> None:
    """Ratios instead of percentages, units instead of thousandths."""
    shown = Shown()
    shown.ended(decision(metrics=(metric,)))
    labels = {"autoscaler": "web", "metric": metric.name, "metric_type": metric.type.value, "target_type": target_type}
    assert shown.value("metric_value", **labels) == value
    assert shown.value("metric_target", **labels) == target
    assert shown.value("metric_failed", **labels) == 0


def test_a_failed_metric_has_a_target_and_no_value() -> None:
    """No value is not the value 0."""
    shown = Shown()
    shown.ended(decision(metrics=(cpu(None),), error="no answer"))
    assert shown.series("metric_value") == []
    ((target,), (failed,)) = shown.series("metric_target"), shown.series("metric_failed")
    assert target == failed
    assert shown.value("metric_failed", **failed) == 1


def test_the_share_of_instances_without_a_sample_is_shown() -> None:
    """An alert uses it; a failed metric, or one without instances, has no share."""
    shown = Shown()
    queue = MetricOutcome("depth", MetricType.EXTERNAL, MetricTarget(TargetType.VALUE, 500), value=0, ready=5)
    shown.ended(decision(metrics=(replace(cpu(), ready=1, missing=("i-2", "i-3", "i-4", "i-5")), cpu(None), queue)))
    (series,) = shown.series("metric_missing_ratio")
    assert (series["metric"], shown.value("metric_missing_ratio", **series)) == ("cpu", 0.8)
    shown.ended(decision(metrics=(replace(cpu(), ready=5),)))
    assert shown.value("metric_missing_ratio", **series) == 0


def test_an_active_fallback_has_a_series() -> None:
    """The metric also counts as failed: a fallback must not hide an outage."""
    shown = Shown()
    shown.ended(decision(metrics=(replace(cpu(None), proposal=4), cpu()), error="no answer"))
    ((series,), (failed, _)) = shown.series("metric_fallback_active"), shown.series("metric_failed")
    assert series == failed
    assert shown.value("metric_fallback_active", **series) == 1
    assert shown.value("metric_failed", **series) == 1
    shown.ended(decision(metrics=(cpu(), cpu())))
    assert shown.series("metric_fallback_active") == []


def test_a_configured_brake_has_a_series_of_0_or_1() -> None:
    """An alert on a brake must see it change from 0 to 1."""
    shown = Shown()
    shown.configure(scaler(rules=Rules([Brakes(UnfulfilledBrake(), LossBrake())])), scaler("api"))
    assert [each["brake"] for each in shown.series("brake_active")] == ["unfulfilled", "loss"]
    assert shown.value("brake_active", autoscaler="web", brake="loss") == 0
    on = BrakeMemory(active=(ActiveBrake(Brake.LOSS, "InstancesLost", "3 of 10 are gone"),))
    shown.ended(remembering(decision(), rules={"brakes": on}))
    assert shown.value("brake_active", autoscaler="web", brake="loss") == 1
    assert shown.value("brake_active", autoscaler="web", brake="unfulfilled") == 0
    shown.ended(decision())
    assert shown.value("brake_active", autoscaler="web", brake="loss") == 0


def test_drains_have_series_from_the_start() -> None:
    """rate() sees no drain that creates its series, and an alert compares the oldest one's age with the timeout."""
    shown = Shown()
    shown.configure(scaler(rules=Rules([DrainRule(timedelta(minutes=10), command=("/bin/true",))])), scaler("api"))
    assert [each["autoscaler"] for each in shown.series("drain_oldest_seconds")] == ["web"]
    assert shown.value("drain_timeout_seconds", autoscaler="web") == 600
    assert shown.value("drains_ended_total", autoscaler="web", outcome="timeout") == 0
    open_ones = [Drain(f"i-{age}", NOW - timedelta(seconds=age), DrainAction.COMMAND) for age in (5, 90)]
    over = Drain("i-0", NOW - timedelta(minutes=10), DrainAction.COMMAND, "", NOW, DrainOutcome.TIMED_OUT)
    shown.ended(remembering(decision(), rules={"drain": DrainMemory((*open_ones, over))}))
    assert shown.value("drains", autoscaler="web") == 2
    assert shown.value("drain_oldest_seconds", autoscaler="web") == 90
    assert shown.value("drains_ended_total", autoscaler="web", outcome="timeout") == 1
    later = NOW + timedelta(seconds=15)
    shown.ended(remembering(decision(now=later), rules={"drain": DrainMemory((over,))}))
    assert shown.value("drains", autoscaler="web") == 0
    assert shown.value("drains_ended_total", autoscaler="web", outcome="timeout") == 1


def test_metrics_of_the_same_name_are_numbered() -> None:
    """Prometheus drops one of two series with equal labels without a message in the daemon's log."""
    shown = Shown()
    shown.ended(decision(metrics=(cpu(10), cpu(20), cpu(30))))
    assert [labels["metric"] for labels in shown.series("metric_value")] == ["cpu", "cpu#2", "cpu#3"]


def test_a_condition_has_its_reason_as_a_label() -> None:
    """`at max` is ScalingLimited with the reason TooManyReplicas, not a rate limit."""
    shown = Shown()
    shown.ended(decision())
    labels = {"autoscaler": "web", "condition": "ScalingLimited", "reason": "DesiredWithinRange"}
    assert shown.value("condition", **labels) == 0
    labels = {"autoscaler": "web", "condition": "AbleToScale", "reason": "ReadyForNewScale"}
    assert shown.value("condition", **labels) == 1


def test_a_failed_cycle_leaves_the_time_of_the_last_success() -> None:
    """It shows how long the failure lasts; 0: no success since the start."""
    shown = Shown()
    assert shown.value("last_success_timestamp_seconds", autoscaler="web") == 0
    shown.ended(decision())
    shown.ended(decision(now=NOW + timedelta(minutes=1), error="no answer"))
    assert shown.value("last_success_timestamp_seconds", autoscaler="web") == NOW.timestamp()


def test_only_written_sizes_count_as_rescales() -> None:
    """Flapping is counted by written sizes, not by desired ones."""
    shown = Shown()
    shown.ended(rescale(size=5, outcome=Written(5)))
    shown.ended(rescale(size=4, current=5, outcome=Written(4)))
    shown.ended(rescale(size=9))
    assert shown.value("rescales_total", autoscaler="web", action="scale_up") == 1
    assert shown.value("rescales_total", autoscaler="web", action="scale_down") == 1


def test_a_ramp_of_many_steps_changes_direction_once() -> None:
    """Two ordinary ramps are not flapping."""
    shown = Shown()

    def directions(*sizes: int) -> float | None:
        for before, after in pairwise(sizes):
            shown.ended(rescale(size=after, current=before, outcome=Written(after)))
            shown.ended(decision(current=after, desired=after))
        return shown.value("direction_changes_total", autoscaler="web")

    assert directions(2, 4, 8) == 0
    assert directions(8, 7, 6, 5, 4, 3, 2) == 1
    assert directions(2, 4, 8, 7, 6, 5) == 3
    assert directions(5, 6, 5, 6) == 6


def test_all_unmatched_samples_are_counted() -> None:
    """A decision names only the first unmatched samples of many."""
    shown = Shown()
    few = replace(cpu(), unmatched=('instance="a"',))
    many = replace(few, more_unmatched=37)
    shown.ended(decision(metrics=(few, many)))
    assert shown.value("unmatched_samples", autoscaler="web") == 1 + 38


def test_a_pause_has_a_series_while_it_is_in_force() -> None:
    """The age of a pause shows that it was forgotten."""
    shown = Shown()
    pause, override = Pause(Direction.IN, "ann", "sale", NOW, None), Override(5, None, "ann", "sale", NOW, None)
    shown.ended(decision(manual=ManualControls(pause, override)))
    assert shown.value("paused", autoscaler="web", direction="in") == 1
    shown.ended(decision())
    assert shown.series("paused") == []


def test_an_autoscaler_has_series_before_its_first_cycle() -> None:
    """An autoscaler whose shard never reaches it must be visible."""
    shown = Shown("web", "api")
    assert shown.value("autoscalers") == 2
    labels = {"autoscaler": "api", "adapter": "fleet", "target": "api-asg", "dry_run": "false"}
    assert shown.value("info", **labels) == 1
    assert shown.value("sync_period_seconds", autoscaler="api") == 15


def test_a_removed_autoscaler_has_no_series() -> None:
    """This also holds when its last cycle ends after the reload."""
    shown = Shown("web", "api")
    shown.ended(decision("web"), decision("api"))
    shown.configure(scaler("api"))
    shown.ended(decision("web"))
    for metric in ("info", "condition", "rescales_total"):
        assert {labels["autoscaler"] for labels in shown.series(metric)} == {"api"}


def test_a_reload_keeps_the_series_of_other_autoscalers() -> None:
    """Counters that return to 0 at each reload would count twice."""
    shown = Shown()
    shown.ended(rescale(outcome=Written(5)))
    shown.configure(scaler(dry_run=True))
    assert shown.value("rescales_total", autoscaler="web", action="scale_up") == 1
    assert shown.value("current_replicas", autoscaler="web") == 3
    assert [labels["dry_run"] for labels in shown.series("info")] == ["true"]


def test_a_new_target_starts_without_series() -> None:
    """The old target's size says nothing about the new one."""
    shown = Shown()
    shown.ended(decision())
    shown.configure(replace(scaler(), target=TargetRef("fleet", "other-asg")))
    shown.ended(decision())
    assert shown.series("current_replicas") == []


@pytest.mark.parametrize("odd", [{"conditions": (None,)}, {"metrics": (None,)}, {"manual": None}])
def test_a_decision_that_cannot_be_shown_does_not_affect_the_others(odd: dict[str, Any]) -> None:
    """Without /metrics, no alert would fire."""
    shown = Shown("first", "odd", "last")
    shown.ended(decision("first"), decision("odd", **odd), decision("last"))
    for name in ("first", "last"):
        assert shown.value("current_replicas", autoscaler=name) == 3
        assert shown.value("condition", autoscaler=name, condition="AbleToScale", reason="ReadyForNewScale") == 1


def test_labels_of_an_autoscaler_are_one_series() -> None:
    """For routing alerts: `… * on (autoscaler) group_left (label_team) autoscaler_labels`."""
    shown = Shown()
    labels = (("a.b", "1"), ("a_b", "2"), ("example.org/team", "shop"))
    shown.configure(replace(scaler("web"), labels=labels), scaler("job"))
    assert shown.series("labels") == [
        {"autoscaler": "web", "label_a_b": "1", "label_a_b_conflict1": "2", "label_example_org_team": "shop"}
    ]


def test_the_first_warning_of_each_target_is_known() -> None:
    """A target without one, or without a decision, is no problem of the daemon."""
    shown = Shown("web", "api", "new")
    shown.ended(decision(warnings=("worker web-3 ended", "no ports")), decision("api"))
    assert shown.metrics._latest.warnings() == {"web": "worker web-3 ended"}
