"""Properties of every configuration and every load."""

from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from autoscaler.model import (
    Behavior,
    ControllerOptions,
    Failure,
    MetricType,
    PolicyType,
    Reading,
    ScalingPolicy,
    ScalingRules,
    SelectPolicy,
    TargetType,
)
from tests.decide.build import Life, first_decision, metric, samples, scaler, state, value
from tests.replaced import replace

PERIOD = timedelta(seconds=60)
QUEUE = metric(MetricType.EXTERNAL, TargetType.AVERAGE_VALUE, 10_000, "queue")
PER_INSTANCE = metric(MetricType.PODS, TargetType.AVERAGE_VALUE, 1000)

policies = st.lists(
    st.builds(
        ScalingPolicy,
        st.sampled_from(PolicyType),
        st.integers(1, 120),
        st.integers(1, 90).map(lambda s: timedelta(seconds=s)),
    ),
    min_size=1,
    max_size=3,
).map(tuple)
rules = st.builds(
    ScalingRules,
    st.integers(0, 120).map(lambda s: timedelta(seconds=s)),
    st.sampled_from([SelectPolicy.MAX, SelectPolicy.MIN]),
    policies,
    st.none() | st.floats(0, 0.5),
)
behaviors = st.none() | st.builds(Behavior, rules, rules)
bounds = st.tuples(st.integers(1, 20), st.integers(0, 40)).map(lambda pair: (pair[0], pair[0] + pair[1]))
readings = st.integers(0, 500_000).map(value) | st.just(Failure("down"))
loads = st.lists(readings, min_size=1, max_size=20)


@given(bounds, behaviors, loads, st.data())
def test_a_size_inside_the_bounds_stays_inside(
    limits: tuple[int, int], behavior: Behavior | None, load: list[Reading | Failure], data: st.DataObject
) -> None:
    minimum, maximum = limits
    life = Life(scaler(QUEUE, minimum=minimum, maximum=maximum, behavior=behavior), data.draw(st.integers(*limits)))
    for reading in load:
        life.step(reading, after=15)
        assert minimum <= life.size <= maximum


@given(loads, st.sampled_from(["up", "down"]), policies)
def test_a_disabled_direction_never_moves(
    load: list[Reading | Failure], direction: str, allowed: tuple[ScalingPolicy, ...]
) -> None:
    disabled = ScalingRules(timedelta(0), SelectPolicy.DISABLED, allowed)
    behavior = Behavior(scale_up=disabled) if direction == "up" else Behavior(scale_down=disabled)
    life = Life(scaler(QUEUE, behavior=behavior), 20)
    for reading in load:
        before = life.size
        life.step(reading, after=15)
        assert life.size <= before if direction == "up" else life.size >= before


@given(loads, st.integers(1, 10), st.integers(1, 10))
def test_no_step_exceeds_its_policy(load: list[Reading | Failure], up: int, down: int) -> None:
    """A policy of n Pods a minute: no size is more than n above or below the size of a minute before."""
    behavior = Behavior(
        ScalingRules(timedelta(0), SelectPolicy.MAX, (ScalingPolicy(PolicyType.PODS, up, PERIOD),)),
        ScalingRules(timedelta(0), SelectPolicy.MAX, (ScalingPolicy(PolicyType.PODS, down, PERIOD),)),
    )
    life = Life(scaler(QUEUE, behavior=behavior), 20)
    sizes = [life.size]
    for reading in load:
        life.step(reading, after=15)
        sizes.append(life.size)
    for index in range(1, len(sizes)):
        start = sizes[max(0, index - 4)]  # changes 15, 30 and 45 s ago lie within the period
        if sizes[index] > sizes[index - 1]:
            assert sizes[index] <= start + up
        if sizes[index] < sizes[index - 1]:
            assert sizes[index] >= start - down


@given(
    st.integers(1, 30).flatmap(
        lambda count: st.tuples(*[st.lists(st.integers(0, 5000), min_size=count, max_size=count)] * 2)
    ),
    st.floats(0, 0.3),
)
@settings(max_examples=300)
def test_more_load_never_means_fewer_replicas(loads: tuple[list[int], list[int]], tolerance: float) -> None:
    """If every instance is ready and has a sample, the proposal grows with the load."""
    less = [min(pair) for pair in zip(*loads, strict=True)]
    more = [max(pair) for pair in zip(*loads, strict=True)]
    size = len(less)
    tolerant = replace(scaler(PER_INSTANCE), options=ControllerOptions(tolerance))
    low = first_decision(tolerant, state(size), samples(less)).metrics[0].proposal
    high = first_decision(tolerant, state(size), samples(more)).metrics[0].proposal
    assert low is not None
    assert high is not None
    assert low <= high
