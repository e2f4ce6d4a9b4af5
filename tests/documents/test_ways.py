"""What would move the size, said of the values that there are now: nothing that holds already is asked for."""

from datetime import timedelta

from autoscaler.decide import conclude, decide
from autoscaler.documents.explain import explanation
from autoscaler.documents.explanation import Explanation, Way
from autoscaler.errors import MetricError
from autoscaler.model import (
    Behavior,
    ControllerOptions,
    Direction,
    History,
    Hold,
    HoldReason,
    MetricType,
    Observation,
    Pause,
    PolicyType,
    Proposed,
    ScalingPolicy,
    ScalingRules,
    SelectPolicy,
    Steering,
    TargetType,
)
from autoscaler.record import Record
from tests.decide.build import CPU_60, NOW, QUEUE_15, metric, samples, scaler, state, value
from tests.documents.test_explain import STEP, Diary
from tests.replaced import replace

JOBS_10 = metric(MetricType.EXTERNAL, TargetType.AVERAGE_VALUE, 10_000, "jobs")
_RULES = ScalingRules(timedelta(0), SelectPolicy.MAX, (ScalingPolicy(PolicyType.PODS, 4, timedelta(seconds=60)),))


def ways(told: Explanation) -> tuple[str, str]:
    out, into = told.ways
    return out.text, into.text


def queue(diary: Diary, *lengths: int) -> Explanation:
    """A cycle at each; the last one explained."""
    for length in lengths:
        diary.step(value(length * 1000))
    return diary.told()


def test_at_the_maximum_a_high_metric_is_not_asked_to_rise() -> None:
    """It asked for `queue above 22` while the queue was 75: what is in the way is maxReplicas."""
    out, into = ways(queue(Diary(scaler(QUEUE_15, maximum=5), 5), 375))
    assert out == (
        "The metrics ask for more already: average queue 75, above 16.5, asks for 25.\n"
        "  In the way: maxReplicas is 5 (TooManyReplicas: 25 -> 5)."
    )
    assert into.startswith("To scale in it takes average queue below 12")


def test_at_the_maximum_a_metric_at_its_target_has_both_in_its_way() -> None:
    """The value, and then the maximum."""
    out, _ = ways(queue(Diary(scaler(QUEUE_15, maximum=5), 5), 75))
    assert out == (
        "To scale out it takes average queue above 16.5.\n  In the way: maxReplicas is 5 (TooManyReplicas: 6 -> 5)."
    )


def test_at_the_minimum_a_low_metric_is_not_asked_to_fall() -> None:
    """An idle service, which stays for its minReplicas."""
    told = queue(Diary(scaler(QUEUE_15, minimum=2), 2), *[1] * 30)
    assert ways(told)[1] == (
        "The metrics ask for less already: average queue 0.5, below 7.5, asks for 1.\n"
        "  In the way: minReplicas is 2 (TooFewReplicas: 1 -> 2)."
    )


def test_an_empty_queue_is_said_once() -> None:
    """One instance would be removed by an empty queue alone."""
    told = queue(Diary(scaler(QUEUE_15, minimum=1), 1), *[0] * 30)
    assert ways(told)[1] == (
        "The metrics ask for less already: average queue 0, asks for 0.\n"
        "  In the way: minReplicas is 1 (TooFewReplicas: 0 -> 1)."
    )


def test_within_tolerance_the_value_to_be_passed_is_the_tolerances() -> None:
    """Just above the target nothing moves, and nothing holds already."""
    out, into = ways(queue(Diary(scaler(QUEUE_15), 3), 48))
    assert out.startswith("To scale out it takes average queue above 16.5; at the earliest to 4 in 15s.")
    assert into.startswith("To scale in it takes average queue below 10")
    assert all(way.met == () for way in queue(Diary(scaler(QUEUE_15), 3), 48).ways)


def test_a_window_is_in_the_way_of_a_metric_that_is_low_already() -> None:
    """It is waited for, not worked for."""
    told = queue(Diary(scaler(QUEUE_15), 4), 60, 15)
    assert ways(told)[1] == (
        "The metrics ask for less already: average queue 3.75, below 11.25, asks for 1; at the earliest to 1 in 5m.\n"
        "  In the way: highest recommendation of the last 5m (ScaleDownStabilized: 1 -> 4)."
    )


def test_policies_are_in_the_way_of_a_metric_that_is_high_already() -> None:
    """One more in a minute, not at once."""
    rules = replace(_RULES, policies=(ScalingPolicy(PolicyType.PODS, 1, timedelta(seconds=60)),))
    told = queue(Diary(scaler(QUEUE_15, behavior=Behavior(rules, _RULES)), 3), 450, 450)
    assert ways(told)[0] == (
        "The metrics ask for more already: average queue 112.5, above 16.5, asks for 30; at the earliest to 5 in 45s.\n"
        "  In the way: the scaleUp policies allow 4 for now (ScaleUpLimit: 30 -> 4)."
    )


def test_a_direction_that_is_switched_off_is_in_the_way_for_good() -> None:
    """SelectPolicy Disabled: no time will help."""
    rules = replace(_RULES, select_policy=SelectPolicy.DISABLED)
    told = queue(Diary(scaler(QUEUE_15, behavior=Behavior(rules, _RULES)), 3), 450)
    out, _ = ways(told)
    assert "In the way: the scaleUp policies allow 3 for now (ScaleUpLimit: 30 -> 3)." in out
    assert "at the earliest" not in out


def test_of_several_metrics_one_that_is_high_is_enough() -> None:
    """That the others would have to rise is not said: they need not."""
    diary = Diary(scaler(QUEUE_15, JOBS_10, maximum=4), 4)
    diary.step(value(300_000), value(4_000))
    out, _ = ways(diary.told())
    assert out.startswith("The metrics ask for more already: average queue 75, above 16.5, asks for 20.\n")
    assert "jobs" not in out


def test_of_several_metrics_those_that_are_not_low_yet_have_to_fall() -> None:
    """What is low already is said, and not asked for again."""
    diary = Diary(scaler(QUEUE_15, JOBS_10), 4)
    diary.step(value(60_000), value(4_000))
    _, into = ways(diary.told())
    assert into.startswith(
        "To scale in it takes average queue below 11.25; already there: average jobs 1, below 7.5, asks for 1; "
        "at the earliest to 3 in 5m"
    )


def test_both_metrics_low_at_once_is_all_it_takes() -> None:
    """Both are named with what they ask for."""
    diary = Diary(scaler(QUEUE_15, JOBS_10, minimum=4), 4)
    diary.step(value(10_000), value(4_000))
    _, into = ways(diary.told())
    assert into.startswith(
        "The metrics ask for less already: average queue 2.5, below 11.25, asks for 1; "
        "average jobs 1, below 7.5, asks for 1"
    )


def test_while_a_metric_fails_nothing_is_scaled_in_and_that_is_said() -> None:
    """The other metric may be as low as it likes."""
    diary = Diary(scaler(QUEUE_15, JOBS_10), 4)
    diary.step(value(1_000), MetricError("no answer"))
    told = diary.told()
    assert ways(told)[1] == ""
    assert told.lines[-1] == "Nothing is scaled in while jobs has no value."


def test_a_pause_is_in_the_way() -> None:
    """Who asked, and until when."""
    paused = Steering(Pause(Direction.BOTH, "ann", "load test", NOW, None))
    out, _ = ways(queue(Diary(scaler(QUEUE_15), 3, paused), 300))
    assert "In the way: paused by ann until it is resumed: load test (Paused: 6 -> 3)." in out


def test_a_hold_of_the_target_is_in_the_way() -> None:
    """A rollout, in the back end's words."""
    rollout = replace(state(3), hold=Hold(scale_out=HoldReason("Deploying", "a deployment is under way")))
    diary = Diary(scaler(QUEUE_15), 3)
    diary.step(value(300_000), target=rollout)
    assert "In the way: a deployment is under way (Deploying: 6 -> 3)." in ways(diary.told())[0]


def test_a_dry_run_says_that_it_writes_nothing() -> None:
    """`at the earliest in 15s` would be waited for in vain."""
    dry = replace(scaler(QUEUE_15), dry_run=True, options=ControllerOptions(shadow=False))
    observed, history = Observation(state(3), (value(300_000),)), History()
    made = conclude(decide(dry, observed, history, NOW), Proposed(6))
    first, *_ = ways(explanation(Record(dry, made, observed, history)))[0].splitlines()
    assert first.endswith("average queue 100, above 16.5, asks for 20; a dry run writes nothing.")


def test_per_instance_metrics_say_the_same() -> None:
    """Percents have their sign."""
    diary = Diary(scaler(CPU_60, maximum=3), 3)
    diary.step(samples([900] * 3, NOW + STEP))
    assert ways(diary.told())[0].startswith("The metrics ask for more already: average cpu 90%, above 66%, asks for 5.")


def test_what_holds_already_never_stands_among_what_it_takes() -> None:
    """Over loads below, at and above the target, at the minimum, between and at the maximum."""
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
