"""What the daemon keeps between cycles: everything it needs, and nothing else. tests/conformance holds scale events."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from autoscaler.decide import decide, remember
from autoscaler.errors import TargetUnavailable
from autoscaler.hpa.memory import with_recommendations
from autoscaler.hpa.stabilization import stabilize, stabilize_down
from autoscaler.model import (
    MAX_WINDOW,
    Behavior,
    History,
    Observation,
    PendingWrite,
    PolicyType,
    Recommendation,
    ScalingPolicy,
    ScalingRules,
    SelectPolicy,
    ValueReading,
    later,
)
from tests.decide.build import NOW, QUEUE_15, Life, scaler, value

FIVE_MINUTES = timedelta(minutes=5)
seconds = st.integers(0, 3600).map(lambda count: timedelta(seconds=count))
few_seconds = st.sampled_from([0, 1, 15, 60, 299, 300, 301, 3600]).map(lambda count: timedelta(seconds=count))


def recommendations(*pairs: tuple[int, float]) -> list[Recommendation]:
    """Return recommendations from pairs of replicas and seconds after NOW."""
    return [Recommendation(replicas, NOW + timedelta(seconds=after)) for replicas, after in pairs]


def kept(*pairs: tuple[int, float]) -> list[tuple[int, float]]:
    """Return what is kept of successive recommendations."""
    known: tuple[Recommendation, ...] = ()
    for one in recommendations(*pairs):
        known = with_recommendations(known, [one], FIVE_MINUTES)
    return [(entry.replicas, (entry.at - NOW).total_seconds()) for entry in known]


@given(st.lists(st.tuples(few_seconds, st.integers(1, 6), st.integers(1, 6), seconds, seconds), max_size=40))
def test_dropped_recommendations_never_affect_a_window(
    cycles: list[tuple[timedelta, int, int, timedelta, timedelta]],
) -> None:
    """A reload can change the windows in any cycle. The answers are those of the whole list."""
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


def test_equal_recommendations_become_one_with_the_last_time() -> None:
    """A window that contains any of them contains the last, so a constant load takes one entry."""
    assert kept((5, 0), (5, 15), (5, 30)) == [(5, 30)]


def test_a_load_between_two_sizes_takes_two_entries() -> None:
    assert kept(*[(5 + cycle % 2, 15 * cycle) for cycle in range(240)]) == [(5, 238 * 15), (6, 239 * 15)]


def test_recommendations_are_kept_for_the_longest_possible_window() -> None:
    """A reload may lengthen the window to an hour. It then covers recommendations from before the reload."""
    assert kept((9, 0), (1, 3600)) == [(9, 0), (1, 3600)]
    assert kept((9, 0), (1, 3601)) == [(1, 3601)]


def test_a_controller_may_stabilize_for_longer_than_an_hour() -> None:
    """--horizontal-pod-autoscaler-downscale-stabilization has no upper limit, unlike a behavior's window."""
    known = tuple(recommendations((9, 0)))
    new = recommendations((1, 7200))
    assert len(with_recommendations(known, new, 2 * MAX_WINDOW)) == 2


def test_the_newest_recommendation_is_always_kept() -> None:
    """Without any, the current size would count as the first recommendation, as for a new autoscaler."""
    life = Life(scaler(QUEUE_15), 4)
    life.step(value(60_000))
    life.now += timedelta(days=1)
    blind = decide(life.autoscaler, Observation(TargetUnavailable("down"), ()), life.history, life.now)
    life.history = remember(life.autoscaler, life.history, blind)
    assert [entry.replicas for entry in life.history.hpa.recommendations] == [4]


def allowing(pods: int, period: float) -> ScalingRules:
    return ScalingRules(
        timedelta(0), SelectPolicy.MAX, (ScalingPolicy(PolicyType.PODS, pods, timedelta(seconds=period)),)
    )


@given(
    st.lists(st.tuples(st.integers(0, 200_000).map(value), st.booleans()), max_size=30),
    st.sampled_from([None, Behavior(), Behavior(allowing(2, 600), allowing(1, 45))]),
    st.integers(-(10**6), 10**6).map(lambda count: timedelta(seconds=count)),
)
def test_a_history_moved_with_the_clock_decides_as_before(
    cycles: list[tuple[ValueReading, bool]], behavior: Behavior | None, step: timedelta
) -> None:
    """In both directions of the step, conditions keep their age and nothing ends too early or too late."""
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


def test_a_pending_write_moves_with_the_clock() -> None:
    """The daemon waits as long as without the clock change."""
    intent = PendingWrite(8, 5, NOW)
    assert later(History(pending=intent), timedelta(hours=1)) == History(
        pending=PendingWrite(8, 5, NOW + timedelta(hours=1))
    )
