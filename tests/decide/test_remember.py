"""What is kept between cycles: no more than is needed, and all that is."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from autoscaler.decide import decide, remember
from autoscaler.decide.remember import with_events, with_recommendations
from autoscaler.decide.stabilization import stabilize, stabilize_down
from autoscaler.errors import TargetUnavailable
from autoscaler.model import (
    LONGEST_WINDOW,
    Behavior,
    History,
    Intent,
    Observation,
    PolicyType,
    Recommendation,
    ScaleEvent,
    ScalingPolicy,
    ScalingRules,
    SelectPolicy,
    ValueReading,
    later,
)
from tests.decide.build import NOW, QUEUE_15, Life, scaler, state, value

FIVE_MINUTES = timedelta(minutes=5)
seconds = st.integers(0, 3600).map(lambda count: timedelta(seconds=count))
few_seconds = st.sampled_from([0, 1, 15, 60, 299, 300, 301, 3600]).map(lambda count: timedelta(seconds=count))


def recommendations(*pairs: tuple[int, float]) -> list[Recommendation]:
    """Each (replicas, seconds after NOW)."""
    return [Recommendation(replicas, NOW + timedelta(seconds=after)) for replicas, after in pairs]


def kept(*pairs: tuple[int, float]) -> list[tuple[int, float]]:
    """What is left of recommendations that came one after another."""
    known: tuple[Recommendation, ...] = ()
    for one in recommendations(*pairs):
        known = with_recommendations(known, [one], FIVE_MINUTES)
    return [(entry.replicas, (entry.at - NOW).total_seconds()) for entry in known]


@given(st.lists(st.tuples(few_seconds, st.integers(1, 6), st.integers(1, 6), seconds, seconds), max_size=40))
def test_what_is_not_kept_never_mattered_to_any_window(
    cycles: list[tuple[timedelta, int, int, timedelta, timedelta]],
) -> None:
    """Every cycle may have other windows, as after a reload: the answers are those of the whole list."""
    whole: list[Recommendation] = []
    few: tuple[Recommendation, ...] = ()
    now = NOW
    for passed, desired, current, up_window, down_window in cycles:
        now += passed
        assert stabilize_down(desired, few, down_window, now) == stabilize_down(desired, whole, down_window, now)
        assert stabilize(desired, current, few, up_window, down_window, now) == stabilize(
            desired, current, whole, up_window, down_window, now
        )
        whole.append(Recommendation(desired, now))
        few = with_recommendations(few, whole[-1:], FIVE_MINUTES)


def test_equal_recommendations_are_one_with_the_time_of_the_last() -> None:
    """A window holds some of them exactly when it holds the last: a constant load takes one entry, not one a cycle."""
    assert kept((5, 0), (5, 15), (5, 30)) == [(5, 30)]


def test_a_load_that_swings_between_two_sizes_takes_two_entries() -> None:
    assert kept(*[(5 + cycle % 2, 15 * cycle) for cycle in range(240)]) == [(5, 238 * 15), (6, 239 * 15)]


def test_a_recommendation_outlives_its_window_for_as_long_as_a_window_can_be() -> None:
    """A reload may lengthen the window to an hour: it then looks at what was recommended before the reload."""
    assert kept((9, 0), (1, 3600)) == [(9, 0), (1, 3600)]
    assert kept((9, 0), (1, 3601)) == [(1, 3601)]


def test_a_controller_may_stabilize_for_longer_than_an_hour() -> None:
    """--horizontal-pod-autoscaler-downscale-stabilization has no upper limit, unlike a behavior's window."""
    known = tuple(recommendations((9, 0)))
    new = recommendations((1, 7200))
    assert len(with_recommendations(known, new, 2 * LONGEST_WINDOW)) == 2


def test_the_newest_recommendation_is_kept_however_long_nothing_can_be_measured() -> None:
    """Without any, the size that is found would count as the first recommendation, as it does for a new autoscaler."""
    life = Life(scaler(QUEUE_15), 4)
    life.step(value(60_000))
    life.now += timedelta(days=1)
    blind = decide(life.autoscaler, Observation(TargetUnavailable("down"), ()), life.history, life.now)
    life.history = remember(life.autoscaler, life.history, blind)
    assert [entry.replicas for entry in life.history.recommendations] == [4]


def allowing(pods: int, period: float) -> ScalingRules:
    return ScalingRules(
        timedelta(0), SelectPolicy.MAX, (ScalingPolicy(PolicyType.PODS, pods, timedelta(seconds=period)),)
    )


def test_a_replaced_scale_event_counts_for_the_other_direction_no_more() -> None:
    """The HPA controller reuses the place of an event outside its own direction's periods, and so do we.

    Rises of 2 and 2 lie within the 600 s of scaleDown's period, but the first left scaleUp's 15 s before the second
    came: only the second is taken off the size at the period's start, 14 - 2 = 12, of which 10 % may leave.
    """
    tenth = ScalingRules(
        timedelta(0), SelectPolicy.MAX, (ScalingPolicy(PolicyType.PERCENT, 10, timedelta(seconds=600)),)
    )
    life = Life(scaler(QUEUE_15, behavior=Behavior(allowing(2, 15), tenth)), 10)
    assert life.step(value(180_000)).written == 12
    assert life.step(value(210_000), after=60).written == 14
    assert [event.change for event in life.history.scale_ups] == [2]
    assert life.step(value(15_000), after=60).written == 10


def test_a_scale_event_replaces_the_last_outdated_one_in_its_place() -> None:
    """Order is not time: which of two outdated events goes next decides what the other direction counts."""
    rules = allowing(4, 60)

    def event(change: int, after: float) -> ScaleEvent:
        return ScaleEvent(change, NOW + timedelta(seconds=after))

    known = with_events((), [event(1, 0), event(2, 50), event(3, 100), event(4, 200)], rules)
    assert [entry.change for entry in known] == [3, 4]


@given(
    st.lists(st.tuples(st.integers(0, 200_000).map(value), st.booleans()), max_size=30),
    st.sampled_from([None, Behavior(), Behavior(allowing(2, 600), allowing(1, 45))]),
    st.integers(-(10**6), 10**6).map(lambda count: timedelta(seconds=count)),
)
def test_a_history_that_moved_along_with_the_clock_decides_as_if_nobody_had_set_it(
    cycles: list[tuple[ValueReading, bool]], behavior: Behavior | None, step: timedelta
) -> None:
    """Forward and backward: nothing freezes, nothing is over too soon, and conditions keep their age."""
    autoscaler = scaler(QUEUE_15, maximum=40, behavior=behavior)
    unset, stepped = Life(autoscaler, 10), Life(autoscaler, 10)
    moved = timedelta(0)
    for load, is_set in cycles:
        if is_set:
            stepped.now += step
            stepped.history = later(stepped.history, step)
            moved += step
        expected = unset.step(load, after=15)
        made = stepped.step(load, after=15)
        assert made.trace == expected.trace
        assert later(stepped.history, -moved) == unset.history


def test_an_unfinished_write_moves_along_with_the_clock() -> None:
    """It is waited for as long as without the step."""
    intent = Intent(8, 5, NOW)
    assert later(History(unfinished=intent), timedelta(hours=1)) == History(
        unfinished=Intent(8, 5, NOW + timedelta(hours=1))
    )


def test_a_target_read_for_the_first_time_gives_the_first_recommendation() -> None:
    autoscaler = scaler(QUEUE_15)
    made = decide(autoscaler, Observation(state(7), (value(15_000),)), Life(autoscaler, 7).history, NOW)
    assert [entry.replicas for entry in made.recommendations] == [7, 1]
