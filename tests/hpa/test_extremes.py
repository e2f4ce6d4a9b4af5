"""Sizes are int32 and values 63 bits. Anything larger counts as the maximum."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaler.decide import apply_outcome
from autoscaler.model import (
    MAX_SIZE,
    Instance,
    InstanceReading,
    MetricType,
    Observation,
    Phase,
    Reading,
    Sample,
    TargetState,
    TargetType,
    Written,
)
from autoscaler.quantity import MAX_MILLI
from autoscaler.record.evaluation import decision_columns, decision_from
from autoscaler.record.times import to_micros
from tests.decide.build import LONG_AGO, NOW, first_decision, metric, proposals, samples, scaler, state, value

HUGE = 9_200_000_000_000_000_000
"""9.2e15 in thousandths: one sample that still fits 63 bits."""
KINDS = [
    (MetricType.EXTERNAL, TargetType.AVERAGE_VALUE, value(HUGE, HUGE, HUGE)),
    (MetricType.EXTERNAL, TargetType.VALUE, value(HUGE, HUGE, HUGE)),
    (MetricType.OBJECT, TargetType.VALUE, value(HUGE)),
    (MetricType.PODS, TargetType.AVERAGE_VALUE, samples([HUGE] * 3)),
    (MetricType.RESOURCE, TargetType.AVERAGE_VALUE, samples([HUGE] * 3)),
    (MetricType.RESOURCE, TargetType.UTILIZATION, samples([HUGE] * 3, request=1)),
]


@pytest.mark.parametrize(("kind", "target", "reading"), KINDS)
def test_a_load_beyond_all_sizes_asks_for_the_largest(kind: MetricType, target: TargetType, reading: Reading) -> None:
    """A counter in nanoseconds against a target of 1m: HPA's casts would make it negative."""
    made = first_decision(scaler(metric(kind, target, 1), maximum=10), state(3), reading)
    assert proposals(made) == [MAX_SIZE]
    assert (made.desired, made.error) == (6, None)  # the step up that the algorithm without `behavior` allows
    assert made.change is not None
    assert made.trace[-1].after == 6


def test_a_sum_of_samples_ends_at_63_bits() -> None:
    (only,) = first_decision(
        scaler(metric(MetricType.EXTERNAL, TargetType.VALUE, 1)), state(3), value(HUGE, HUGE)
    ).metrics
    assert only.value == MAX_MILLI


def test_requests_that_add_up_beyond_63_bits_are_no_reason_to_scale_out() -> None:
    made = first_decision(
        scaler(metric(MetricType.RESOURCE, TargetType.UTILIZATION, 50)), state(3), samples([0] * 3, request=HUGE)
    )
    assert proposals(made) == [0]


thousandths = st.integers(0, MAX_MILLI) | st.sampled_from([0, 1, HUGE, MAX_MILLI])
sizes = st.integers(0, MAX_SIZE) | st.sampled_from([0, 1, MAX_SIZE])


@st.composite
def observations(draw: st.DrawFn) -> Observation:
    """Draw observations of three metrics at the edges of the allowed values."""
    members = tuple(
        Instance(str(n), draw(st.sampled_from(Phase)), draw(st.booleans()), LONG_AGO, LONG_AGO, weight=draw(sizes) or 1)
        for n in range(draw(st.integers(0, 4)))
    )
    measured = {
        each.name: Sample(draw(thousandths), NOW, timedelta(minutes=1)) for each in members if draw(st.booleans())
    }
    readings = (
        value(*draw(st.lists(thousandths, min_size=1, max_size=3))),
        InstanceReading(measured, {each.name: draw(thousandths) for each in members}),
        InstanceReading(measured, {}),
    )
    return Observation(TargetState(draw(sizes), draw(sizes), members), readings)


@given(observations(), st.integers(1, MAX_MILLI), st.integers(1, MAX_SIZE), st.sampled_from([1, 10, MAX_SIZE]))
def test_every_input_is_decided_and_can_be_stored(
    observed: Observation, target: int, percent: int, maximum: int
) -> None:
    """Every number fits into the state, the metrics and each back end."""
    one = scaler(
        metric(MetricType.EXTERNAL, TargetType.AVERAGE_VALUE, target),
        metric(MetricType.RESOURCE, TargetType.UTILIZATION, percent),
        metric(MetricType.PODS, TargetType.AVERAGE_VALUE, target),
        maximum=maximum,
    )
    assert isinstance(observed.target, TargetState)
    made = first_decision(one, observed.target, *observed.readings)
    for outcome in made.metrics:
        assert outcome.proposal is None or 0 <= outcome.proposal <= MAX_SIZE
        assert (outcome.average_utilization or 0) <= MAX_SIZE
        assert max(outcome.value or 0, outcome.average_value or 0) <= MAX_MILLI
    concluded = made if made.change is None else apply_outcome(made, Written(made.change.size))
    columns = decision_columns(concluded)
    kept = decision_from(columns, to_micros(NOW), made.name, made.target)
    assert decision_columns(kept) == columns  # compares bytes, because NaN does not equal itself
