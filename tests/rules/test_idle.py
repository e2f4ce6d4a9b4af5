"""Idleness: no instances while nothing is active, and enough at once when something is."""

import dataclasses
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from autoscaler.errors import TargetUnavailable
from autoscaler.model import (
    Autoscaler,
    Behavior,
    ConditionType,
    Decision,
    Direction,
    Failure,
    Hold,
    HoldReason,
    Limits,
    ManualControls,
    MetricType,
    Override,
    Pause,
    Reading,
    Reason,
    TargetType,
)
from autoscaler.rules.fallback import Fallbacks
from autoscaler.rules.fallback.keys import MetricFallback
from autoscaler.rules.idle import Idle
from autoscaler.rules.schedules import Schedules
from autoscaler.windows import ScheduleEntry
from tests.decide.build import NOW, QUEUE_15, Life, metric, samples, scaler, state, value
from tests.decide.outage import condition
from tests.replaced import replace
from tests.rules.idling import ACTIVATIONS, BUSY, COOLDOWN, FAILED, MAILS, QUEUE, QUIET, idle_scaler

INFLIGHT = metric(MetricType.PODS, TargetType.AVERAGE_VALUE, 10_000, "inflight")


def is_idle(made: Decision) -> bool:
    """Return whether nothing needs instances."""
    return any(step.source == Idle.name for step in made.trace)


def resting(autoscaler: Autoscaler | None = None, *quiet: Reading) -> Life:
    """An autoscaler that has scaled its target to 0."""
    life = Life(autoscaler or idle_scaler(), 4)
    life.step(*quiet or (QUIET,))
    life.step(*quiet or (QUIET,), after=60)
    assert life.size == 0
    return life


def test_an_idle_target_goes_from_any_size_straight_to_zero() -> None:
    """Windows, policies and minReplicas do not delay it: nothing needs the instances."""
    life = Life(idle_scaler(behavior=Behavior()), 40)
    life.step(value(600_000))
    assert life.step(QUIET, after=45).change is None
    made = life.step(QUIET, after=15)
    assert (life.size, is_idle(made)) == (0, True)
    assert made.change is not None
    assert made.change.reason == (
        "no metric is above its activation; the last activity was at 2026-01-01T12:00:00+00:00, and the cooldown is 1m"
    )


def test_an_active_target_goes_from_zero_to_the_minimum_at_once() -> None:
    """Neither a window nor a policy delays the first instances."""
    life = resting()
    made = life.step(value(5_001), after=1)
    assert (life.size, is_idle(made)) == (3, False)


def test_an_active_target_goes_from_zero_to_one_where_the_minimum_is_zero() -> None:
    """minReplicas: 0 does not mean that an active target has no instances."""
    life = resting(idle_scaler(minimum=0))
    life.step(value(5_001), after=1)
    assert life.size == 1


def test_an_active_target_keeps_an_instance_where_the_minimum_is_zero() -> None:
    """A metric above its activation can ask for 0, as a queue within the tolerance of nothing does not."""
    life = Life(idle_scaler(minimum=0, activations={"queue": 0}), 1)
    for _ in range(40):
        life.step(value(1), after=15)
    assert life.size == 1


def test_the_cooldown_counts_from_the_last_activity() -> None:
    """The last cycle that saw one counts, also if the daemon was away since."""
    life = Life(idle_scaler(), 3)
    life.step(BUSY)
    made = life.step(QUIET, after=3600)
    assert life.size == 0
    assert condition(made, Idle.condition).last_transition == NOW


def test_the_cooldown_counts_from_the_first_cycle_of_a_new_autoscaler() -> None:
    """Nothing is known of the time before it."""
    life = Life(idle_scaler(), 3)
    life.step(QUIET)
    life.step(QUIET, after=59)
    assert life.size == 3
    life.step(QUIET, after=1)
    assert life.size == 0


def test_one_active_metric_of_several_suffices() -> None:
    """The queue is quiet, and the mails are not."""
    life = Life(idle_scaler(QUEUE, MAILS), 3)
    for _ in range(10):
        life.step(QUIET, value(1), after=60)
    assert life.size == 3


def test_a_metric_without_a_value_stays_active() -> None:
    """An outage is not zero load."""
    life = Life(idle_scaler(), 3)
    life.step(BUSY)
    for _ in range(10):
        made = life.step(FAILED, after=60)
    assert (life.size, condition(made, Idle.condition).status) == (3, True)
    life.step(QUIET, after=15)
    assert life.size == 3, "the cooldown counts from the last cycle in which it was active"


def test_of_failed_metrics_with_one_name_an_active_one_counts() -> None:
    """Which of the two it was is not known after a reload."""
    life = Life(idle_scaler(QUEUE, QUEUE), 3)
    life.step(BUSY, QUIET)
    made = life.step(FAILED, FAILED, after=60)
    assert condition(made, Idle.condition).status


def test_a_metric_without_a_value_stays_inactive() -> None:
    """An outage wakes nothing."""
    life = resting()
    for _ in range(10):
        made = life.step(FAILED, after=60)
    assert (life.size, is_idle(made)) == (0, True)
    assert made.error is not None, "while it has no value it cannot wake the target, which operators must know"


def test_an_idle_autoscaler_says_whether_its_metrics_can_wake_it() -> None:
    """A failure that is over is not shown any longer."""
    life = resting()
    for reading, status in ((FAILED, False), (QUIET, True)):
        made = life.step(reading, after=15)
        assert condition(made, ConditionType.SCALING_ACTIVE).status is status
        assert (made.error is None) is status


def test_idleness_does_not_begin_while_a_metric_has_no_value() -> None:
    """Work may have arrived since its last value."""
    life = Life(idle_scaler(QUEUE, MAILS), 3)
    life.step(QUIET, value(0))
    for _ in range(10):
        life.step(QUIET, FAILED, after=60)
    assert life.size == 3
    life.step(QUIET, value(0), after=15)
    assert life.size == 0, "what was inactive before the outage extends no cooldown"


def test_a_fallback_in_force_is_active() -> None:
    """It says how many instances an outage needs."""
    fallbacks = Fallbacks((MetricFallback(timedelta(seconds=30), replicas=6),))
    life = resting(idle_scaler(rules=[fallbacks]))
    life.step(FAILED, after=15)
    assert life.size == 0
    made = life.step(FAILED, after=30)
    assert life.size == 3
    assert condition(made, Idle.condition).message == "external metric queue: its fallback is in effect"
    life.step(FAILED, after=15)
    assert life.size == 6


def test_the_minimum_of_an_open_schedule_is_active() -> None:
    """A target that is to be ready at nine does not wait for its first customer."""
    office = ScheduleEntry("office", "UTC", cron="0 9 * * *", duration=timedelta(hours=3, minutes=1), min_replicas=5)
    life = Life(idle_scaler(rules=[Schedules((office,))]), 5)
    life.step(QUIET)
    life.step(QUIET, after=59)
    life.step(QUIET, after=59)
    assert life.size == 5, "the schedule has ended at 12:01, and the last cycle in it was at 12:00:59"
    life.step(QUIET, after=1)
    assert life.size == 0


def test_the_minimum_of_an_operator_is_active() -> None:
    """An operator who asks for instances gets them."""
    life = resting()
    steering = ManualControls(override=Override(2, None, "jo", "", NOW, None))
    life.history = replace(life.history, manual=steering)
    life.step(QUIET, after=1)
    assert life.size == 2


def test_a_size_that_is_set_from_outside_without_activity_is_set_to_zero() -> None:
    """The size follows the activity, as at any other time."""
    life = resting()
    life.resize(6)
    life.step(QUIET, after=15)
    assert life.size == 0


def test_a_size_of_zero_that_an_operator_set_stays() -> None:
    """It switches scaling off, also where something is active."""
    life = Life(idle_scaler(), 0)
    made = life.step(BUSY)
    assert (life.size, is_idle(made)) == (0, False)
    assert condition(made, ConditionType.SCALING_ACTIVE).reason == Reason.SCALING_DISABLED


def test_a_hold_of_the_target_delays_idleness() -> None:
    """A deployment is not disturbed."""
    life = Life(idle_scaler(), 3)
    life.step(QUIET)
    deploying = dataclasses.replace(state(3), hold=Hold(scale_in=HoldReason("Deploying", "a deployment is running")))
    made = life.step(QUIET, after=60, target=deploying)
    assert (life.size, is_idle(made), condition(made, ConditionType.ABLE_TO_SCALE).reason) == (3, True, "Deploying")


def test_a_pause_delays_idleness() -> None:
    """An operator keeps the size."""
    life = Life(idle_scaler(), 3)
    life.step(QUIET)
    life.history = replace(life.history, manual=ManualControls(pause=Pause(Direction.IN, "jo", "", NOW, None)))
    life.step(QUIET, after=60)
    assert life.size == 3


def test_an_idle_target_goes_to_its_own_minimum() -> None:
    """A group with a MinSize cannot have fewer instances."""
    life = Life(idle_scaler(), 4)
    limits = Limits(2, None, "the group")

    def step(after: float, reading: Reading | Failure) -> None:
        life.step(reading, after=after, target=dataclasses.replace(state(life.size), limits=limits))

    step(0, QUIET)
    step(60, QUIET)
    assert life.size == 2
    step(15, FAILED)
    assert life.size == 2
    step(15, BUSY)
    assert life.size == 3


def test_metrics_of_instances_neither_fail_nor_wake_an_idle_target() -> None:
    """Nothing runs that could be measured."""
    life = resting(idle_scaler(QUEUE, INFLIGHT), QUIET, samples([0, 0, 0, 0]))
    made = life.step(QUIET, Failure("no sample"), after=15)
    assert (made.error, life.size) == (None, 0)


def test_a_write_without_an_answer_is_tried_again() -> None:
    """The autoscaler repeats its wish, and recognizes its own zero."""
    life = Life(idle_scaler(), 3)
    life.step(QUIET)
    life.step(QUIET, after=60, outcome=TargetUnavailable("timed out"))
    assert life.size == 3
    life.resize(0)
    life.step(QUIET, after=15)
    life.step(BUSY, after=15)
    assert life.size == 3


def test_without_a_cooldown_nothing_is_known_of_activity() -> None:
    """An autoscaler that cannot idle is as it was."""
    life = Life(scaler(QUEUE_15, minimum=0), 1)
    made = life.step(QUIET)
    assert Idle.condition not in [each.type for each in made.conditions]
    assert made.metrics[0].active is None


def test_the_condition_leaves_with_the_cooldown() -> None:
    """What left the configuration is not shown."""
    life = resting()
    life.autoscaler = scaler(QUEUE_15)
    made = life.step(QUIET, after=15)
    assert Idle.condition not in [each.type for each in made.conditions]
    assert life.size == 4  # the highest recommendation of the window, which the way to idleness ignored


_READINGS = st.one_of(st.integers(0, 60_000).map(value), st.just(FAILED))
_CYCLES = st.lists(st.tuples(_READINGS, _READINGS, st.integers(1, 90), st.sampled_from([None, 0, 2, 9])), max_size=30)


@given(_CYCLES, st.integers(0, 4), st.booleans())
def test_an_active_target_always_works_and_an_idle_one_never_does(
    cycles: list[tuple[Reading | Failure, Reading | Failure, int, int | None]], minimum: int, behaves: bool
) -> None:
    """Checked by a second reckoning of the activity: the last values and the time of the last activity."""
    metrics = (QUEUE, MAILS)
    life = Life(idle_scaler(*metrics, minimum=minimum, behavior=Behavior() if behaves else None), 4)
    last: dict[str, bool] = {}
    activity = None
    for first, second, after, outside in cycles:
        if outside is not None and life.size and outside:
            life.resize(outside)
        before, own_zero = life.size, life.size == 0
        made = life.step(first, second, after=after)
        for spec, reading in zip(metrics, (first, second), strict=True):
            if not isinstance(reading, Failure):
                last[spec.name] = reading.values[0] > ACTIVATIONS[spec.name]  # type: ignore[union-attr]
        active = any(last.values())
        if active:
            activity = life.now
            assert life.size >= max(minimum, 1)
            assert not is_idle(made)
            if own_zero:
                assert life.size == max(minimum, 1)
        activity = activity or life.now
        measured = FAILED not in (first, second)
        if not active and measured and life.now - activity >= COOLDOWN:
            assert (life.size, is_idle(made)) == (0, True)
        if life.size == 0 and before:
            assert not active
            assert life.now - activity >= COOLDOWN
