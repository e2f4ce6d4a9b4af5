"""Properties of brakes for every load, every target and every outside change."""

from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from autoscaler.decide import decide
from autoscaler.errors import TargetError, TargetUnavailable
from autoscaler.model import (
    NO_MEMORIES,
    NO_RULES,
    Autoscaler,
    Behavior,
    Decision,
    Failure,
    Hold,
    HoldReason,
    MetricType,
    PolicyType,
    Reading,
    Reason,
    Rules,
    ScalingPolicy,
    ScalingRules,
    SelectPolicy,
    TargetState,
    TargetType,
)
from autoscaler.rules.brakes import Brakes
from autoscaler.rules.brakes.loss import LossBrake
from autoscaler.rules.brakes.outside_change import OutsideChangeBrake
from autoscaler.rules.brakes.unfulfilled import UnfulfilledBrake
from tests.decide.build import Life, metric, scaler, value
from tests.replaced import replace
from tests.rules.braking import active, brake_memory, workers

QUEUE = metric(MetricType.EXTERNAL, TargetType.AVERAGE_VALUE, 10_000, "queue")

policies = st.lists(
    st.builds(
        ScalingPolicy,
        st.sampled_from(PolicyType),
        st.integers(1, 120),
        st.integers(1, 90).map(lambda s: timedelta(seconds=s)),
    ),
    min_size=1,
    max_size=3,
).map(tuple)
rules = st.builds(
    ScalingRules,
    st.integers(0, 120).map(lambda s: timedelta(seconds=s)),
    st.sampled_from([SelectPolicy.MAX, SelectPolicy.MIN]),
    policies,
    st.none() | st.floats(0, 0.5),
)
behaviors = st.none() | st.builds(Behavior, rules, rules)
bounds = st.tuples(st.integers(1, 20), st.integers(0, 40)).map(lambda pair: (pair[0], pair[0] + pair[1]))
readings = st.integers(0, 500_000).map(value) | st.just(Failure("down"))
loads = st.lists(readings, min_size=1, max_size=20)
spans = st.integers(1, 120).map(lambda seconds: timedelta(seconds=seconds))
percents = st.integers(1, 100)
brakes = st.builds(
    Brakes,
    st.none() | st.builds(UnfulfilledBrake, percents, spans),
    st.none() | st.builds(LossBrake, percents, spans),
    st.none() | st.builds(OutsideChangeBrake, spans),
    st.booleans(),
)


class Turn(NamedTuple):
    """One cycle, 15 s after the previous one."""

    reading: Reading | Failure
    running: int
    """Percent of the size that runs."""
    meddler: int | None
    """The size that another client sets before the cycle."""
    hold: Hold
    error: TargetError | None


_HELD = HoldReason("RolloutInProgress", "a rollout is under way")
turns = st.lists(
    st.builds(
        Turn,
        readings,
        st.integers(0, 120),
        st.none() | st.integers(0, 70),
        st.sampled_from([Hold(), Hold(), Hold(scale_in=_HELD), Hold(_HELD, _HELD)]),
        st.sampled_from([None, None, None, TargetUnavailable("timeout")]),
    ),
    min_size=1,
    max_size=25,
)


def lived(autoscaler: Autoscaler, size: int, life: Sequence[Turn]) -> list[tuple[Decision, Decision, Decision]]:
    """Return each cycle's decision, the same one without brakes, and the first one after its write."""
    one, found = Life(autoscaler, size), []
    without = replace(autoscaler, rules=NO_RULES)
    for turn in life:
        one.size = one.size if turn.meddler is None else turn.meddler
        running = one.size * turn.running // 100
        state = TargetState(one.size, running, workers(running), hold=turn.hold)
        concluded = one.step(turn.reading, target=turn.error or state, after=15)
        plain = decide(without, one.observed, replace(one.before, rules=NO_MEMORIES), one.now)
        found.append((one.decided, plain, concluded))
    return found


@given(bounds, behaviors, brakes, turns, st.integers(0, 60))
def test_a_brake_only_prevents_changes(
    limits: tuple[int, int], behavior: Behavior | None, rules: Brakes, life: list[Turn], size: int
) -> None:
    """A write with brakes is also a write without them. The rest of the decision is the same."""
    autoscaler = replace(scaler(QUEUE, minimum=limits[0], maximum=limits[1], behavior=behavior), rules=Rules([rules]))
    for made, plain, _ in lived(autoscaler, size, life):
        assert made.change is None or made.change == plain.change
        assert (made.current, made.desired, made.metrics) == (plain.current, plain.desired, plain.metrics)
        assert (made.remembered.recommendations, made.error) == (plain.remembered.recommendations, plain.error)
        if made.change != plain.change:
            assert active(made)


@given(bounds, behaviors, brakes, turns, st.integers(0, 60))
def test_no_brake_keeps_a_size_outside_the_bounds(
    limits: tuple[int, int], behavior: Behavior | None, rules: Brakes, life: list[Turn], size: int
) -> None:
    """The size returns at once unless the target holds it, and no size beyond the bounds is written."""
    minimum, maximum = limits
    autoscaler = replace(scaler(QUEUE, minimum=minimum, maximum=maximum, behavior=behavior), rules=Rules([rules]))
    for made, _, concluded in lived(autoscaler, size, life):
        if concluded.written is not None:
            assert minimum <= concluded.written <= maximum
        if made.current and not minimum <= made.current <= maximum:
            reasons = [step.reason for step in made.trace if step.reason != Reason.RESCALE]  # it says what is wanted
            assert made.change is not None or reasons == [_HELD.reason]


@given(brakes, turns, st.integers(0, 60))
def test_brakes_remember_only_what_they_need(rules: Brakes, life: list[Turn], size: int) -> None:
    """The state holds the memory of hundreds of thousands of autoscalers.

    Of its own sizes it needs each that was written since the target last showed one: reads may lag behind several
    writes.
    """
    unseen, known = list[int](), None
    for made, _, concluded in lived(replace(scaler(QUEUE), rules=Rules([rules])), size, life):
        memory = brake_memory(concluded)
        assert memory is not None
        assert rules.unfulfilled or memory.shortfall is None
        assert rules.loss or (memory.running, memory.loss) == (None, None)
        assert rules.outside_change or (memory.size, memory.own, memory.outside) == (None, (), None)
        assert rules.after_outage or memory.outage is None
        if made.current not in (None, known):
            if known is not None and made.current in unseen:
                del unseen[: unseen.index(made.current) + 1]
            known = made.current
        if concluded.written is not None:
            unseen = [size for size in unseen if size != concluded.written] + [concluded.written]
        if rules.outside_change:
            assert [each.size for each in memory.own] == unseen
