"""A dry run follows its own decisions with a size of its own, the shadow."""

from datetime import timedelta

from autoscaler.decide import conclude, decide, remember
from autoscaler.decide.shadow import new_shadow, resized
from autoscaler.errors import TargetUnavailable
from autoscaler.model import (
    Behavior,
    Condition,
    ConditionType,
    Direction,
    EventType,
    History,
    Hold,
    HoldReason,
    Instance,
    Intent,
    Limits,
    MetricType,
    Observation,
    Override,
    Pause,
    Phase,
    PolicyType,
    Proposed,
    Reason,
    Recommendation,
    ScaleEvent,
    ScalingPolicy,
    ScalingRules,
    SelectPolicy,
    Starting,
    Steering,
    TargetType,
    Written,
    later,
)
from tests.decide.build import LONG_AGO, NOW, QUEUE_15, metric, samples, scaler, state, value
from tests.decide.shadowing import START_UP, SimulatedTarget
from tests.replaced import replace

INFLIGHT_10 = metric(MetricType.PODS, TargetType.AVERAGE_VALUE, 10_000, "inflight")


def conditions(made: object) -> dict[str, str]:
    return {each.type: each.reason for each in made.conditions}  # type: ignore[attr-defined] # a decision, or a history


def test_a_dry_run_continues_from_its_own_decision() -> None:
    """Without a shadow, a dry run repeated `2 -> 4` under a load that needs 6."""
    simulated = SimulatedTarget(scaler(INFLIGHT_10), 2)
    decided = [simulated.cycle(60_000).desired for _ in range(8)]
    assert decided[0] == 4
    assert decided[-1] == 6
    assert simulated.size == 2


def test_a_decision_has_the_sizes_of_the_target_and_of_the_shadow() -> None:
    simulated = SimulatedTarget(scaler(INFLIGHT_10), 2)
    simulated.cycle(60_000)
    made = simulated.cycle(60_000)
    assert (made.current, made.shadow, made.desired) == (2, 4, 6)
    assert made.decided_from == 4


def test_a_new_size_is_ready_a_start_up_time_later() -> None:
    simulated = SimulatedTarget(scaler(INFLIGHT_10), 2)
    simulated.cycle(40_000)
    assert (simulated.shadow.size, simulated.shadow.ready(simulated.now)) == (4, 2)
    assert simulated.shadow.ready(simulated.now + START_UP - timedelta(microseconds=1)) == 2
    assert simulated.shadow.ready(simulated.now + START_UP) == 4


def test_without_a_shadow_a_dry_run_repeats_its_first_step() -> None:
    simulated = SimulatedTarget(scaler(INFLIGHT_10), 2)
    simulated.autoscaler = replace(simulated.autoscaler, options=replace(simulated.autoscaler.options, shadow=False))
    made = [simulated.cycle(60_000) for _ in range(4)]
    assert [each.desired for each in made] == [4] * 4
    assert [(each.shadow, each.shadow_memory) for each in made] == [(None, None)] * 4
    assert simulated.history.scale_ups == ()


def test_switching_the_shadow_off_removes_it() -> None:
    simulated = SimulatedTarget(scaler(QUEUE_15, behavior=Behavior(POLICY, POLICY)), 2)
    simulated.cycle(150_000)
    simulated.autoscaler = replace(simulated.autoscaler, options=replace(simulated.autoscaler.options, shadow=False))
    made = simulated.cycle(150_000)
    assert (made.shadow, made.desired) == (None, 3)
    assert (simulated.history.shadow, simulated.history.scale_ups) == (None, ())


def test_a_live_autoscaler_has_no_shadow() -> None:
    simulated = SimulatedTarget(scaler(INFLIGHT_10), 2, dry=False)
    made = simulated.cycle(60_000)
    assert (made.shadow, made.shadow_memory, simulated.history.shadow) == (None, None, None)


def test_a_would_be_rescale_is_an_event() -> None:
    made = SimulatedTarget(scaler(INFLIGHT_10), 2).cycle(60_000)
    assert [(each.type, each.reason) for each in made.events] == [(EventType.NORMAL, Reason.PROPOSED_RESCALE)]
    assert made.events[0].message == "New size: 4; reason: pods metric inflight above target"


def test_after_its_step_the_shadow_is_able_to_scale() -> None:
    """As after a live write, plus the note that nothing was written."""
    made = SimulatedTarget(scaler(INFLIGHT_10), 2).cycle(60_000)
    able = next(each for each in made.conditions if each.type is ConditionType.ABLE_TO_SCALE)
    assert (able.reason, able.message) == (
        Reason.SUCCEEDED_RESCALE,
        "the shadow's size is 4 now; a dry run writes nothing",
    )


POLICY = ScalingRules(
    timedelta(0), SelectPolicy.MAX, (ScalingPolicy(PolicyType.PODS, 1, timedelta(seconds=60)),), tolerance=0
)


def test_policies_count_the_shadows_own_changes() -> None:
    """One in 60 s, in either direction."""
    simulated = SimulatedTarget(scaler(QUEUE_15, behavior=Behavior(POLICY, POLICY)), 2)
    sizes = [simulated.cycle(150_000).desired for _ in range(9)]
    assert sizes == [3, 3, 3, 3, 4, 4, 4, 4, 5]


def test_the_bounds_apply_to_the_shadow() -> None:
    simulated = SimulatedTarget(scaler(QUEUE_15, maximum=3), 2)
    assert [simulated.cycle(150_000).desired for _ in range(3)] == [3, 3, 3]


def test_a_pause_and_an_override_apply_to_the_shadow() -> None:
    simulated = SimulatedTarget(scaler(QUEUE_15), 2)
    pause = Pause(Direction.OUT, "ann", "", NOW, None)
    simulated.history = replace(simulated.history, steering=Steering(pause))
    assert (simulated.cycle(150_000).change, simulated.shadow.size) == (None, 2)
    simulated.history = replace(simulated.history, steering=Steering(None, Override(None, 3, "ann", "", NOW, None)))
    simulated.cycle(150_000)
    assert simulated.shadow.size == 3


def test_the_targets_limits_and_holds_apply_to_the_shadow() -> None:
    simulated = SimulatedTarget(scaler(QUEUE_15), 2)
    held = replace(state(2), hold=Hold(scale_out=HoldReason("Deployment", "under way")))
    limited = replace(state(2), limits=Limits(0, 4))
    for seen, size in ((held, 2), (limited, 4)):
        made = decide(simulated.autoscaler, Observation(seen, (value(150_000),)), simulated.history, NOW)
        made = conclude(made, None if made.change is None else Proposed(made.change.size))
        assert made.shadow_memory is not None
        assert made.shadow_memory.size == size


def test_an_unreadable_target_keeps_the_shadow() -> None:
    simulated = SimulatedTarget(scaler(INFLIGHT_10), 2)
    simulated.cycle(60_000)
    before = simulated.shadow
    made = simulated.cycle(60_000, unreadable=TargetUnavailable("no answer"))
    assert (made.current, made.desired, made.shadow) == (None, None, 4)
    assert simulated.shadow == before


def test_a_target_that_was_never_read_has_no_shadow() -> None:
    made = SimulatedTarget(scaler(INFLIGHT_10), 2).cycle(60_000, unreadable=TargetUnavailable("no answer"))
    assert (made.shadow, made.shadow_memory) == (None, None)


def test_an_outside_change_does_not_resize_the_shadow() -> None:
    simulated = SimulatedTarget(scaler(INFLIGHT_10), 2)
    simulated.cycle(60_000)
    simulated.resize(9)
    made = simulated.cycle(60_000)
    assert (made.current, made.shadow) == (9, 4)


def test_when_the_dry_run_ends_only_its_recommendations_stay() -> None:
    simulated = SimulatedTarget(scaler(QUEUE_15, behavior=Behavior(POLICY, POLICY)), 2)
    simulated.cycle(150_000)
    before = simulated.history
    assert before.scale_ups
    simulated.autoscaler = replace(simulated.autoscaler, dry_run=False)
    made = simulated.cycle(20_000)
    assert (made.shadow, made.shadow_memory, simulated.history.shadow) == (None, None, None)
    assert simulated.history.scale_ups == ()
    assert Recommendation(10, NOW + timedelta(seconds=15)) in simulated.history.recommendations
    assert all(each.last_transition == simulated.now for each in made.conditions)


def test_the_shadows_events_are_dropped_before_the_first_live_write() -> None:
    """The write's own event must start a list without the shadow's events."""
    simulated = SimulatedTarget(scaler(QUEUE_15, behavior=Behavior(POLICY, POLICY)), 2)
    simulated.cycle(150_000)
    simulated.autoscaler = replace(simulated.autoscaler, dry_run=False)
    made = simulated.cycle(150_000)
    assert isinstance(made.outcome, Written)
    assert simulated.history.scale_ups == (ScaleEvent(1, simulated.now),)


def test_an_own_zero_is_left_again_after_a_dry_run() -> None:
    """Only the target's own history tells whether a size of 0 means `off`."""
    zero = Condition(ConditionType.SCALED_TO_ZERO, True, Reason.SCALED_TO_ZERO, "scaled to zero", LONG_AGO)
    simulated = SimulatedTarget(scaler(QUEUE_15, minimum=0), 0)
    simulated.history = replace(simulated.history, conditions=(zero,))
    simulated.cycle(60_000)
    assert simulated.shadow.size == 4
    simulated.autoscaler = replace(simulated.autoscaler, dry_run=False)
    simulated.cycle(60_000)
    assert simulated.size == 4


def test_a_shadow_that_was_scaled_to_zero_comes_back() -> None:
    simulated = SimulatedTarget(scaler(QUEUE_15, minimum=0), 2)
    for _ in range(25):
        simulated.cycle(0)
    assert simulated.shadow.size == 0
    simulated.cycle(30_000)
    assert simulated.shadow.size == 2


def test_a_target_that_was_off_and_is_switched_on_has_a_new_shadow() -> None:
    simulated = SimulatedTarget(scaler(QUEUE_15), 0)
    made = simulated.cycle(60_000)
    assert conditions(made)[ConditionType.SCALING_ACTIVE] == Reason.SCALING_DISABLED
    simulated.resize(3)
    made = simulated.cycle(60_000)
    assert (made.shadow, simulated.shadow.ready(simulated.now)) == (3, 0)
    assert simulated.shadow.scaled_to_zero is None


def test_an_unfinished_write_belongs_to_the_target() -> None:
    """The shadow reaches its sizes without writes, so an announced write is not its own."""
    simulated = SimulatedTarget(scaler(QUEUE_15, behavior=Behavior()), 2)
    simulated.history = replace(simulated.history, unfinished=Intent(4, 2, NOW))
    simulated.cycle(60_000)
    made = simulated.cycle(60_000)
    assert made.shadow == 4
    assert Reason.SETTLED not in [step.reason for step in made.trace]
    assert simulated.history.unfinished == Intent(4, 2, NOW)
    simulated.resize(4)
    simulated.cycle(60_000)
    assert simulated.history.unfinished is None


def test_start_up_is_learnt_from_starting_instances() -> None:
    simulated = SimulatedTarget(scaler(INFLIGHT_10), 2)
    simulated.started = dict.fromkeys(simulated.started, -timedelta(days=1))
    unknown = [replace(each, started_at=LONG_AGO, ready_transition=LONG_AGO) for each in simulated.state().instances]
    observed = Observation(state(2, unknown), simulated.readings(20_000))
    made = decide(simulated.autoscaler, observed, simulated.history, simulated.now)
    assert made.shadow_memory is not None
    assert (made.shadow_memory.start_up, made.shadow_memory.learnt) == (START_UP, False)
    simulated.history = remember(simulated.autoscaler, simulated.history, made)
    simulated.autoscaler = replace(
        simulated.autoscaler, options=replace(simulated.autoscaler.options, start_up=timedelta(minutes=5))
    )
    simulated.resize(3)
    for _ in range(4):
        simulated.cycle(20_000)
    assert (simulated.shadow.start_up, simulated.shadow.learnt) == (START_UP, True)
    simulated.resize(2)
    simulated.cycle(20_000)
    assert (simulated.shadow.start_up, simulated.shadow.learnt) == (START_UP, True)


def test_start_up_is_learnt_from_older_instances_with_known_times() -> None:
    """For an unknown time the back end reports when the daemon first looked, which does not show a start-up time."""
    simulated = SimulatedTarget(scaler(INFLIGHT_10), 2)
    old = LONG_AGO - timedelta(hours=1)
    known = Instance("known", Phase.RUNNING, True, ready_transition=old + timedelta(seconds=25), started_at=old)
    flapped = Instance("flapped", Phase.RUNNING, True, ready_transition=LONG_AGO, started_at=old)
    filled = Instance("filled", Phase.RUNNING, True, ready_transition=NOW, started_at=NOW - timedelta(seconds=300))
    for found, learnt in (((flapped,), False), ((filled,), False), ((flapped, filled, known), True)):
        made = decide(simulated.autoscaler, Observation(state(1, found), (samples({}),)), History(), NOW)
        assert made.shadow_memory is not None
        assert made.shadow_memory.learnt is learnt
        assert made.shadow_memory.start_up == (timedelta(seconds=25) if learnt else START_UP)


def test_an_instance_that_starts_together_with_the_shadow_shows_the_start_up_time() -> None:
    simulated = SimulatedTarget(scaler(INFLIGHT_10), 1)
    begun = new_shadow(simulated.autoscaler, simulated.state(), (), NOW)
    ready = NOW + timedelta(seconds=25)
    one = Instance("one", Phase.RUNNING, True, ready_transition=ready, started_at=NOW)
    made = decide(simulated.autoscaler, Observation(state(1, [one]), (samples({}),)), History(shadow=begun), ready)
    assert made.shadow_memory is not None
    assert made.shadow_memory.start_up == timedelta(seconds=25)


def test_an_instance_that_became_ready_at_this_moment_is_ready() -> None:
    """Among ready instances, the oldest leave first."""
    begun = new_shadow(scaler(QUEUE_15), state(4), (), LONG_AGO)
    youngest = (Starting(2, LONG_AGO, NOW),)
    assert resized(replace(begun, starting=youngest), 3, NOW).starting == youngest


def test_instances_that_are_not_ready_leave_first() -> None:
    simulated = SimulatedTarget(scaler(QUEUE_15, behavior=Behavior(scale_down=replace(POLICY, policies=()))), 2)
    simulated.cycle(90_000)
    assert (simulated.shadow.size, simulated.shadow.ready(simulated.now)) == (6, 2)
    down = replace(POLICY, policies=(ScalingPolicy(PolicyType.PODS, 100, timedelta(seconds=15)),))
    simulated.autoscaler = replace(simulated.autoscaler, behavior=Behavior(scale_down=down))
    simulated.cycle(45_000)
    assert (simulated.shadow.size, simulated.shadow.ready(simulated.now)) == (3, 2)


def test_unready_instances_at_the_start_become_ready() -> None:
    simulated = SimulatedTarget(scaler(QUEUE_15), 2)
    simulated.resize(4)
    simulated.cycle(60_000)
    assert simulated.shadow.ready(simulated.now) == 2
    assert simulated.shadow.ready(simulated.now + START_UP) == 4


def test_a_target_at_its_maximum_and_above_target_may_hide_demand() -> None:
    simulated = SimulatedTarget(scaler(INFLIGHT_10, maximum=2), 2)
    made = simulated.cycle(60_000)
    assert simulated.shadow.saturated
    assert made.doubts == (
        "the target is at its maximum of 2, and pods metric inflight is above target: more may be asked for than shows",
    )


def test_a_target_smaller_than_its_shadow_and_above_target_may_hide_demand() -> None:
    simulated = SimulatedTarget(scaler(INFLIGHT_10), 2)
    assert simulated.cycle(60_000).doubts == ()
    made = simulated.cycle(60_000, after=60)
    assert simulated.shadow.saturated
    (warning,) = made.doubts
    assert warning == (
        "the target has 2 ready, its shadow 4, and pods metric inflight is above target: more may be asked for than "
        "shows"
    )
    simulated.cycle(20_000)
    assert not simulated.shadow.saturated


def test_the_shadow_keeps_its_age_after_a_clock_change() -> None:
    simulated = SimulatedTarget(scaler(INFLIGHT_10), 2)
    simulated.cycle(60_000)
    by = timedelta(hours=3)
    moved = later(simulated.history, by).shadow
    assert moved is not None
    assert (moved.since, moved.ready(simulated.now + by), moved.ready(simulated.now + by + START_UP)) == (
        simulated.shadow.since + by, 2, 4,
    )  # fmt: skip


def test_a_decision_is_reproducible_from_observation_and_history() -> None:
    """A replay needs nothing else to reach the daemon's decisions."""
    simulated = SimulatedTarget(scaler(INFLIGHT_10, QUEUE_15), 2)
    for load in (60_000, 60_000, 10_000):
        history = simulated.history
        made = simulated.cycle(load)
        again = decide(
            simulated.autoscaler, Observation(simulated.state(), simulated.readings(load)), history, simulated.now
        )
        again = conclude(again, made.outcome)
        assert again == made
        assert remember(simulated.autoscaler, history, again) == simulated.history
