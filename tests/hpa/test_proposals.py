"""What is said of a metric's proposal. The arithmetic is held by tests/conformance."""

import math
from datetime import timedelta

from autoscaler.hpa.calculator import Tolerances, shared_value
from autoscaler.hpa.proposals import propose
from autoscaler.model import ConditionType, Instance, MetricType, Phase, TargetType
from tests.decide.build import (
    CPU_60,
    NOW,
    QUEUE_15,
    first_decision,
    instances,
    metric,
    proposals,
    samples,
    scaler,
    state,
    value,
)
from tests.replaced import replace

PODS_100M = metric(MetricType.PODS, TargetType.AVERAGE_VALUE, 100)


def test_a_missing_request_changes_nothing_and_says_which() -> None:
    """Without a request there is no utilization. The size stays, and the error names what to set."""
    reading = samples([1000] * 3)
    decision = first_decision(scaler(CPU_60), state(3), replace(reading, requests={"i-0": 1000, "i-2": 1000}))
    assert decision.change is None
    active = next(condition for condition in decision.conditions if condition.type is ConditionType.SCALING_ACTIVE)
    assert (active.status, active.reason) == (False, "FailedGetResourceMetric")
    assert "instance i-1 has no cpu request" in active.message
    assert "set `request`" in active.message


def test_the_first_of_equal_proposals_is_named() -> None:
    decision = first_decision(scaler(QUEUE_15, CPU_60), state(3), value(75_000), samples([1000] * 3))
    assert proposals(decision) == [5, 5]
    assert decision.change is not None
    assert decision.change.reason == "external metric queue above target"


def test_missing_instances_are_assumed_busy_when_the_others_say_scale_in() -> None:
    """Two of four report 30 % against 60. With the other two at 100 % the size stays."""
    reading = samples({"i-0": 300, "i-1": 300})
    reading = replace(reading, requests={f"i-{n}": 1000 for n in range(4)})
    decision = first_decision(scaler(CPU_60), state(4), reading)
    assert proposals(decision) == [4]
    assert decision.metrics[0].missing == ("i-2", "i-3")
    assert (
        decision.metrics[0].detail
        == "ratio 1.083, assuming that 2 instances without a sample are at 100 % of the request: no change"
    )


def test_a_starting_instance_counts_as_idle_when_the_others_say_scale_out() -> None:
    """Three at 100 % against 60 ask for 5. With a fourth one starting, 3 x 100 / 4 = 75 % still asks for 5."""
    starting = Instance("i-3", Phase.PENDING, ready=False)
    decision = first_decision(scaler(CPU_60), state(4, [*instances(3), starting]), samples([1000] * 4))
    assert decision.metrics[0].not_ready == ("i-3",)
    assert proposals(decision) == [5]
    assert decision.metrics[0].detail == "ratio 1.250 x 4, assuming that 1 instance not ready is at 0"


def test_instances_assumed_idle_are_named_with_the_reason() -> None:
    """A missing sample and a starting instance are two reasons for the same zero."""
    starting = Instance("i-3", Phase.PENDING, ready=False)
    decision = first_decision(scaler(PODS_100M), state(4, [*instances(3), starting]), samples([200, 200]))
    assert proposals(decision) == [4]
    assert decision.metrics[0].detail == (
        "ratio 1.000, assuming that 1 instance without a sample and 1 instance not ready are at 0: no change"
    )


def test_at_the_target_nothing_is_assumed() -> None:
    """At a ratio of 1 no assumption can reverse the direction."""
    decision = first_decision(scaler(PODS_100M), state(3), samples([100, 100]))
    assert proposals(decision) == [3]
    assert decision.metrics[0].detail == "within the tolerance of 10 %"


def test_weighted_instances_count_units() -> None:
    """Two machines of 2 and 1 units carry 6 against 1 a unit: the average is 2 and the size, in units, doubles."""
    big, small = instances(2)
    workers = [replace(big, weight=2), small]
    per_unit = metric(MetricType.PODS, TargetType.AVERAGE_VALUE, 1000)
    decision = first_decision(scaler(per_unit), state(3, workers), samples([4000, 2000]))
    assert decision.metrics[0].average_value == 2000
    assert proposals(decision) == [6]


def test_the_ratio_of_a_load_without_replicas_is_infinite() -> None:
    """Without load there is no ratio."""
    no_tolerance = Tolerances(0.0, 0.0)
    assert shared_value(0, 1, 1000, no_tolerance).usage.ratio == math.inf
    assert math.isnan(shared_value(0, 0, 1000, no_tolerance).usage.ratio)


def test_a_load_of_zero_without_replicas_has_no_ratio() -> None:
    """NaN would not equal itself after it was recorded, so that a replay would find another decision."""
    outcome = propose(scaler(QUEUE_15, minimum=0), QUEUE_15, value(0), state(0), NOW).outcome
    assert (outcome.ratio, outcome.proposal) == (None, 0)


def test_a_metric_without_matches_lists_its_samples() -> None:
    """The most common mistake in a new setup: the label does not name the instance."""
    reading = replace(samples({}), unmatched=('instance="a"', 'instance="b"'))
    decision = first_decision(scaler(PODS_100M), state(2), reading)
    assert decision.metrics[0].error == (
        'no sample matches an instance: the samples have instance="a", instance="b", but i-0 is known as i-0; let a '
        "label of the samples have such a value, and name that label by `instanceLabel`"
    )


def test_shortly_after_a_start_unmatched_samples_are_not_a_wrong_label() -> None:
    """The label is right, but Prometheus has not scraped the new instances; the configuration is correct."""
    reading = replace(samples({}), unmatched=('instance_id="web-1"',))
    started = NOW - timedelta(seconds=119)
    new = [replace(each, started_at=started) for each in instances(2)]
    error = first_decision(scaler(PODS_100M), state(2, new), reading).metrics[0].error
    assert error == (
        'no sample matches an instance: the samples have instance_id="web-1", but i-0 is known as i-0; the instances '
        "were started less than 2m ago, and a new instance has no sample until Prometheus has scraped it"
    )
    one_old = [new[0], replace(new[1], started_at=NOW - timedelta(seconds=120))]
    error = first_decision(scaler(PODS_100M), state(2, one_old), reading).metrics[0].error
    assert error is not None
    assert error.endswith("name that label by `instanceLabel`")


def test_a_metric_without_matches_counts_the_samples_it_does_not_list() -> None:
    """A shared query may return a whole fleet's samples. Three names and the number identify the fleet."""
    names = tuple(f'instance="{number:02}"' for number in range(20))
    decision = first_decision(scaler(PODS_100M), state(2), replace(samples({}), unmatched=names, more_unmatched=480))
    assert decision.metrics[0].error is not None
    assert ', instance="02" and 497 more, but i-0 is known as ' in decision.metrics[0].error
    assert (decision.metrics[0].unmatched, decision.metrics[0].more_unmatched) == (names, 480)
