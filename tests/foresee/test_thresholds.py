"""What would have to change for a metric to ask for another size."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaler.foresee.thresholds import Thresholds, thresholds
from autoscaler.hpa.proposals import propose
from autoscaler.model import (
    Failure,
    Instance,
    InstanceReading,
    MetricOutcome,
    MetricSpec,
    MetricType,
    Phase,
    Reading,
    Sample,
    TargetState,
    TargetType,
)
from tests.decide.build import CPU_60, LONG_AGO, NOW, QUEUE_15, instances, metric, samples, scaler, state, value
from tests.replaced import replace

INFLIGHT_100 = metric(MetricType.PODS, TargetType.AVERAGE_VALUE, 100_000, "inflight")
SCORE_10 = metric(MetricType.OBJECT, TargetType.VALUE, 10_000, "score")


def asked(spec: MetricSpec, reading: Reading | Failure, target: TargetState) -> MetricOutcome:
    """What the metric asks for, as `decide` finds it."""
    return propose(scaler(spec), spec, reading, target, NOW).outcome


def found(spec: MetricSpec, reading: Reading | Failure, target: TargetState) -> Thresholds | None:
    return thresholds(scaler(spec), spec, reading, asked(spec, reading, target), target, NOW)


@pytest.mark.parametrize(("size", "above", "below"), [(3, 66, 41), (10, 66, 54), (100, 66, 54), (1, 66, 1)])
def test_utilization_is_exact_to_the_percent(size: int, above: int, below: int | None) -> None:
    """At 3 replicas the tolerance is not what keeps them: two would have to be enough (2/3 of 60 %)."""
    limits = found(CPU_60, samples([600] * size), state(size))
    assert limits is not None
    assert (limits.above, limits.below) == (above, below)


def test_a_shared_value_is_per_replica() -> None:
    limits = found(QUEUE_15, value(30_000), state(3))
    assert limits is not None
    assert (limits.above, limits.below) == (16_500, 10_001)


def test_from_zero_any_value_wakes_it() -> None:
    limits = found(SCORE_10, value(0), TargetState(0, 0, ()))
    assert limits is not None
    assert (limits.above, limits.below) == (0, None)


def test_a_metric_that_failed_has_none() -> None:
    assert found(CPU_60, Failure("no answer"), state(3)) is None


def test_no_threshold_is_found_while_the_instances_are_not_as_many_as_the_size() -> None:
    """Then HPA's arithmetic turns: 5 instances at 80 % of a size of 2 ask for 4, at 100 % for 2."""
    target = replace(state(5), replicas=2)
    assert asked(INFLIGHT_100, samples([80_000] * 5), target).proposal == 4
    assert asked(INFLIGHT_100, samples([100_000] * 5), target).proposal == 2
    assert found(INFLIGHT_100, samples([80_000] * 5), target) is None


@st.composite
def cases(draw: st.DrawFn) -> tuple[MetricSpec, Reading, TargetState]:
    """A metric of any kind on a target whose instances are as many as its size, some without a sample or not ready."""
    spec = draw(st.sampled_from([CPU_60, INFLIGHT_100, QUEUE_15, SCORE_10]))
    size = draw(st.integers(1, 12))
    if spec in (QUEUE_15, SCORE_10):
        return spec, value(draw(st.integers(0, 400_000))), state(size)
    kinds = draw(st.lists(st.sampled_from(["ready"] * 3 + ["missing", "pending"]), min_size=size, max_size=size))
    weights = draw(st.lists(st.integers(1, 3), min_size=size, max_size=size))
    workers = [
        replace(each, weight=weight, phase=Phase.PENDING if kind == "pending" else Phase.RUNNING)
        for each, kind, weight in zip(instances(size), kinds, weights, strict=True)
    ]
    loads = draw(st.lists(st.integers(0, 3_000), min_size=size, max_size=size))
    read = samples({each.name: load for each, load in zip(workers, loads, strict=True)})
    kept = {name: known for name, known in read.samples.items() if kinds[int(name[2:])] == "ready"}
    return spec, replace(read, samples=kept), replace(state(size, workers), replicas=sum(weights))


@given(cases(), st.data())
def test_past_a_threshold_decide_asks_for_another_size_and_before_it_does_not(
    case: tuple[MetricSpec, Reading, TargetState], data: st.DataObject
) -> None:
    """It is `decide` that has to agree, at any value."""
    spec, reading, target = case
    limits = found(spec, reading, target)
    if limits is None or not isinstance(reading, InstanceReading):
        tried: Reading = value(data.draw(st.integers(0, 500_000)))
    else:
        loads = data.draw(st.lists(st.integers(0, 400_000), min_size=1, max_size=1))
        tried = replace(
            reading, samples={name: replace(known, value=loads[0]) for name, known in reading.samples.items()}
        )
    outcome = asked(spec, tried, target)
    reached = outcome.current
    if limits is None or outcome.proposal is None or reached is None:
        return
    if limits.above is not None and reached > limits.above:
        assert outcome.proposal > target.replicas
    elif limits.below is not None and reached < limits.below:
        assert outcome.proposal < target.replicas
    elif reached not in (limits.above, limits.below):  # on the threshold, what is cut off decides
        assert outcome.proposal == target.replicas


@given(cases())
def test_the_readings_just_past_them_are_what_they_say(case: tuple[MetricSpec, Reading, TargetState]) -> None:
    spec, reading, target = case
    limits = found(spec, reading, target)
    if limits is None:
        return
    for tried, more in ((limits.reading_above, True), (limits.reading_below, False)):
        if tried is not None:
            proposal = asked(spec, tried, target).proposal
            assert proposal is not None
            assert proposal > target.replicas if more else proposal < target.replicas


def test_an_instance_that_is_starting_is_not_given_load() -> None:
    """Its cpu sample does not count, so no value of it would change anything."""
    starting = Instance("i-2", Phase.RUNNING, ready=False, ready_transition=NOW, started_at=NOW)
    workers = (*instances(2), starting)
    read = samples([600, 600, 0])
    limits = found(CPU_60, read, state(3, workers))
    assert limits is not None
    assert isinstance(limits.reading_above, InstanceReading)
    assert limits.reading_above.samples["i-2"] == Sample(0, NOW, read.samples["i-2"].window)
    assert LONG_AGO < NOW
