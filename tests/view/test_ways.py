"""What would change the size, given the current values; conditions that already hold are not repeated."""

from datetime import timedelta

from autoscaler.decide import apply_outcome, decide
from autoscaler.model import (
    Behavior,
    Direction,
    Failure,
    History,
    Hold,
    HoldReason,
    ManualControls,
    MetricType,
    Observation,
    Pause,
    PolicyType,
    Proposed,
    ScalingPolicy,
    ScalingRules,
    SelectPolicy,
    TargetType,
)
from autoscaler.record.values import Record
from autoscaler.rules.fallback.keys import MetricFallback
from autoscaler.view.explain import explanation
from autoscaler.view.explanation import Explanation, Way
from autoscaler.view.story import Kind
from tests.decide.build import CPU_60, NOW, QUEUE_15, metric, samples, scaler, state, value
from tests.decide.outage import WithFallback, covered
from tests.replaced import replace
from tests.view.diary import STEP, Diary

JOBS_10 = metric(MetricType.EXTERNAL, TargetType.AVERAGE_VALUE, 10_000, "jobs")
_RULES = ScalingRules(timedelta(0), SelectPolicy.MAX, (ScalingPolicy(PolicyType.PODS, 4, timedelta(seconds=60)),))


def ways(told: Explanation) -> tuple[str, str]:
    out, into = told.ways
    return out.text, into.text


def queue(diary: Diary, *lengths: int) -> Explanation:
    """Run a cycle at each length and return the explanation of the last."""
    for length in lengths:
        diary.step(value(length * 1000))
    return diary.explained()


def test_at_the_maximum_a_metric_that_asks_for_more_is_shown_with_max_replicas() -> None:
    """It once said `queue above 22` while the queue was 75."""
    out, into = ways(queue(Diary(scaler(QUEUE_15, maximum=5), 5), 375))
    assert out == (
        "The metrics ask for more already: average queue 75, above 16.5, asks for 25.\n"
        "  In the way: maxReplicas is 5; the size stays at 5."
    )
    assert into.startswith("To scale in it takes average queue below 12")


def test_at_the_maximum_a_metric_at_its_target_is_shown_with_both_conditions() -> None:
    out, _ = ways(queue(Diary(scaler(QUEUE_15, maximum=5), 5), 75))
    assert out == (
        "To scale out it takes average queue above 16.5.\n  In the way: maxReplicas is 5; the size would stay at 5."
    )


def test_at_the_minimum_a_metric_that_asks_for_less_is_shown_with_min_replicas() -> None:
    told = queue(Diary(scaler(QUEUE_15, minimum=2), 2), *[1] * 30)
    assert ways(told)[1] == (
        "The metrics ask for less already: average queue 0.5, below 7.5, asks for 1.\n"
        "  In the way: minReplicas is 2; the size stays at 2."
    )


def test_an_empty_queue_is_shown_once() -> None:
    told = queue(Diary(scaler(QUEUE_15, minimum=1), 1), *[0] * 30)
    assert ways(told)[1] == (
        "The metrics ask for less already: average queue 0, asks for 0.\n"
        "  In the way: minReplicas is 1; the size stays at 1."
    )


def test_a_window_is_shown_beside_a_metric_that_asks_for_less() -> None:
    told = queue(Diary(scaler(QUEUE_15), 4), 60, 15)
    assert ways(told)[1] == (
        "The metrics ask for less already: average queue 3.75, below 11.25, asks for 1; at the earliest to 1 in 5m.\n"
        "  In the way: 4 was recommended 30s ago, within the window of 5m; until then the size stays at 4."
    )


def test_policies_are_shown_beside_a_metric_that_asks_for_more() -> None:
    rules = replace(_RULES, policies=(ScalingPolicy(PolicyType.PODS, 1, timedelta(seconds=60)),))
    told = queue(Diary(scaler(QUEUE_15, behavior=Behavior(rules, _RULES)), 3), 450, 450)
    assert ways(told)[0] == (
        "The metrics ask for more already: average queue 112.5, above 16.5, asks for 30; at the earliest to 5 in 45s.\n"
        "  In the way: the scaleUp policies allow 4 for now; until then the size stays at 4."
    )


def test_a_disabled_direction_has_no_time() -> None:
    rules = replace(_RULES, select_policy=SelectPolicy.DISABLED)
    told = queue(Diary(scaler(QUEUE_15, behavior=Behavior(rules, _RULES)), 3), 450)
    out, _ = ways(told)
    assert "In the way: the scaleUp policies allow 3 for now; the size stays at 3." in out
    assert "at the earliest" not in out


def test_one_metric_that_asks_for_more_is_enough() -> None:
    """The others need not rise, so they are not mentioned."""
    diary = Diary(scaler(QUEUE_15, JOBS_10, maximum=4), 4)
    diary.step(value(300_000), value(4_000))
    out, _ = ways(diary.explained())
    assert out.startswith("The metrics ask for more already: average queue 75, above 16.5, asks for 20.\n")
    assert "jobs" not in out


def test_metrics_that_do_not_ask_for_less_have_to_fall() -> None:
    diary = Diary(scaler(QUEUE_15, JOBS_10), 4)
    diary.step(value(60_000), value(4_000))
    _, into = ways(diary.explained())
    assert into.startswith(
        "To scale in it takes average queue below 11.25; already there: average jobs 1, below 7.5, asks for 1; "
        "at the earliest to 3 in 5m"
    )


def test_metrics_that_all_ask_for_less_are_listed() -> None:
    diary = Diary(scaler(QUEUE_15, JOBS_10, minimum=4), 4)
    diary.step(value(10_000), value(4_000))
    _, into = ways(diary.explained())
    assert into.startswith(
        "The metrics ask for less already: average queue 2.5, below 11.25, asks for 1; "
        "average jobs 1, below 7.5, asks for 1"
    )


def test_a_failed_metric_prevents_scale_in() -> None:
    diary = Diary(scaler(QUEUE_15, JOBS_10), 4)
    diary.step(value(1_000), Failure("no answer"))
    told = diary.explained()
    assert ways(told)[1] == ""
    assert told.lines[-1] == "Nothing is scaled in while jobs has no value."


def test_no_metric_with_a_value_prevents_any_change() -> None:
    """A scale-out needs the value of one of them."""
    diary = Diary(scaler(QUEUE_15, JOBS_10), 4)
    diary.step(Failure("no answer"), Failure("no answer"))
    assert diary.explained().lines[-1] == "The size stays until queue or jobs has a value."


def test_a_fallback_that_sets_the_size_soon_is_the_only_forecast() -> None:
    """The size does not stay until the metric has a value."""
    diary = Diary(covered(WithFallback(QUEUE_15, MetricFallback(timedelta(seconds=30), 6))), 4)
    diary.step(Failure("no answer"))
    assert diary.explained().lines[2:] == ("If nothing changes, it goes to 6 in 30s.",)


def slowly(direction: Direction) -> Behavior:
    """Return a behavior that changes one instance a minute in this direction, and waits for no window."""
    slow = replace(_RULES, policies=(ScalingPolicy(PolicyType.PODS, 1, timedelta(seconds=60)),))
    return Behavior(_RULES, slow) if direction is Direction.IN else Behavior(slow, _RULES)


def test_a_change_in_steps_is_one_line_with_its_end_and_the_next_step() -> None:
    """It was said in three: what comes, what the metrics ask for, and what the policies allow."""
    told = queue(Diary(scaler(QUEUE_15, behavior=slowly(Direction.IN)), 4), 15, 15)
    ahead = [line.text for line in told.story if line.kind is Kind.AHEAD]
    assert ahead[0] == "On its way from 3 to 1: the next step is 2, in 45s."
    assert [line.partition(" takes")[0] for line in ahead[1:]] == ["To scale out it"]


def test_a_change_in_steps_ends_at_a_bound() -> None:
    told = queue(Diary(scaler(QUEUE_15, behavior=slowly(Direction.OUT), maximum=5), 2), 450, 450)
    assert "On its way from 3 to 5: the next step is 4, in 45s." in told.lines


def test_the_last_step_is_a_plain_change() -> None:
    told = queue(Diary(scaler(QUEUE_15, behavior=slowly(Direction.IN)), 3), 15, 15)
    assert "If nothing changes, it goes to 1 in 45s." in told.lines
    assert not any("already" in line for line in told.lines)


def test_a_pause_is_shown_with_its_user_and_end() -> None:
    paused = ManualControls(Pause(Direction.BOTH, "ann", "load test", NOW, None))
    out, _ = ways(queue(Diary(scaler(QUEUE_15), 3, paused), 300))
    assert "In the way: paused by ann until it is resumed: load test; the size stays at 3." in out


def test_a_hold_of_the_target_is_shown() -> None:
    rollout = replace(state(3), hold=Hold(scale_out=HoldReason("Deploying", "a deployment is under way")))
    diary = Diary(scaler(QUEUE_15), 3)
    diary.step(value(300_000), target=rollout)
    assert "In the way: a deployment is under way; the size stays at 3." in ways(diary.explained())[0]


def test_a_dry_run_says_that_it_writes_nothing() -> None:
    """A time of the next change would be wrong."""
    dry = replace(scaler(QUEUE_15), dry_run=True)
    observed, history = Observation(state(3), (value(300_000),)), History()
    made = apply_outcome(decide(dry, observed, history, NOW), Proposed(6))
    first, *_ = ways(explanation(Record(dry, made, observed, history)))[0].splitlines()
    assert first.endswith("average queue 100, above 16.5, asks for 20; a dry run writes nothing.")


def test_percentages_have_a_sign() -> None:
    diary = Diary(scaler(CPU_60, maximum=3), 3)
    diary.step(samples([900] * 3, NOW + STEP))
    assert ways(diary.explained())[0].startswith(
        "The metrics ask for more already: average cpu 90%, above 66%, asks for 5."
    )


def test_a_condition_that_already_holds_is_not_required() -> None:
    """This covers loads below, at and above the target, at both bounds and between them."""
    for size in (2, 4, 6):
        for load in (1, 15, 30, 45, 60, 75, 90, 105, 300):
            told = queue(Diary(scaler(QUEUE_15, minimum=2, maximum=6), size), load)
            for way in told.ways:
                assert_consistent(way, told, load / size)


def assert_consistent(way: Way, told: Explanation, average: float) -> None:
    asks = told.metrics[0].proposal
    assert asks is not None
    assert told.current is not None
    out = way.direction is Direction.OUT
    holds = asks > told.current if out else asks < told.current
    assert bool(way.met) is holds
    assert not (way.met and way.when)
    for condition in way.when:
        limit = float(condition.rpartition(" ")[2])
        assert average <= limit if out else average >= limit
