"""A queue that the shadow processes at a different speed than the target."""

from hypothesis import given
from hypothesis import strategies as st

from autoscaler.model import Failure, MetricKind, MetricSpec, MetricType, TargetType
from tests.decide.build import metric, scaler, value
from tests.decide.shadowing import SimulatedTarget
from tests.replaced import replace

SECOND = 1_000
JOBS_10: MetricSpec = replace(
    metric(MetricType.EXTERNAL, TargetType.AVERAGE_VALUE, 10_000, "jobs"), kind=MetricKind.BACKLOG
)
RATED: MetricSpec = replace(JOBS_10, service_rate=1 * SECOND)


def simulated(one: MetricSpec = RATED, size: int = 2, minimum: int = 1, maximum: int = 100) -> SimulatedTarget:
    return SimulatedTarget(scaler(one, minimum=minimum, maximum=maximum), size)


def lengths(one: SimulatedTarget) -> tuple[float, float]:
    """Return the lengths of the shadow's queue and the target's, in jobs."""
    (backlog,) = one.shadow.backlogs
    return backlog.length / 1000, backlog.seen / 1000


def test_a_larger_shadow_processes_its_queue_faster() -> None:
    """One job each second for each ready instance."""
    one = simulated(maximum=8)
    one.cycle(80_000)
    assert one.shadow.size == 4
    one.cycle(80_000, after=15)
    assert lengths(one) == (80, 80)
    one.cycle(80_000, after=25)
    assert lengths(one) == (30, 80)


def test_arrivals_are_the_same_for_both() -> None:
    one = simulated(size=4, maximum=2)
    one.cycle(40_000)
    one.cycle(90_000, after=15)
    assert lengths(one) == (90 + 2 * 15, 90)


def test_a_smaller_shadow_has_the_longer_queue() -> None:
    one = simulated(size=4, maximum=2)
    one.cycle(10_000)
    one.cycle(10_000, after=15)
    assert lengths(one) == (10 + 2 * 15, 10)


def test_a_queue_is_never_negative() -> None:
    one = simulated(minimum=30)
    one.cycle(10_000)
    one.cycle(10_000, after=60)
    one.cycle(10_000, after=60)
    assert lengths(one) == (0, 10)


def test_an_empty_queue_of_the_target_means_no_arrivals() -> None:
    """The target's instances have an unknown idle time, and the shadow reports that."""
    one = simulated(size=4, maximum=2)
    one.cycle(40_000)
    one.cycle(40_000, after=15)
    assert lengths(one) == (70, 40)
    made = one.cycle(0, after=15)
    assert lengths(one) == (40, 0)
    assert made.doubts == ("external metric jobs is empty with 4 ready; with the shadow's 2 it may not be",)


def test_an_empty_queue_of_the_target_is_certain_when_the_shadow_has_as_many_instances() -> None:
    """The shadow's queue is still longer, and falls by its own rate."""
    one = simulated(size=4, maximum=2)
    one.cycle(400_000)
    one.autoscaler = replace(one.autoscaler, max_replicas=4)
    one.cycle(400_000)
    made = one.cycle(0, after=60)
    assert (one.shadow.ready(one.now), made.doubts) == (4, ())
    assert lengths(one)[0] > 0


def test_the_service_rate_is_learnt_from_the_queue_as_it_falls() -> None:
    """The fastest fall over two cycles shows what the instances can do while little arrives."""
    one = simulated(JOBS_10)
    for length in (200_000, 170_000, 140_000, 130_000):
        one.cycle(length)
    (backlog,) = one.shadow.backlogs
    assert backlog.learnt == 1 * SECOND


def test_a_purged_queue_does_not_change_the_service_rate() -> None:
    one = simulated(JOBS_10)
    for length in (200_000, 200_000, 1_000, 1_000):
        one.cycle(length)
    (backlog,) = one.shadow.backlogs
    assert backlog.learnt is None


def test_a_configured_service_rate_precedes_a_learnt_one() -> None:
    one = simulated(replace(JOBS_10, service_rate=5 * SECOND), size=4, maximum=2)
    for length in (90_000, 80_000, 70_000):
        one.cycle(length, after=1)
    assert lengths(one)[0] == 70 + 2 * 5 * 2


def test_without_a_service_rate_the_shadow_reports_an_unknown_queue() -> None:
    one = simulated(JOBS_10)
    assert one.cycle(80_000).doubts == ()
    made = one.cycle(80_000, after=60)
    assert made.metrics[0].proposal == 8
    (warning,) = made.doubts
    assert warning == (
        "the length of external metric jobs with the shadow's 4 ready is unknown: it has never fallen; give the "
        "metric a serviceRate"
    )


def test_after_a_long_gap_it_restarts_at_the_targets_length() -> None:
    one = simulated(size=4, maximum=2)
    one.cycle(10_000)
    one.cycle(10_000)
    assert lengths(one) == (40, 10)
    one.cycle({0: Failure("no answer")})
    assert lengths(one) == (40, 10)
    one.cycle(15_000, after=600)
    assert lengths(one) == (15, 15)


def test_two_backlogs_of_one_name_are_separate() -> None:
    one = SimulatedTarget(scaler(RATED, replace(RATED, service_rate=2 * SECOND), maximum=2), 4)
    one.cycle({0: value(10_000), 1: value(50_000)})
    one.cycle({0: value(10_000), 1: value(50_000)})
    assert [each.length for each in one.shadow.backlogs] == [40_000, 110_000]


def test_a_backlog_above_target_hides_no_demand() -> None:
    """Unprocessed jobs stay visible in the queue."""
    one = simulated(maximum=2)
    one.cycle(90_000)
    assert not one.shadow.saturated


arrivals = st.lists(st.integers(0, 60), min_size=1, max_size=40)


@given(arrivals, st.integers(1, 6), st.integers(1, 12))
def test_the_shadows_queue_is_exact_while_the_targets_is_not_empty(jobs: list[int], size: int, shadows: int) -> None:
    """Compares with a real queue that gets the same jobs and is processed by as many instances as the shadow has."""
    one = simulated(size=size, minimum=shadows, maximum=shadows)
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
def test_a_shadow_of_at_least_the_targets_size_never_has_the_longer_queue(
    jobs: list[int], size: int, more: int
) -> None:
    one = simulated(size=size, minimum=size + more, maximum=size + more)
    one.cycle(10_000)
    length = 10
    for arriving in jobs:
        length = max(0, length + arriving - 15 * size)
        one.cycle(1000 * length)
        shadows, targets = lengths(one)
        assert shadows <= targets
