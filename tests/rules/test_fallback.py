"""When a fallback replaces a metric without a value, and what it must never do."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaler.decide import apply_outcome, decide
from autoscaler.model import (
    Behavior,
    ConditionType,
    Direction,
    Failure,
    MetricType,
    Observation,
    Query,
    Reading,
    ScalingRules,
    SelectPolicy,
    TargetType,
    Written,
)
from tests.decide.build import CPU_60, QUEUE_15, metric, samples, scaler, state, value
from tests.decide.outage import (
    CALM,
    DOWN,
    Outage,
    WithFallback,
    condition,
    covered,
    event_reasons,
    remembered,
    with_fallback,
)
from tests.replaced import replace


def test_before_the_failure_duration_the_fallback_has_no_effect() -> None:
    """A failed scrape or two is no outage.

    KEDA scaled to the fallback at the first failure, whatever `failureThreshold` said, if the source was unreachable
    (kedacore/keda 6053).
    """
    life = Outage(covered(with_fallback()))
    for seconds in (0, 60, 119, 0.9):
        decision = life.cycle(DOWN, after=seconds)
        assert (decision.current, decision.desired, decision.change) == (3, None, None)
        assert (condition(decision).status, condition(decision).reason) == (False, "FallbackPending")
    assert "no value since 2026-01-01T12:00:00+00:00; its fallback takes effect at 2026-01-01T12:03:00" in (
        condition(decision).message
    )


def test_after_the_failure_duration_the_metric_proposes_the_replicas() -> None:
    decision = Outage(covered(with_fallback())).until_fallback(DOWN)
    assert decision.metrics[0].proposal == 10
    assert decision.change is not None
    assert decision.change.reason == "the fallback of external metric queue asks for more"
    assert apply_outcome(decision, Written(decision.change.size)).events[-1].direction is Direction.OUT
    active = condition(decision)
    assert (active.status, active.reason) == (True, "MetricUnavailable")
    assert active.message == (
        "external metric queue has had no value since 2026-01-01T12:01:00+00:00; its fallback is in effect"
    )


def test_the_metric_still_counts_as_failed() -> None:
    """Otherwise operators would not notice an outage that a fallback hides."""
    decision = Outage(covered(with_fallback())).until_fallback(DOWN)
    assert decision.error == "1 of 1 metrics failed, first external metric queue: connection refused"
    assert decision.metrics[0].failed
    assert decision.metrics[0].on_fallback
    assert event_reasons(decision) == ["FailedGetExternalMetric", "MetricFallbackStarted", "SuccessfulRescale"]


def test_a_value_between_failures_restarts_the_duration() -> None:
    """The duration is that of one failure, not the sum of several."""
    life = Outage(covered(with_fallback(), behavior=CALM))
    for _ in range(3):
        life.cycle(DOWN)
    life.cycle(value(45_000))
    assert condition(life.cycle(DOWN, after=170)).reason == "FallbackPending"
    assert condition(life.cycle(DOWN, after=179)).reason == "FallbackPending"
    assert condition(life.cycle(DOWN, after=1)).status


def test_the_first_value_ends_the_fallback() -> None:
    life = Outage(covered(with_fallback(), behavior=CALM))
    life.until_fallback(DOWN)
    decision = life.cycle(value(60_000))
    assert (decision.current, decision.desired, decision.error) == (7, 4, None)
    assert (condition(decision).status, condition(decision).reason) == (False, "MetricsAvailable")
    assert event_reasons(decision) == ["MetricFallbackEnded", "SuccessfulRescale"]


EITHER = (
    # other metric, size, fallback's replicas, allowScaleIn -> what is wanted
    (value(45_000), 3, 10, False, 10),
    (value(180_000), 3, 10, False, 12),
    (value(180_000), 15, 10, False, 15),
    (value(180_000), 15, 10, True, 12),
    (value(45_000), 15, 10, True, 10),
    (value(45_000), 15, 10, False, 15),
    (value(0), 3, 1, True, 1),
    (value(0), 3, 1, False, 3),
    (value(45_000), 3, 3, False, 3),
)


@pytest.mark.parametrize(("other", "size", "replicas", "allow", "wanted"), EITHER)
def test_the_fallback_is_one_proposal_among_the_metrics(
    other: Reading, size: int, replicas: int, allow: bool, wanted: int
) -> None:
    """The largest proposal wins, and a fallback below the current size needs allowScaleIn.

    KEDA set the size to the fallback's replicas although cpu was read and asked for more (kedacore/keda 6659).
    """
    healthy = replace(QUEUE_15, name="healthy")
    specs = (with_fallback(replicas=replicas, allow_scale_in=allow), healthy)
    quick = Behavior(ScalingRules(timedelta(0), SelectPolicy.MAX, CALM.scale_up.policies), CALM.scale_down)
    history = remembered(covered(*specs), size)
    life = Outage(covered(*specs, behavior=quick), size, history)
    decision = life.cycle(DOWN, other, after=0)
    assert condition(decision).status
    assert max(decision.metrics[0].proposal or 0, decision.metrics[1].proposal or 0) == wanted
    assert decision.trace[0].after == wanted


def test_the_larger_of_two_fallbacks_wins() -> None:
    """KEP-5679 proposes so for several metrics that fail together."""
    second = with_fallback(replace(QUEUE_15, name="second"), replicas=5)
    decision = Outage(covered(with_fallback(), second)).until_fallback(DOWN, DOWN)
    assert [each.proposal for each in decision.metrics] == [10, 5]
    assert decision.trace[0].after == 10


def test_two_metrics_of_one_name_each_have_their_own_duration() -> None:
    twins = (with_fallback(replicas=6), with_fallback(replicas=9))
    life = Outage(covered(*twins))
    life.cycle(DOWN, value(0))
    life.cycle(DOWN, DOWN)
    life.cycle(DOWN, DOWN)
    assert [each.proposal for each in life.cycle(DOWN, DOWN).metrics] == [6, None]


def test_a_metric_without_a_fallback_still_keeps_the_size() -> None:
    """A failed metric without a proposal might ask for more than the fallback, so the target does not scale in."""
    specs = (with_fallback(allow_scale_in=True, replicas=2), replace(QUEUE_15, name="other"))
    life = Outage(covered(*specs), size=5)
    for _ in range(4):
        decision = life.cycle(DOWN, DOWN)
    assert (decision.desired, decision.change) == (None, None)
    active = condition(decision, ConditionType.SCALING_ACTIVE)
    assert (active.status, active.reason) == (False, "FailedGetExternalMetric")


def test_a_fallback_may_scale_out_beside_a_metric_that_failed() -> None:
    """HPA's rule for any proposal above the current size."""
    specs = (replace(QUEUE_15, name="other"), with_fallback())
    decision = Outage(covered(*specs), size=5).until_fallback(DOWN, DOWN)
    assert decision.desired == 10
    assert condition(decision, ConditionType.SCALING_ACTIVE).status


def test_bounds_hold() -> None:
    decision = Outage(covered(with_fallback(replicas=50), maximum=8, behavior=Behavior())).until_fallback(DOWN)
    limited = condition(decision, ConditionType.SCALING_LIMITED)
    assert (limited.status, limited.reason) == (True, "ScaleUpLimit")
    assert decision.desired == 7  # 4 more at a time


def test_policies_and_windows_hold() -> None:
    """A fallback that scales in waits for the stabilization window like any metric."""
    life = Outage(covered(with_fallback(replicas=2, allow_scale_in=True), behavior=Behavior()), size=8)
    decision = life.until_fallback(DOWN)
    assert decision.metrics[0].proposal == 2
    assert condition(decision, ConditionType.ABLE_TO_SCALE).reason == "ScaleDownStabilized"
    assert decision.change is None


@pytest.mark.parametrize(
    "kind",
    [MetricType.RESOURCE, MetricType.CONTAINER_RESOURCE, MetricType.PODS, MetricType.OBJECT, MetricType.EXTERNAL],
)
def test_every_type_of_metric_may_have_a_fallback(kind: MetricType) -> None:
    """Kubernetes allows fallbacks for External metrics only, because the cluster provides the others."""
    spec = with_fallback(metric(kind, TargetType.AVERAGE_VALUE, 1000))
    assert Outage(covered(spec)).until_fallback(DOWN).metrics[0].proposal == 10


def test_a_metric_whose_samples_match_no_instance_has_no_value() -> None:
    """Prometheus answers, but no sample can be used."""
    spec = with_fallback(CPU_60)
    decision = Outage(covered(spec)).until_fallback(samples({}))
    assert decision.metrics[0].proposal == 10


def by_query(*, allow_scale_in: bool = False) -> WithFallback:
    return with_fallback(query=Query("crude"), allow_scale_in=allow_scale_in)


def test_the_fallbacks_query_gives_the_value() -> None:
    """The fallback's value is compared with the metric's own target: 105 / 15."""
    life = Outage(covered(by_query()))
    decision = life.until_fallback(DOWN, fallbacks=[value(105_000)])
    assert decision.metrics[0].proposal == 7
    assert decision.metrics[0].detail == "fallback's query: 35, 105 in total, 15 for each"
    assert decision.metrics[0].current is None
    assert decision.error is not None


def test_before_the_failure_duration_the_fallbacks_query_decides_nothing() -> None:
    decision = Outage(covered(by_query())).cycle(DOWN, fallbacks=[value(105_000)])
    assert decision.metrics[0].proposal is None


def test_the_fallbacks_query_is_joined_to_instances_like_the_metric() -> None:
    spec = with_fallback(CPU_60, query=Query("crude"))
    decision = Outage(covered(spec)).until_fallback(DOWN, fallbacks=[samples([1000] * 3)])
    assert decision.metrics[0].proposal == 5
    assert decision.metrics[0].detail == "fallback's query: 100%, ratio 1.667 x 3 ready"


@pytest.mark.parametrize(("allow", "proposal"), [(False, 3), (True, 1)])
def test_the_fallbacks_query_scales_in_only_with_allow_scale_in(allow: bool, proposal: int) -> None:
    life = Outage(covered(by_query(allow_scale_in=allow)))
    assert life.until_fallback(DOWN, fallbacks=[value(15_000)]).metrics[0].proposal == proposal


def test_a_fallback_whose_query_fails_has_no_effect() -> None:
    """The size stays as without a fallback, and the decision gives both errors."""
    life = Outage(covered(by_query()))
    decision = life.until_fallback(DOWN, fallbacks=[Failure("no such series")])
    assert (decision.desired, decision.change) == (None, None)
    assert decision.metrics[0].error == "connection refused; the query of its fallback failed too: no such series"
    assert (condition(decision).status, condition(decision).reason) == (False, "FallbackQueryFailed")
    assert condition(life.cycle(DOWN, fallbacks=[value(105_000)])).status
    ended = life.cycle(DOWN, fallbacks=[Failure("no such series")])
    assert "MetricFallbackEnded" in event_reasons(ended)


loads = st.lists(st.tuples(st.integers(0, 400_000) | st.none(), st.integers(0, 400_000)), min_size=5, max_size=25)


def reading(load: int | None) -> Reading | Failure:
    return DOWN if load is None else value(load)


@given(loads, st.integers(1, 60), st.integers(1, 40))
def test_a_fallback_never_lowers_the_desired_size(load: list[tuple[int | None, int]], replicas: int, size: int) -> None:
    """While the metric has no value, the size is at least what HPA would set without a fallback."""
    healthy = replace(QUEUE_15, name="healthy")
    life = Outage(covered(with_fallback(replicas=replicas), healthy, behavior=CALM), size)
    for failing, other in load:
        before, now, history = life.size, life.now + timedelta(seconds=60), life.history
        plain = decide(scaler(QUEUE_15, healthy, behavior=CALM), seen(before, failing, other), history, now)
        decision = life.cycle(reading(failing), reading(other))
        if failing is None:
            assert life.size >= before
            assert life.size >= (before if plain.desired is None else plain.desired)
        else:
            assert decision.desired == plain.desired


def seen(size: int, *loads: int | None) -> Observation:
    return Observation(state(size), tuple(map(reading, loads)))


def test_only_the_cycles_own_time_counts() -> None:
    """The decision reads no clock: the same arguments give the same decision."""
    autoscaler, now = covered(with_fallback()), datetime.fromisoformat("2030-01-01T00:00:00+00:00")
    history = remembered(autoscaler, 3)
    observed = Observation(state(3), (DOWN,))
    assert decide(autoscaler, observed, history, now) == decide(autoscaler, observed, history, now)
