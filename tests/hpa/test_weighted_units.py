"""Instances of a weighted group count in units for sizes and averages, and one by one where instances are counted."""

from autoscaler.changed import changed
from autoscaler.model import Decision, MetricType, TargetType
from autoscaler.view.metric import unmeasured
from tests.decide.build import first_decision, instances, metric, samples, scaler, state
from tests.replaced import replace

LOAD = metric(MetricType.PODS, TargetType.AVERAGE_VALUE, 600)


def _decided(weights: list[int], measured: int) -> Decision:
    """Return the decision of a group with instances of these weights, of which the first ones have a sample."""
    members = tuple(replace(one, weight=weight) for one, weight in zip(instances(len(weights)), weights, strict=True))
    group = replace(state(sum(weights), members), status_replicas=sum(weights))
    return first_decision(scaler(LOAD, maximum=1000), group, samples([600] * measured))


def test_most_of_a_weighted_group_missing_is_noticed() -> None:
    """Of three instances of weight 10 two have no sample: 2 of 12 would hide it."""
    made = _decided([10, 10, 10], 1)
    (outcome,) = made.metrics
    assert (outcome.ready, outcome.missing, outcome.running) == (10, ("i-1", "i-2"), 3)
    assert outcome.missing_ratio == 2 / 3
    assert outcome.mostly_missing
    assert unmeasured(made.metrics) == "2 of 3 instances have no sample of load: i-1, i-2"


def test_the_share_of_missing_instances_is_the_same_with_and_without_weights() -> None:
    """The metric and its alert count instances."""
    for weight in (1, 2, 64):
        for measured in (1, 2, 3, 4):
            (outcome,) = _decided([weight] * 4, measured).metrics
            assert outcome.missing_ratio == (4 - measured) / 4
            assert outcome.mostly_missing == (measured == 1)


def test_instances_of_different_weights_count_one_by_one() -> None:
    """One large instance with a sample stands for three small ones."""
    (outcome,) = _decided([8, 1, 1, 1], 1).metrics
    assert (outcome.ready, outcome.running, outcome.missing_ratio) == (8, 4, 3 / 4)


def test_the_loss_of_most_samples_is_a_change_worth_a_line() -> None:
    """As in a group without weights."""
    assert changed(_decided([10, 10, 10], 3), _decided([10, 10, 10], 1))
