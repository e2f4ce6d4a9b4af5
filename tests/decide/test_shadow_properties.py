"""A dry run's sizes are those of the same autoscaler, live, under the same load."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from autoscaler.model import Behavior, MetricType, TargetType
from tests.decide.build import CPU_60, QUEUE_15, metric, scaler
from tests.decide.shadowing import SimulatedTarget
from tests.decide.test_properties import behaviors

INFLIGHT_10 = metric(MetricType.PODS, TargetType.AVERAGE_VALUE, 10_000, "inflight")
loads = st.lists(st.tuples(st.integers(0, 400_000), st.sampled_from([1, 15, 60, 301])), min_size=1, max_size=30)


@given(loads, behaviors, st.integers(1, 30), st.sampled_from([(INFLIGHT_10,), (QUEUE_15, INFLIGHT_10), (CPU_60,)]))
def test_a_dry_run_decides_what_a_live_one_decides(
    load: list[tuple[int, int]], behavior: Behavior | None, size: int, metrics: tuple[object, ...]
) -> None:
    """Both agree exactly, however often the size changes, because the model conserves the load."""
    one = scaler(*metrics, minimum=1, maximum=40, behavior=behavior)  # type: ignore[arg-type]  # metrics
    live, dry = SimulatedTarget(one, size, dry=False), SimulatedTarget(one, size)
    for drawn, after in load:
        total = drawn // 40 if metrics == (CPU_60,) else drawn
        expected, found = live.cycle(total, after=after), dry.cycle(total, after=after)
        assert (found.desired, found.shadow) == (expected.desired, expected.current)
        assert [each.proposal for each in found.metrics] == [each.proposal for each in expected.metrics]
        assert dry.history.recommendations == live.history.recommendations
        assert dry.history.scale_ups == live.history.scale_ups
        assert dry.history.scale_downs == live.history.scale_downs
    assert dry.size == size


@given(loads, behaviors, st.integers(0, 30), st.lists(st.integers(0, 30), min_size=30, max_size=30))
def test_a_shadow_is_never_impossible(
    load: list[tuple[int, int]], behavior: Behavior | None, size: int, others: list[int]
) -> None:
    """Whatever size other clients give the target meanwhile."""
    simulated = SimulatedTarget(scaler(QUEUE_15, INFLIGHT_10, minimum=0, maximum=40, behavior=behavior), size)
    for (total, after), other in zip(load, others, strict=False):
        made = simulated.cycle(total, after=after)
        shadow = simulated.shadow
        assert sum(each.units for each in shadow.starting) <= shadow.size
        assert 0 <= shadow.ready(simulated.now) <= shadow.size
        assert shadow.start_up > timedelta(0)
        assert made.current == simulated.size
        simulated.resize(other)
