"""A target and the shadow of its dry run over the same time: what `autoscaler shadow` says."""

from datetime import timedelta

from autoscaler.errors import TargetUnavailable
from autoscaler.foresee.shadow_comparison import Comparison, comparison, moments
from autoscaler.model import MetricType, TargetType
from autoscaler.record import Record
from tests.decide.build import metric, scaler
from tests.decide.shadowing import World

INFLIGHT_10 = metric(MetricType.PODS, TargetType.AVERAGE_VALUE, 10_000, "inflight")


class Diary:
    """A dry run on two instances, and its cycles."""

    def __init__(self) -> None:
        self.world = World(scaler(INFLIGHT_10, maximum=6), 2)
        self.records: list[Record] = []

    def cycle(self, load: int, after: float = 15, *, unreadable: bool = False) -> None:
        problem = TargetUnavailable("no answer") if unreadable else None
        made = self.world.cycle(load, after=after, unreadable=problem)
        self.records.append(Record(self.world.scaler, made, self.world.observed, self.world.before))

    def compared(self) -> Comparison:
        found = comparison(moments(self.records))
        assert found is not None
        return found


def test_instance_time_is_size_times_time() -> None:
    """The shadow has its new size at once; what the last cycle was followed by is not known."""
    diary = Diary()
    for _ in range(3):
        diary.cycle(40_000)
    found = diary.compared()
    assert (found.covered, found.cycles) == (timedelta(seconds=30), 3)
    assert found.target.instance_time == timedelta(seconds=2 * 30)
    assert found.shadow.instance_time == timedelta(seconds=4 * 30)


def test_time_above_target_is_each_ones_own() -> None:
    diary = Diary()
    diary.cycle(40_000)
    diary.cycle(40_000, after=45)
    diary.cycle(40_000)
    found = diary.compared()
    assert found.target.above_target == timedelta(seconds=60)
    assert found.shadow.above_target == timedelta(seconds=45)
    assert found.saturated == timedelta(seconds=15)


def test_changes_and_changes_of_direction_are_counted() -> None:
    diary = Diary()
    for load in (40_000, 40_000, 10_000):
        diary.cycle(load, after=60)
    for _ in range(10):
        diary.cycle(10_000, after=60)
    diary.world.resize(5)
    diary.cycle(10_000)
    found = diary.compared()
    assert (found.target.changes, found.target.turns) == (1, 0)
    assert (found.shadow.changes, found.shadow.turns) == (2, 1)
    assert (found.shadow.largest, found.shadow.smallest) == (4, 1)


def test_a_gap_is_not_covered() -> None:
    """Nobody knows what was in it."""
    diary = Diary()
    for after in (15, 15, 3600, 15):
        diary.cycle(20_000, after=after)
    found = diary.compared()
    assert (found.covered, found.until - found.since) == (timedelta(seconds=30), timedelta(seconds=3630))


def test_a_cycle_that_could_not_read_the_target_is_passed_over() -> None:
    diary = Diary()
    diary.cycle(20_000)
    diary.cycle(20_000, unreadable=True)
    diary.cycle(20_000)
    assert (diary.compared().cycles, diary.compared().covered) == (2, timedelta(seconds=30))


def test_without_a_dry_run_there_is_nothing_to_compare() -> None:
    assert comparison(moments([])) is None
    world = World(scaler(INFLIGHT_10), 2, dry=False)
    made = world.cycle(20_000)
    assert moments([Record(world.scaler, made, world.observed, world.before)]) == []
