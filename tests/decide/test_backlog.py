"""A queue that the shadow would work off at another speed than the target does."""

from hypothesis import given
from hypothesis import strategies as st

from autoscaler.errors import MetricError
from autoscaler.model import MetricKind, MetricSpec, MetricType, TargetType
from tests.decide.build import metric, scaler, value
from tests.decide.shadowing import World
from tests.replaced import replace

SECOND = 1_000
JOBS_10: MetricSpec = replace(
    metric(MetricType.EXTERNAL, TargetType.AVERAGE_VALUE, 10_000, "jobs"), kind=MetricKind.BACKLOG
)
RATED: MetricSpec = replace(JOBS_10, service_rate=1 * SECOND)


def world(one: MetricSpec = RATED, size: int = 2, minimum: int = 1, maximum: int = 100) -> World:
    return World(scaler(one, minimum=minimum, maximum=maximum), size)


def lengths(one: World) -> tuple[int, int]:
    """The shadow's queue and the target's, in whole jobs."""
    (backlog,) = one.shadow.backlogs
    return backlog.length // 1000, backlog.seen // 1000


def test_a_larger_shadow_works_its_queue_off_faster() -> None:
    """By a job each second for each instance that is ready, as soon as it is."""
    one = world(maximum=8)
    one.cycle(80_000)
    assert one.shadow.size == 4
    one.cycle(80_000, after=15)
    assert lengths(one) == (80, 80)
    one.cycle(80_000, after=25)
    assert lengths(one) == (30, 80)


def test_what_arrives_arrives_for_both() -> None:
    one = world(size=4, maximum=2)
    one.cycle(40_000)
    one.cycle(90_000, after=15)
    assert lengths(one) == (90 + 2 * 15, 90)


def test_a_smaller_shadow_has_the_longer_queue() -> None:
    one = world(size=4, maximum=2)
    one.cycle(10_000)
    one.cycle(10_000, after=15)
    assert lengths(one) == (10 + 2 * 15, 10)


def test_a_queue_is_never_shorter_than_empty() -> None:
    one = world(minimum=30)
    one.cycle(10_000)
    one.cycle(10_000, after=60)
    one.cycle(10_000, after=60)
    assert lengths(one) == (0, 10)


def test_while_the_targets_queue_is_empty_nothing_is_taken_to_arrive() -> None:
    """Its instances have time left, and nobody knows how much. The shadow then says so."""
    one = world(size=4, maximum=2)
    one.cycle(40_000)
    one.cycle(40_000, after=15)
    assert lengths(one) == (70, 40)
    made = one.cycle(0, after=15)
    assert lengths(one) == (40, 0)
    assert made.doubts == ("external metric jobs is empty with 4 ready; with the shadow's 2 it may not be",)


def test_the_service_rate_is_learnt_from_the_queue_as_it_falls() -> None:
    """The fastest fall that lasted for two cycles: that is what the instances can do when little arrives."""
    one = world(JOBS_10)
    for length in (200_000, 170_000, 140_000, 130_000):
        one.cycle(length)
    (backlog,) = one.shadow.backlogs
    assert backlog.learnt == 1 * SECOND


def test_a_queue_that_was_purged_teaches_nothing() -> None:
    one = world(JOBS_10)
    for length in (200_000, 200_000, 1_000, 1_000):
        one.cycle(length)
    (backlog,) = one.shadow.backlogs
    assert backlog.learnt is None


def test_a_given_service_rate_goes_before_a_learnt_one() -> None:
    one = world(replace(JOBS_10, service_rate=5 * SECOND), size=4, maximum=2)
    for length in (90_000, 80_000, 70_000):
        one.cycle(length, after=1)
    assert lengths(one)[0] == 70 + 2 * 5 * 2


def test_without_a_service_rate_the_shadow_says_that_it_cannot_know() -> None:
    one = world(JOBS_10)
    assert one.cycle(80_000).doubts == ()
    made = one.cycle(80_000, after=60)
    assert made.metrics[0].proposal == 8
    (warning,) = made.doubts
    assert warning == (
        "nobody knows how long external metric jobs would be with the shadow's 4 ready: it has never fallen; give the "
        "metric a serviceRate"
    )


def test_after_a_long_gap_it_begins_as_long_as_the_targets() -> None:
    one = world(size=4, maximum=2)
    one.cycle(10_000)
    one.cycle(10_000)
    assert lengths(one) == (40, 10)
    one.cycle({0: MetricError("no answer")})
    assert lengths(one) == (40, 10)
    one.cycle(15_000, after=600)
    assert lengths(one) == (15, 15)


def test_two_backlogs_of_one_name_are_two() -> None:
    one = World(scaler(RATED, replace(RATED, service_rate=2 * SECOND), maximum=2), 4)
    one.cycle({0: value(10_000), 1: value(50_000)})
    one.cycle({0: value(10_000), 1: value(50_000)})
    assert [each.length for each in one.shadow.backlogs] == [40_000, 110_000]


def test_a_backlog_that_is_above_target_hides_no_demand() -> None:
    """What is not worked off waits, and shows."""
    one = world(maximum=2)
    one.cycle(90_000)
    assert not one.shadow.saturated


arrivals = st.lists(st.integers(0, 60), min_size=1, max_size=40)


@given(arrivals, st.integers(1, 6), st.integers(1, 12))
def test_as_long_as_the_targets_queue_is_never_empty_the_shadows_is_exact(
    jobs: list[int], size: int, shadows: int
) -> None:
    """Beside a queue of the shadow's own, fed by the same jobs and worked off by as many instances as it has."""
    one = world(size=size, minimum=shadows, maximum=shadows)
    target = 10_000_000
    one.cycle(target, after=0)
    one.cycle(target, after=60)  # the shadow's instances are ready now
    (backlog,) = one.shadow.backlogs
    own = backlog.length
    for arriving in jobs:
        target += 1000 * (arriving - size)
        own += 1000 * (arriving - shadows)
        one.cycle(target, after=1)
        (backlog,) = one.shadow.backlogs
        assert backlog.length == own


@given(arrivals, st.integers(1, 6), st.integers(0, 6))
def test_a_shadow_that_is_no_smaller_never_has_the_longer_queue(jobs: list[int], size: int, more: int) -> None:
    one = world(size=size, minimum=size + more, maximum=size + more)
    one.cycle(10_000)
    length = 10
    for arriving in jobs:
        length = max(0, length + arriving - 15 * size)
        one.cycle(1000 * length)
        shadows, targets = lengths(one)
        assert shadows <= targets
