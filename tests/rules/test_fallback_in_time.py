"""Fallbacks with a size of 0, restarts, clock changes, operators and dry runs."""

from datetime import timedelta

from autoscaler.errors import TargetUnavailable
from autoscaler.model import (
    ConditionType,
    Decision,
    Direction,
    History,
    ManualControls,
    MetricSpec,
    MetricType,
    Override,
    Pause,
    Proposed,
    later,
)
from autoscaler.rules.fallback import FallbackMemory, Fallbacks, MetricFailure
from tests.decide.build import CPU_60, NOW, QUEUE_15, samples, scaler, value
from tests.decide.outage import CALM, DOWN, Outage, WithFallback, condition, covered, with_fallback
from tests.replaced import replace


def failing(decision: Decision) -> tuple[MetricFailure, ...]:
    """Return the metrics with a fallback that have no value."""
    memory = decision.remembered.rules.find(Fallbacks.name, FallbackMemory)
    return () if memory is None else memory.failing


def asleep(*specs: MetricSpec | WithFallback) -> Outage:
    """A target that the autoscaler scaled to zero."""
    life = Outage(covered(*specs, minimum=0, behavior=CALM), size=1)
    metrics = life.autoscaler.metrics
    life.cycle(*[value(0) if each.type is MetricType.EXTERNAL else samples([0]) for each in metrics])
    assert life.size == 0
    return life


def test_from_zero_the_fallback_scales_out() -> None:
    """KEDA stayed at 0 with a fallback in effect: a failed trigger counted as inactive (kedacore/keda 7239)."""
    life = asleep(with_fallback(replicas=2))
    decision = life.until_fallback(DOWN)
    assert (decision.current, decision.written) == (0, 2)


def test_an_instance_metric_without_instances_is_no_failure() -> None:
    """At size 0 there are no samples. Treating that as an outage would wake every target scaled to zero."""
    life = asleep(with_fallback(CPU_60), QUEUE_15)
    for _ in range(10):
        decision = life.cycle(DOWN, value(0))
    assert (decision.current, decision.desired) == (0, 0)
    assert condition(decision).reason == "MetricsAvailable"


def test_a_target_that_an_operator_switched_off_stays_off() -> None:
    life = Outage(covered(with_fallback(), minimum=0), size=0)
    for _ in range(5):
        decision = life.cycle(DOWN)
    assert (decision.desired, decision.change) == (0, None)
    assert condition(decision, ConditionType.SCALING_ACTIVE).reason == "ScalingDisabled"


def test_an_unreadable_target_keeps_the_duration_running() -> None:
    """Prometheus and the back end may both fail, and the back end may recover first."""
    life = Outage(covered(with_fallback()))
    life.cycle(DOWN)
    life.cycle(DOWN, target=TargetUnavailable("down"))
    life.cycle(DOWN, target=TargetUnavailable("down"))
    assert condition(life.cycle(DOWN)).status


def test_an_answer_ends_the_failure_while_the_target_is_unreadable() -> None:
    """Otherwise a failure hours later would count from the first one and use its fallback at once."""
    life = Outage(covered(with_fallback()))
    life.cycle(DOWN)
    life.cycle(value(0), target=TargetUnavailable("down"))
    assert condition(life.cycle(DOWN, after=7200)).reason == "FallbackPending"


def test_the_duration_survives_a_clock_change() -> None:
    """The failure keeps its age, as everything in the history does."""
    life = Outage(covered(with_fallback()))
    life.cycle(DOWN)
    hour = timedelta(hours=1)
    life.history, life.now = later(life.history, hour), life.now + hour
    assert condition(life.cycle(DOWN, after=179)).reason == "FallbackPending"
    assert condition(life.cycle(DOWN, after=1)).status


def test_a_removed_fallback_removes_its_condition() -> None:
    life = Outage(covered(with_fallback()))
    life.until_fallback(DOWN)
    life.autoscaler = scaler(QUEUE_15)
    decision = life.cycle(DOWN)
    assert all(each.type != Fallbacks.condition for each in decision.conditions)
    assert failing(decision) == ()


def test_without_a_fallback_failures_are_not_remembered() -> None:
    """The decision does not mention fallbacks and equals HPA's."""
    decision = Outage(scaler(QUEUE_15)).cycle(DOWN)
    assert failing(decision) == ()
    assert all(each.type != Fallbacks.condition for each in decision.conditions)


def test_a_pause_holds_a_fallback() -> None:
    pause = Pause(Direction.OUT, "ann", "", NOW, None)
    life = Outage(covered(with_fallback()), history=History(manual=ManualControls(pause)))
    decision = life.until_fallback(DOWN)
    assert (decision.desired, decision.change) == (6, None)  # at most twice as many at a time
    assert condition(decision, ConditionType.ABLE_TO_SCALE).reason == "Paused"
    assert condition(decision).status


def test_an_operators_bounds_apply_to_a_fallback() -> None:
    override = Override(None, 5, "ann", "", NOW, None)
    life = Outage(covered(with_fallback()), history=History(manual=ManualControls(None, override)))
    assert life.until_fallback(DOWN).desired == 5


def test_a_dry_run_counts_the_duration_and_proposes() -> None:
    life = Outage(replace(covered(with_fallback()), dry_run=True))
    assert life.until_fallback(DOWN).outcome == Proposed(6)
