"""The explanation of a decision, and whether its predictions come true."""

from collections.abc import Sequence
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaler.decide import decide
from autoscaler.errors import TargetUnavailable
from autoscaler.model import (
    DEFAULT_SCALE_DOWN,
    DEFAULT_SCALE_UP,
    Behavior,
    Direction,
    Failure,
    Instance,
    ManualControls,
    MetricType,
    Observation,
    Override,
    Pause,
    Phase,
    PolicyType,
    Query,
    Rules,
    ScalingPolicy,
    SelectPolicy,
    TargetType,
)
from autoscaler.record.values import Record
from autoscaler.rules.fallback.keys import MetricFallback
from autoscaler.rules.warm_up import WarmUp
from autoscaler.view.explain import explanation
from autoscaler.view.explanation import Explanation
from tests.decide.build import CPU_60, LONG_AGO, NOW, QUEUE_15, instances, metric, samples, scaler, state, value
from tests.decide.outage import WithFallback, covered
from tests.replaced import replace
from tests.view.diary import STEP, Diary

SLOW_DOWN = Behavior(
    scale_up=replace(DEFAULT_SCALE_UP, policies=(ScalingPolicy(PolicyType.PODS, 2, timedelta(seconds=60)),)),
    scale_down=replace(
        DEFAULT_SCALE_DOWN,
        stabilization_window=timedelta(seconds=90),
        policies=(ScalingPolicy(PolicyType.PODS, 1, timedelta(seconds=40)),),
    ),
)


def test_the_largest_proposal_wins() -> None:
    diary = Diary(scaler(CPU_60, QUEUE_15))
    diary.step(samples([300] * 3, NOW + STEP), value(90_000))
    told = diary.explained()
    assert [(metric.name, metric.proposal, metric.wins) for metric in told.metrics] == [
        ("cpu", 2, False),
        ("queue", 6, True),
    ]


def test_of_equal_proposals_the_first_wins() -> None:
    diary = Diary(scaler(QUEUE_15, QUEUE_15))
    diary.step(value(90_000), value(90_000))
    assert [metric.wins for metric in diary.explained().metrics] == [True, False]


def test_the_time_at_which_a_recommendation_leaves_the_window_is_shown() -> None:
    told = Diary(scaler(CPU_60, behavior=SLOW_DOWN)).cpu(60, 60, 30)
    hold = told.stabilization
    assert hold is not None
    assert (hold.direction, hold.recommendation) == (Direction.IN, 3)
    assert hold.remaining_seconds == timedelta(seconds=75)
    assert told.if_unchanged is not None
    assert (told.if_unchanged.size, told.if_unchanged.in_seconds) == (2, timedelta(seconds=75))


def test_the_next_size_that_policies_allow_is_shown_with_its_time() -> None:
    told = Diary(scaler(CPU_60, behavior=SLOW_DOWN)).cpu(240)
    out, _ = told.policies
    assert told.written == 5
    assert (out.size, out.next_size, out.next_seconds) == (5, 7, timedelta(seconds=60))
    assert told.ways == ()


def test_a_disabled_direction_has_no_next_size() -> None:
    frozen = Behavior(scale_down=replace(DEFAULT_SCALE_DOWN, select_policy=SelectPolicy.DISABLED))
    told = Diary(scaler(CPU_60, behavior=frozen)).cpu(60)
    _, inward = told.policies
    assert (inward.size, inward.next_size) == (3, None)
    assert told.ways[1].earliest is None
    assert [step.reason for step in told.ways[1].hurdles] == ["ScaleDownLimit"]


def test_scale_in_needs_all_metrics_to_fall() -> None:
    diary = Diary(scaler(CPU_60, QUEUE_15))
    diary.step(samples([600] * 3, NOW + STEP), value(45_000))
    told = diary.explained()
    assert (
        "To scale out it takes average cpu above 66% or average queue above 16.5; at the earliest to 4 in 15s."
        in told.lines
    )
    assert (
        "To scale in it takes average cpu below 41% and average queue below 10; at the earliest to 2 in 5m15s."
        in told.lines
    )


def test_a_pause_prevents_the_change() -> None:
    steering = ManualControls(Pause(Direction.OUT, "ann", "sale", NOW, None))
    told = Diary(scaler(CPU_60), steering=steering).cpu(120)
    assert (told.current, told.desired, told.written) == (3, 6, None)
    assert told.if_unchanged is None
    assert any("paused by ann" in line for line in told.lines)


def test_a_change_is_predicted_for_the_end_of_a_pause() -> None:
    steering = ManualControls(Pause(Direction.OUT, "ann", "sale", NOW, NOW + timedelta(seconds=100)))
    told = Diary(scaler(CPU_60), steering=steering).cpu(120)
    assert told.if_unchanged is not None
    assert (told.if_unchanged.size, told.if_unchanged.in_seconds) == (6, timedelta(seconds=90))


def test_the_origin_of_the_bounds_is_shown() -> None:
    steering = ManualControls(override=Override(None, 4, "ann", "", NOW, None))
    told = Diary(scaler(CPU_60), steering=steering).cpu(120)
    assert told.bounds is not None
    assert (told.bounds.maximum, told.bounds.maximum_of) == (4, "the maximum set by ann")


def test_a_failed_metric_shows_its_error() -> None:
    diary = Diary(scaler(CPU_60))
    diary.step(Failure("no answer within 5s"))
    told = diary.explained()
    assert (told.metrics[0].error, told.metrics[0].wins, told.metrics[0].thresholds) == (
        "no answer within 5s",
        False,
        None,
    )
    assert told.desired is None
    assert any("no answer within 5s" in line for line in told.lines)


FALLEN = WithFallback(QUEUE_15, MetricFallback(timedelta(seconds=60), 9))


def test_an_active_fallback_is_shown_with_its_proposal() -> None:
    """Its size is not the one that the load needs."""
    diary = Diary(covered(FALLEN, CPU_60))
    for _ in range(5):
        diary.step(Failure("no answer"), samples([600] * diary.size, diary.now + STEP))
    queue, cpu = diary.explained().metrics
    assert (queue.on_fallback, queue.proposal, queue.wins, queue.thresholds) == (True, 9, True, None)
    assert (cpu.on_fallback, cpu.wins) == (False, False)
    first = "queue has no value: no answer; fallback: 9 replicas; one step from 3 ends at 6 -> 6"
    assert diary.explained().lines[:2] == (first, "queue has no value; fallback: 9 replicas -> 9")
    assert not any(each.startswith("Nothing is scaled in") for each in diary.explained().lines)


def test_the_predicted_start_of_a_fallback_comes_true() -> None:
    diary = Diary(covered(FALLEN))
    diary.step(Failure("no answer"))
    ahead = diary.explained().if_unchanged
    assert ahead is not None
    assert (ahead.in_seconds, ahead.size) == (timedelta(seconds=60), 6)  # no more than twice as many at a time
    for _ in range(3):
        assert diary.step(Failure("no answer")).change is None
    change = diary.step(Failure("no answer")).change
    assert change is not None
    assert change.size == ahead.size


def test_a_prediction_uses_the_query_of_a_fallback() -> None:
    """Its samples are assumed to stay fresh, as those of the metric are."""
    by_query = WithFallback(QUEUE_15, MetricFallback(timedelta(seconds=60), query=Query("crude")))
    diary = Diary(covered(by_query))
    diary.now += STEP
    observed = Observation(state(3), (Failure("no answer"),), (), (value(60_000),))
    made = decide(diary.autoscaler, observed, diary.history, diary.now)
    told = explanation(Record(diary.autoscaler, made, observed, diary.history))
    assert told.if_unchanged is not None
    assert told.if_unchanged.size == 4


def test_an_unreadable_target_shows_its_error() -> None:
    diary = Diary(scaler(CPU_60))
    diary.step(target=TargetUnavailable("fleet: no answer"))
    told = diary.explained()
    assert (told.current, told.bounds, told.ways) == (None, None, ())
    assert told.lines[0] == "the size could not be read: fleet: no answer"


def test_unused_samples_are_listed() -> None:
    diary = Diary(scaler(CPU_60))
    read = replace(samples([600, 600], NOW + STEP), unmatched=('instance="10.0.0.9"',))
    requests = {f"i-{n}": 1000 for n in range(3)}
    diary.step(replace(read, requests=requests))
    told = diary.explained().metrics[0].samples
    assert (told.read, told.ready, told.missing, told.unmatched) == (2, 2, ("i-2",), ('instance="10.0.0.9"',))


def test_instances_that_warm_up_are_named() -> None:
    """Their samples are read and do not count, which no other line says."""
    diary = Diary(replace(scaler(CPU_60), rules=Rules([WarmUp(STEP)])))
    new = Instance("i-2", Phase.RUNNING, ready=True, ready_transition=diary.now + STEP, started_at=LONG_AGO)
    diary.step(samples([600, 600, 900], NOW + STEP), target=state(3, [*instances(2), new]))
    told = diary.explained()
    assert (told.metrics[0].samples.warming, told.metrics[0].samples.missing) == (("i-2",), ())
    assert "1 instance warms up: i-2" in told.lines


def test_further_unused_samples_are_counted() -> None:
    diary = Diary(scaler(CPU_60))
    diary.step(replace(samples([600], NOW + STEP), unmatched=('instance="10.0.0.9"',), more_unmatched=480))
    assert diary.explained().metrics[0].samples.unmatched == ('instance="10.0.0.9"', "and 480 more")


@pytest.mark.parametrize("behavior", [None, SLOW_DOWN], ids=["without behavior", "with behavior"])
def test_an_explanation_survives_json(behavior: Behavior | None) -> None:
    """The command line reads what the daemon sends."""
    told = Diary(scaler(CPU_60, behavior=behavior)).cpu(60, 120, 30)
    assert Explanation.model_validate_json(told.model_dump_json()) == told


loads = st.lists(st.sampled_from([10, 30, 50, 60, 63, 70, 90, 150]), min_size=1, max_size=12)


@given(loads, st.sampled_from([None, SLOW_DOWN]))
def test_the_predicted_change_of_an_unchanged_load_comes_true(
    percents: Sequence[int], behavior: Behavior | None
) -> None:
    """Time and size are as predicted, after any past."""
    diary = Diary(scaler(CPU_60, maximum=12, behavior=behavior))
    told = diary.cpu(*percents)
    if told.written is not None:
        assert told.if_unchanged is None
        return
    came = diary.first_change(percents[-1])
    if came is None or came.change is None:
        assert told.if_unchanged is None
    else:
        assert told.if_unchanged is not None
        assert (told.if_unchanged.at, told.if_unchanged.size) == (came.now, came.change.size)


@given(loads, st.sampled_from([None, SLOW_DOWN]), st.booleans())
def test_the_predicted_change_of_a_load_past_the_threshold_comes_true(
    percents: Sequence[int], behavior: Behavior | None, out: bool
) -> None:
    diary = Diary(scaler(CPU_60, maximum=12, behavior=behavior))
    told = diary.cpu(*percents)
    if not told.ways or told.metrics[0].thresholds is None:
        return
    limits, way = told.metrics[0].thresholds, told.ways[0 if out else 1]
    limit = limits.above if out else limits.below
    if limit is None:
        return
    came = diary.first_change(int(limit) + (1 if out else -1))
    if came is None or came.change is None:
        assert way.earliest is None
    else:
        assert way.earliest is not None
        assert way.earliest.at == came.now
        assert (way.earliest.size > told.current) is (came.change.size > told.current)  # type: ignore[operator]  # it was read


def test_sentences_use_singular_and_plural() -> None:
    for missing, words in (
        (1, "1 instance has no sample: i-2"),
        (2, "2 instances have no sample: i-1, i-2"),
    ):
        diary = Diary(scaler(metric(MetricType.PODS, TargetType.AVERAGE_VALUE, 1_000)), 3)
        diary.step(samples([600] * (3 - missing), NOW + STEP))
        assert words in diary.explained().lines


def test_the_error_of_a_metric_is_shown_once() -> None:
    diary = Diary(scaler(QUEUE_15), 3)
    diary.step(Failure("no answer"))
    assert diary.explained().lines == (
        "queue has no value: no answer",
        "queue has no value",
        "The size stays until queue has a value.",
    )
