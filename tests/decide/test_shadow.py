"""A dry run follows its own decisions with a size of its own: its shadow."""

from datetime import timedelta

from autoscaler.decide import conclude, decide, remember
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
    Steering,
    TargetType,
    Written,
    later,
)
from tests.decide.build import LONG_AGO, NOW, QUEUE_15, metric, samples, scaler, state, value
from tests.decide.shadowing import START_UP, World
from tests.replaced import replace

INFLIGHT_10 = metric(MetricType.PODS, TargetType.AVERAGE_VALUE, 10_000, "inflight")
LATENCY_2 = metric(MetricType.OBJECT, TargetType.VALUE, 2_000, "latency")
WHOLE_2 = metric(MetricType.EXTERNAL, TargetType.VALUE, 2_000, "level")


def conditions(made: object) -> dict[str, str]:
    return {each.type: each.reason for each in made.conditions}  # type: ignore[attr-defined]  # a decision, or a history


def test_a_dry_run_goes_on_from_its_own_decision() -> None:
    """Without a size of its own it said `2 -> 4` for ever under a load that takes a pool from 2 to 6."""
    world = World(scaler(INFLIGHT_10), 2)
    decided = [world.cycle(60_000).desired for _ in range(8)]
    assert decided[0] == 4
    assert decided[-1] == 6
    assert world.size == 2


def test_the_line_has_the_targets_size_the_shadows_and_what_it_decided() -> None:
    world = World(scaler(INFLIGHT_10), 2)
    world.cycle(60_000)
    made = world.cycle(60_000)
    assert (made.current, made.shadow, made.desired) == (2, 4, 6)
    assert made.decided_from == 4


def test_a_new_size_is_ready_a_start_up_time_later() -> None:
    world = World(scaler(INFLIGHT_10), 2)
    world.cycle(40_000)
    assert (world.shadow.size, world.shadow.ready(world.now)) == (4, 2)
    assert world.shadow.ready(world.now + START_UP - timedelta(microseconds=1)) == 2
    assert world.shadow.ready(world.now + START_UP) == 4


def test_without_a_shadow_a_dry_run_repeats_its_first_step() -> None:
    world = World(scaler(INFLIGHT_10), 2)
    world.scaler = replace(world.scaler, options=replace(world.scaler.options, shadow=False))
    made = [world.cycle(60_000) for _ in range(4)]
    assert [each.desired for each in made] == [4] * 4
    assert [(each.shadow, each.shadow_memory) for each in made] == [(None, None)] * 4
    assert world.history.scale_ups == ()


def test_one_that_is_switched_off_during_a_dry_run_goes() -> None:
    world = World(scaler(QUEUE_15, behavior=Behavior(POLICY, POLICY)), 2)
    world.cycle(150_000)
    world.scaler = replace(world.scaler, options=replace(world.scaler.options, shadow=False))
    made = world.cycle(150_000)
    assert (made.shadow, made.desired) == (None, 3)
    assert (world.history.shadow, world.history.scale_ups) == (None, ())


def test_a_live_autoscaler_has_none() -> None:
    world = World(scaler(INFLIGHT_10), 2, dry=False)
    made = world.cycle(60_000)
    assert (made.shadow, made.shadow_memory, world.history.shadow) == (None, None, None)


def test_a_would_be_rescale_is_an_event() -> None:
    made = World(scaler(INFLIGHT_10), 2).cycle(60_000)
    assert [(each.type, each.reason) for each in made.events] == [(EventType.NORMAL, Reason.PROPOSED_RESCALE)]
    assert made.events[0].message == "New size: 4; reason: pods metric inflight above target"


def test_after_its_step_the_shadow_is_able_to_scale() -> None:
    """As it is said of a live one after a write; and that nothing was written."""
    made = World(scaler(INFLIGHT_10), 2).cycle(60_000)
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
    world = World(scaler(QUEUE_15, behavior=Behavior(POLICY, POLICY)), 2)
    sizes = [world.cycle(150_000).desired for _ in range(9)]
    assert sizes == [3, 3, 3, 3, 4, 4, 4, 4, 5]


def test_the_bounds_hold_for_it() -> None:
    world = World(scaler(QUEUE_15, maximum=3), 2)
    assert [world.cycle(150_000).desired for _ in range(3)] == [3, 3, 3]


def test_an_operators_pause_and_override_hold_for_it() -> None:
    world = World(scaler(QUEUE_15), 2)
    pause = Pause(Direction.OUT, "ann", "", NOW, None)
    world.history = replace(world.history, steering=Steering(pause))
    assert (world.cycle(150_000).change, world.shadow.size) == (None, 2)
    world.history = replace(world.history, steering=Steering(None, Override(None, 3, "ann", "", NOW, None)))
    world.cycle(150_000)
    assert world.shadow.size == 3


def test_the_targets_own_limits_and_holds_do_too() -> None:
    world = World(scaler(QUEUE_15), 2)
    held = replace(state(2), hold=Hold(scale_out=HoldReason("Deployment", "under way")))
    limited = replace(state(2), limits=Limits(0, 4))
    for seen, size in ((held, 2), (limited, 4)):
        made = decide(world.scaler, Observation(seen, (value(150_000),)), world.history, NOW)
        made = conclude(made, None if made.change is None else Proposed(made.change.size))
        assert made.shadow_memory is not None
        assert made.shadow_memory.size == size


def test_a_target_that_cannot_be_read_leaves_it_where_it_is() -> None:
    world = World(scaler(INFLIGHT_10), 2)
    world.cycle(60_000)
    before = world.shadow
    made = world.cycle(60_000, unreadable=TargetUnavailable("no answer"))
    assert (made.current, made.desired, made.shadow) == (None, None, 4)
    assert world.shadow == before


def test_a_target_that_was_never_read_has_none_yet() -> None:
    made = World(scaler(INFLIGHT_10), 2).cycle(60_000, unreadable=TargetUnavailable("no answer"))
    assert (made.shadow, made.shadow_memory) == (None, None)


def test_the_size_that_somebody_else_sets_is_not_the_shadows() -> None:
    world = World(scaler(INFLIGHT_10), 2)
    world.cycle(60_000)
    world.resize(9)
    made = world.cycle(60_000)
    assert (made.current, made.shadow) == (9, 4)


def test_when_the_dry_run_ends_only_its_recommendations_stay() -> None:
    world = World(scaler(QUEUE_15, behavior=Behavior(POLICY, POLICY)), 2)
    world.cycle(150_000)
    before = world.history
    assert before.scale_ups
    world.scaler = replace(world.scaler, dry_run=False)
    made = world.cycle(20_000)
    assert (made.shadow, made.shadow_memory, world.history.shadow) == (None, None, None)
    assert world.history.scale_ups == ()
    assert Recommendation(10, NOW + timedelta(seconds=15)) in world.history.recommendations
    assert all(each.last_transition == world.now for each in made.conditions)


def test_its_events_are_dropped_before_the_first_live_write_is_announced() -> None:
    """The write's own event follows a list that is the live one's alone."""
    world = World(scaler(QUEUE_15, behavior=Behavior(POLICY, POLICY)), 2)
    world.cycle(150_000)
    world.scaler = replace(world.scaler, dry_run=False)
    made = world.cycle(150_000)
    assert isinstance(made.outcome, Written)
    assert world.history.scale_ups == (ScaleEvent(1, world.now),)


def test_a_zero_of_the_autoscaler_is_left_again_after_a_dry_run() -> None:
    """Whether a size of 0 means `off` is known of the target from before, and not of its shadow."""
    zero = Condition(ConditionType.SCALED_TO_ZERO, True, Reason.SCALED_TO_ZERO, "scaled to zero", LONG_AGO)
    world = World(scaler(QUEUE_15, minimum=0), 0)
    world.history = replace(world.history, conditions=(zero,))
    world.cycle(60_000)
    assert world.shadow.size == 4
    world.scaler = replace(world.scaler, dry_run=False)
    world.cycle(60_000)
    assert world.size == 4


def test_a_shadow_that_was_scaled_to_zero_comes_back() -> None:
    world = World(scaler(QUEUE_15, minimum=0), 2)
    for _ in range(25):
        world.cycle(0)
    assert world.shadow.size == 0
    world.cycle(30_000)
    assert world.shadow.size == 2


def test_a_target_that_was_off_and_is_switched_on_has_a_new_shadow() -> None:
    world = World(scaler(QUEUE_15), 0)
    made = world.cycle(60_000)
    assert conditions(made)[ConditionType.SCALING_ACTIVE] == Reason.SCALING_DISABLED
    world.resize(3)
    made = world.cycle(60_000)
    assert (made.shadow, world.shadow.ready(world.now)) == (3, 0)
    assert world.shadow.scaled_to_zero is None


def test_an_unfinished_write_is_the_targets_and_not_the_shadows() -> None:
    """A size that the shadow reaches by itself has not been written, whatever was announced before."""
    world = World(scaler(QUEUE_15, behavior=Behavior()), 2)
    world.history = replace(world.history, unfinished=Intent(4, 2, NOW))
    world.cycle(60_000)
    made = world.cycle(60_000)
    assert made.shadow == 4
    assert Reason.SETTLED not in [step.reason for step in made.trace]
    assert world.history.unfinished == Intent(4, 2, NOW)
    world.resize(4)
    world.cycle(60_000)
    assert world.history.unfinished is None


def test_start_up_is_learnt_from_instances_that_start_while_it_looks() -> None:
    world = World(scaler(INFLIGHT_10), 2)
    world.started = dict.fromkeys(world.started, -timedelta(days=1))
    unknown = [replace(each, started_at=LONG_AGO, ready_transition=LONG_AGO) for each in world.state().instances]
    observed = Observation(state(2, unknown), world.readings(20_000))
    made = decide(world.scaler, observed, world.history, world.now)
    assert made.shadow_memory is not None
    assert (made.shadow_memory.start_up, made.shadow_memory.learnt) == (START_UP, False)
    world.history = remember(world.scaler, world.history, made)
    world.scaler = replace(world.scaler, options=replace(world.scaler.options, start_up=timedelta(minutes=5)))
    world.resize(3)
    for _ in range(4):
        world.cycle(20_000)
    assert (world.shadow.start_up, world.shadow.learnt) == (START_UP, True)
    world.resize(2)
    world.cycle(20_000)
    assert (world.shadow.start_up, world.shadow.learnt) == (START_UP, True)


def test_start_up_is_taken_from_what_was_there_as_far_as_the_back_end_knows_it() -> None:
    """A time that it does not know is when the daemon first looked: that says nothing of how long a start takes."""
    world = World(scaler(INFLIGHT_10), 2)
    old = LONG_AGO - timedelta(hours=1)
    known = Instance("known", Phase.RUNNING, True, ready_transition=old + timedelta(seconds=25), started_at=old)
    flapped = Instance("flapped", Phase.RUNNING, True, ready_transition=LONG_AGO, started_at=old)
    filled = Instance("filled", Phase.RUNNING, True, ready_transition=NOW, started_at=NOW - timedelta(seconds=300))
    for found, learnt in (((flapped,), False), ((filled,), False), ((flapped, filled, known), True)):
        made = decide(world.scaler, Observation(state(1, found), (samples({}),)), History(), NOW)
        assert made.shadow_memory is not None
        assert made.shadow_memory.learnt is learnt
        assert made.shadow_memory.start_up == (timedelta(seconds=25) if learnt else START_UP)


def test_what_leaves_first_has_not_become_ready() -> None:
    world = World(scaler(QUEUE_15, behavior=Behavior(scale_down=replace(POLICY, policies=()))), 2)
    world.cycle(90_000)
    assert (world.shadow.size, world.shadow.ready(world.now)) == (6, 2)
    down = replace(POLICY, policies=(ScalingPolicy(PolicyType.PODS, 100, timedelta(seconds=15)),))
    world.scaler = replace(world.scaler, behavior=Behavior(scale_down=down))
    world.cycle(45_000)
    assert (world.shadow.size, world.shadow.ready(world.now)) == (3, 2)


def test_instances_that_are_not_ready_when_it_begins_become_so() -> None:
    world = World(scaler(QUEUE_15), 2)
    world.resize(4)
    world.cycle(60_000)
    assert world.shadow.ready(world.now) == 2
    assert world.shadow.ready(world.now + START_UP) == 4


def test_a_target_at_its_maximum_and_above_target_may_hide_demand() -> None:
    world = World(scaler(INFLIGHT_10, maximum=2), 2)
    made = world.cycle(60_000)
    assert world.shadow.saturated
    assert made.doubts == (
        "the target is at its maximum of 2, and pods metric inflight is above target: more may be asked for than shows",
    )


def test_a_target_smaller_than_its_shadow_and_above_target_may_hide_demand() -> None:
    world = World(scaler(INFLIGHT_10), 2)
    assert world.cycle(60_000).doubts == ()
    made = world.cycle(60_000, after=60)
    assert world.shadow.saturated
    (warning,) = made.doubts
    assert warning == (
        "the target has 2 ready, its shadow 4, and pods metric inflight is above target: more may be asked for than "
        "shows"
    )
    world.cycle(20_000)
    assert not world.shadow.saturated


def test_its_memory_keeps_its_age_when_the_clock_is_set() -> None:
    world = World(scaler(INFLIGHT_10), 2)
    world.cycle(60_000)
    by = timedelta(hours=3)
    moved = later(world.history, by).shadow
    assert moved is not None
    assert (moved.since, moved.ready(world.now + by), moved.ready(world.now + by + START_UP)) == (
        world.shadow.since + by, 2, 4,
    )  # fmt: skip


def test_it_decides_the_same_again_from_what_was_seen_and_remembered() -> None:
    """Nothing else enters: a replay gives the daemon's own decisions."""
    world = World(scaler(INFLIGHT_10, QUEUE_15), 2)
    for load in (60_000, 60_000, 10_000):
        history = world.history
        made = world.cycle(load)
        again = decide(world.scaler, Observation(world.state(), world.readings(load)), history, world.now)
        again = conclude(again, made.outcome)
        assert again == made
        assert remember(world.scaler, history, again) == world.history
