"""A fallback beside zero, restarts, clocks, operators and dry runs."""

from datetime import timedelta

from autoscaler.decide import conclude, decide, remember
from autoscaler.errors import TargetUnavailable
from autoscaler.model import (
    ConditionType,
    Direction,
    History,
    MetricSpec,
    MetricType,
    Observation,
    Override,
    Pause,
    Proposed,
    Steering,
    later,
)
from tests.decide.build import CPU_60, NOW, QUEUE_15, samples, scaler, state, value
from tests.decide.outage import CALM, DOWN, Outage, condition, with_fallback
from tests.replaced import replace


def asleep(*specs: MetricSpec) -> Outage:
    """Scaled to zero by itself."""
    life = Outage(scaler(*specs, minimum=0, behavior=CALM), size=1)
    readings = [value(0) if spec.type is MetricType.EXTERNAL else samples([0]) for spec in specs]
    life.cycle(*readings)
    assert life.size == 0
    return life


def test_from_zero_the_fallback_scales_out() -> None:
    """While nobody knows whether there is work, somebody should look.

    KEDA stayed at 0 although its fallback was in force, for a trigger that fails counts as inactive there
    (kedacore/keda 7239).
    """
    life = asleep(with_fallback(replicas=2))
    decision = life.until_fallback(DOWN)
    assert (decision.current, decision.written) == (0, 2)


def test_an_instance_metric_without_instances_is_no_failure() -> None:
    """At size 0 it has no samples. A fallback that took that for an outage would wake every sleeper."""
    life = asleep(with_fallback(CPU_60), QUEUE_15)
    for _ in range(10):
        decision = life.cycle(DOWN, value(0))
    assert (decision.current, decision.desired) == (0, 0)
    assert condition(decision).reason == "MetricsAvailable"


def test_a_target_that_somebody_switched_off_stays_off() -> None:
    life = Outage(scaler(with_fallback(), minimum=0), size=0)
    for _ in range(5):
        decision = life.cycle(DOWN)
    assert (decision.desired, decision.change) == (0, None)
    assert condition(decision, ConditionType.SCALING_ACTIVE).reason == "ScalingDisabled"


def test_a_cycle_without_a_target_neither_ends_nor_restarts_the_time() -> None:
    """Both Prometheus and the back end may be away, and the back end comes back first."""
    life = Outage(scaler(with_fallback()))
    life.cycle(DOWN)
    life.cycle(DOWN, unreadable=TargetUnavailable("down"))
    life.cycle(DOWN, unreadable=TargetUnavailable("down"))
    assert condition(life.cycle(DOWN)).status


def test_an_answer_ends_the_failure_where_the_target_is_not_read() -> None:
    """Else a failure hours later would count from the first one, and its fallback come at once."""
    life = Outage(scaler(with_fallback()))
    life.cycle(DOWN)
    life.cycle(value(0), unreadable=TargetUnavailable("down"))
    assert condition(life.cycle(DOWN, after=7200)).reason == "FallbackPending"


def test_the_time_survives_a_clock_that_is_set() -> None:
    """It keeps its age, as everything that is remembered does."""
    life = Outage(scaler(with_fallback()))
    life.cycle(DOWN)
    hour = timedelta(hours=1)
    life.history, life.now = later(life.history, hour), life.now + hour
    assert condition(life.cycle(DOWN, after=179)).reason == "FallbackPending"
    assert condition(life.cycle(DOWN, after=1)).status


def test_a_fallback_that_leaves_the_configuration_takes_its_condition_along() -> None:
    life = Outage(scaler(with_fallback()))
    life.until_fallback(DOWN)
    life.autoscaler = scaler(QUEUE_15)
    decision = life.cycle(DOWN)
    assert all(each.type is not ConditionType.METRIC_FALLBACK_ACTIVE for each in decision.conditions)
    assert decision.failing == ()


def test_without_a_fallback_nothing_is_remembered_of_failures() -> None:
    """And the decision says nothing of fallbacks: it is HPA's."""
    decision = Outage(scaler(QUEUE_15)).cycle(DOWN)
    assert decision.failing == ()
    assert all(each.type is not ConditionType.METRIC_FALLBACK_ACTIVE for each in decision.conditions)


def test_a_pause_holds_it() -> None:
    pause = Pause(Direction.OUT, "ann", "", NOW, None)
    life = Outage(scaler(with_fallback()), history=History(steering=Steering(pause)))
    decision = life.until_fallback(DOWN)
    assert (decision.desired, decision.change) == (6, None)  # no more than twice as many at a time
    assert condition(decision, ConditionType.ABLE_TO_SCALE).reason == "Paused"
    assert condition(decision).status


def test_an_operators_bounds_hold() -> None:
    override = Override(None, 5, "ann", "", NOW, None)
    life = Outage(scaler(with_fallback()), history=History(steering=Steering(None, override)))
    assert life.until_fallback(DOWN).desired == 5


def test_a_dry_run_counts_the_time_and_proposes() -> None:
    autoscaler = replace(scaler(with_fallback()), dry_run=True)
    history, now = History(), NOW
    for _ in range(4):
        now += timedelta(seconds=60)
        decision = decide(autoscaler, Observation(state(3), (DOWN,)), history, now)
        outcome = None if decision.change is None else Proposed(decision.change.size)
        decision = conclude(decision, outcome)
        history = remember(autoscaler, history, decision)
    assert decision.outcome == Proposed(6)
