"""The first line of a decision's story: its cause and its result."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaler.decide import apply_outcome, decide, remember
from autoscaler.errors import TargetUnavailable
from autoscaler.model import (
    Direction,
    Failure,
    History,
    HpaMemory,
    ManualControls,
    MetricSpec,
    MetricType,
    Observation,
    Pause,
    Proposed,
    Reading,
    Recommendation,
    TargetType,
    Written,
)
from autoscaler.record.values import Record
from autoscaler.rules.fallback.keys import MetricFallback
from autoscaler.view.story import Kind, story, why
from tests.decide.build import CPU_60, NOW, QUEUE_15, metric, samples, scaler, state, value
from tests.decide.outage import WithFallback, covered
from tests.replaced import replace

LAG = metric(MetricType.OBJECT, TargetType.VALUE, 10_000, "lag")
INFLIGHT = metric(MetricType.PODS, TargetType.AVERAGE_VALUE, 10_000, "inflight")
EARLIER = History(
    HpaMemory(
        (
            Recommendation(6, NOW - timedelta(minutes=3, milliseconds=-12)),
            Recommendation(4, NOW - timedelta(seconds=15)),
        )
    )
)


def first(
    percent: int,
    size: int = 4,
    history: History = History(),  # noqa: B008 - it is frozen
    *,
    written: bool = False,
    dry_run: bool = False,
) -> str:
    """Return the line of a cycle in which each instance uses this percentage of its request."""
    autoscaler = replace(scaler(CPU_60, minimum=2, maximum=10), dry_run=dry_run)
    made = decide(autoscaler, Observation(state(size), (samples([percent * 10] * size),)), history, NOW)
    if made.change is not None and (written or dry_run):
        made = apply_outcome(made, (Proposed if dry_run else Written)(made.change.size))
    return why(made)


def test_a_scale_out_leads_with_its_cause() -> None:
    """A newcomer sees what happened and why, and no reason word of HPA."""
    made = decide(scaler(INFLIGHT), Observation(state(1), (samples([13_000]),)), History(), NOW)
    assert why(apply_outcome(made, Written(2))) == "inflight 13 of 10 -> 2"


def test_a_size_that_a_tolerance_keeps_says_so() -> None:
    made = decide(scaler(INFLIGHT), Observation(state(1), (samples([11_000]),)), History(), NOW)
    assert why(made) == "inflight 11 of 10, within the tolerance of 10 %"


def test_a_shared_size_that_a_tolerance_keeps_says_so() -> None:
    """The value is divided by the size, and not by the instances that are ready."""
    assert why(decide(scaler(QUEUE_15), Observation(state(3), (value(46_000),)), History(), NOW)) == (
        "queue 15.33 of 15, within the tolerance of 10 %"
    )
    assert why(decide(scaler(QUEUE_15), Observation(state(3), (value(44_000),)), History(), NOW)) == (
        "queue 14.67 of 15 asks for 3"
    )


def test_a_size_without_an_instance_shows_the_total() -> None:
    """An Auto Scaling group may have none of the instances that it was asked for. The ratio is infinite then."""
    empty = replace(state(3), status_replicas=0)
    made = decide(scaler(QUEUE_15), Observation(empty, (value(45_000),)), History(), NOW)
    assert why(made) == "queue 45 in total of 15 asks for 3"


@given(
    st.sampled_from([QUEUE_15, LAG]),
    st.integers(0, 4),
    st.integers(0, 4),
    st.one_of(st.integers(0, 10**6), st.just(2**62)),
)
def test_every_decision_has_a_first_line(spec: MetricSpec, size: int, running: int, total: int) -> None:
    """An odd answer of a back end or of Prometheus costs no list and no page."""
    seen = Observation(replace(state(size), status_replicas=running), (value(total),))
    made = decide(scaler(spec, maximum=4), seen, History(), NOW)
    assert story(Record(scaler(spec, maximum=4), made, seen, History()))[0].text == why(made) != ""


@pytest.mark.parametrize("each", [6_000, 9_500, 10_000])
def test_a_size_that_rounding_keeps_shows_what_the_metric_asks_for(each: int) -> None:
    """The calculation, `ratio 0.600 x 1 ready`, is the metric's own line. No tolerance keeps the size."""
    made = decide(scaler(INFLIGHT), Observation(state(1), (samples([each]),)), History(), NOW)
    assert why(made) == f"inflight {each / 1000:g} of 10 asks for 1"


def test_a_size_held_by_a_window_shows_the_recommendation_and_its_age() -> None:
    said = first(20, history=EARLIER, size=6)
    assert said == "cpu 20% of 60% asks for 2; 6 was recommended 3m ago, within the window of 5m"


@pytest.mark.parametrize(
    ("percent", "size", "said"),
    [
        (120, 10, "cpu 120% of 60% asks for 20; maxReplicas is 10"),
        (6, 2, "cpu 6% of 60% asks for 1; minReplicas is 2"),
    ],
)
def test_a_size_at_a_bound_shows_the_size_without_it(percent: int, size: int, said: str) -> None:
    """An operator sees whether to raise the bound."""
    history = History(HpaMemory((Recommendation(1, NOW - timedelta(seconds=15)),)))
    assert first(percent, size, history) == said


def test_a_dry_run_says_that_it_writes_nothing() -> None:
    assert first(120, dry_run=True) == "cpu 120% of 60% -> 8; a dry run writes nothing"


def test_a_pause_shows_its_user_and_the_size_it_prevents() -> None:
    pause = Pause(Direction.BOTH, "dana", "sale", NOW - timedelta(minutes=1), None)
    said = first(120, history=replace(EARLIER, manual=ManualControls(pause)))
    assert said == "cpu 120% of 60% asks for 8; paused by dana until it is resumed: sale"


@pytest.mark.parametrize(
    ("percent", "direction", "said"),
    [
        (60, Direction.BOTH, "paused by dana until it is resumed: sale"),
        (120, Direction.IN, "scaling in paused by dana until it is resumed: sale"),
    ],
)
def test_a_pause_that_prevents_nothing_stands_before_the_cause(percent: int, direction: Direction, said: str) -> None:
    """`get` showed it, and neither `explain` nor the log did, so that the autoscaler looked active there."""
    pause = Pause(direction, "dana", "sale", NOW - timedelta(minutes=1), None)
    assert first(percent, history=History(manual=ManualControls(pause))) == f"{said}; {first(percent)}"


@pytest.mark.parametrize(
    ("direction", "reading", "said"),
    [
        (Direction.BOTH, samples([600] * 4), "paused by dana until it is resumed: sale (Paused)"),
        (Direction.IN, samples([600] * 4), "scaling in paused by dana until it is resumed: sale (Paused)"),
        (Direction.BOTH, Failure("no answer"), "paused by dana until it is resumed: sale (Paused)"),
        (Direction.BOTH, samples([1_200] * 4), "paused by dana until it is resumed: sale (Paused) -> 4"),
    ],
)
def test_a_pause_is_one_step_whether_it_prevents_a_change_or_not(
    direction: Direction, reading: Reading | Failure, said: str
) -> None:
    """An operator at night must see why the size will not change."""
    pause = Pause(direction, "dana", "sale", NOW - timedelta(minutes=1), None)
    observed, history = Observation(state(4), (reading,)), History(manual=ManualControls(pause))
    made = decide(scaler(CPU_60, maximum=10), observed, history, NOW)
    lines = story(Record(scaler(CPU_60, maximum=10), made, observed, history))
    assert [line.sentence for line in lines[1:] if "paused" in line.text] == [said]


def test_a_pause_is_shown_beside_a_target_that_cannot_be_read() -> None:
    pause = Pause(Direction.BOTH, "dana", "sale", NOW - timedelta(minutes=1), None)
    observed = Observation(TargetUnavailable("it did not answer"), (samples([]),))
    history = History(manual=ManualControls(pause))
    made = decide(scaler(CPU_60), observed, history, NOW)
    assert "paused by dana until it is resumed: sale" in [
        line.text for line in story(Record(scaler(CPU_60), made, observed, history))
    ]


def test_another_size_than_the_desired_one_is_shown() -> None:
    """A back end may write another one, as when some victims cannot be terminated."""
    made = decide(scaler(INFLIGHT), Observation(state(1), (samples([43_000]),)), History(), NOW)
    assert why(apply_outcome(made, Written(3))).endswith(" -> 3 instead of 4")


def test_a_size_kept_by_a_fallback_shows_it() -> None:
    """The size is not the one that the load needs."""
    autoscaler = covered(WithFallback(CPU_60, MetricFallback(timedelta(seconds=30), 4)))
    observed, history = Observation(state(4), (Failure("no answer"),)), History()
    for seconds in (0, 30):
        now = NOW + timedelta(seconds=seconds)
        made = decide(autoscaler, observed, history, now)
        history = remember(autoscaler, history, made)
    assert why(made) == "cpu has no value: no answer; fallback: 4 replicas"


def test_a_forgotten_decision_has_its_steps_and_says_what_is_unknown() -> None:
    """Beyond state.detail the steps stay."""
    autoscaler, observed = scaler(CPU_60, minimum=2), Observation(state(6), (samples([200] * 6),))
    made = decide(autoscaler, observed, EARLIER, NOW)
    lines = story(Record(autoscaler, made, None, None))
    assert [line.kind for line in lines] == [Kind.WHY, Kind.METRIC, Kind.STEP, Kind.NOTE]
    assert "state.detail" in lines[-1].text
