"""A target and the shadow of its dry run over the same time: what `autoscaler shadow` says."""

from datetime import timedelta

import pytest

from autoscaler.errors import TargetUnavailable
from autoscaler.foresee.shadow_comparison import ShadowComparison, comparison
from autoscaler.model import MetricKind, MetricType, TargetType
from autoscaler.record import Record
from tests.decide.build import metric, scaler
from tests.decide.shadowing import SimulatedTarget
from tests.replaced import replace

INFLIGHT_10 = metric(MetricType.PODS, TargetType.AVERAGE_VALUE, 10_000, "inflight")
HOUR = 3600


class Diary:
    """The cycles of a target of two instances: a dry run, unless it is said to be none."""

    def __init__(self, *, dry: bool = True) -> None:
        self.simulated = SimulatedTarget(scaler(INFLIGHT_10, maximum=6), 2, dry=dry)
        self.records: list[Record] = []

    def cycle(self, load: int, after: float = 15, *, unreadable: bool = False) -> None:
        problem = TargetUnavailable("no answer") if unreadable else None
        made = self.simulated.cycle(load, after=after, unreadable=problem)
        assert self.simulated.observed is not None
        self.records.append(Record(self.simulated.autoscaler, made, self.simulated.observed, self.simulated.before))

    def compared(self) -> ShadowComparison:
        found = comparison(self.records)
        assert found is not None
        return found


def test_instance_hours_are_size_times_time() -> None:
    """A new size counts from the cycle after its decision, and the last cycle for one sync period, as in a replay."""
    diary = Diary()
    for _ in range(3):
        diary.cycle(40_000)
    found = diary.compared()
    assert (found.covered_seconds, found.cycles, found.until - found.since) == (45, 3, timedelta(seconds=45))
    assert found.target.instance_hours * HOUR == pytest.approx(3 * 2 * 15)
    assert found.shadow.instance_hours * HOUR == pytest.approx((2 + 4 + 4) * 15)


def test_time_above_target_is_each_ones_own() -> None:
    diary = Diary()
    diary.cycle(40_000)
    diary.cycle(40_000, after=30)
    diary.cycle(40_000)
    found = diary.compared()
    assert found.target.seconds_above_target == 60
    assert found.shadow.seconds_above_target == 45


@pytest.mark.parametrize(("rate", "guessed"), [(None, 30), (1_000, 0)])
def test_the_time_of_an_unknown_queue_is_reported(rate: int | None, guessed: float) -> None:
    """The queue has never fallen, so the work of the shadow's instances is unknown."""
    queue = metric(MetricType.EXTERNAL, TargetType.AVERAGE_VALUE, 10_000, "jobs")
    diary = Diary()
    diary.simulated = SimulatedTarget(scaler(replace(queue, kind=MetricKind.BACKLOG, service_rate=rate), maximum=6), 2)
    for length in (40_000, 50_000, 60_000, 60_000, 60_000):
        diary.cycle(length)
    assert diary.compared().guessed_seconds == guessed


def test_a_target_is_saturated_where_its_shadow_is_told_so() -> None:
    """Long before its maximum: while it has fewer instances ready than its shadow."""
    diary = Diary()
    diary.cycle(40_000)
    diary.cycle(40_000, after=30)
    diary.cycle(40_000)
    assert diary.compared().saturated_seconds == 15


def test_time_at_the_maximum_is_each_ones_own() -> None:
    diary = Diary()
    for _ in range(5):
        diary.cycle(90_000, after=30)
    found = diary.compared()
    assert found.target.seconds_at_maximum == 0
    assert found.shadow.seconds_at_maximum == 75


def test_changes_and_changes_of_direction_are_counted() -> None:
    diary = Diary()
    for load in (40_000, 40_000, 10_000):
        diary.cycle(load, after=60)
    for _ in range(10):
        diary.cycle(10_000, after=60)
    diary.simulated.resize(5)
    diary.cycle(10_000)
    found = diary.compared()
    assert (found.target.changes, found.target.changes_of_direction) == (1, 0)
    assert (found.shadow.changes, found.shadow.changes_of_direction) == (2, 1)
    assert (found.shadow.largest, found.shadow.smallest) == (4, 1)


def test_a_gap_is_not_covered() -> None:
    """Its content is unknown, except for one sync period after the previous cycle."""
    diary = Diary()
    for after in (15, 15, 3600, 15):
        diary.cycle(20_000, after=after)
    found = diary.compared()
    assert found.covered_seconds == 60
    assert found.until - found.since == timedelta(seconds=15 + 3600 + 15 + 15)


def test_a_cycle_that_could_not_read_the_target_is_passed_over() -> None:
    diary = Diary()
    diary.cycle(20_000)
    diary.cycle(20_000, unreadable=True)
    diary.cycle(20_000)
    assert (diary.compared().cycles, diary.compared().covered_seconds) == (2, 45)


def test_time_that_comes_again_is_counted_once() -> None:
    """The wall clock was set back by half a minute."""
    diary = Diary()
    for after in (15, 15, 15, -30, 15, 15, 15):
        diary.cycle(20_000, after=after)
    assert (diary.compared().cycles, diary.compared().covered_seconds) == (4, 60)


def test_without_a_dry_run_there_is_nothing_to_compare() -> None:
    assert comparison([]) is None
    live = Diary(dry=False)
    live.cycle(20_000)
    assert comparison(live.records) is None
