"""Schedules: bounds at times of the calendar, and what a decision makes of them."""

import dataclasses
from datetime import UTC, datetime, timedelta

import pytest

from autoscaler.decide import decide
from autoscaler.model import (
    DEFAULT_SCALE_DOWN,
    Autoscaler,
    Behavior,
    CivilTime,
    ConditionType,
    Decision,
    Direction,
    Failure,
    History,
    Hold,
    HoldReason,
    HpaMemory,
    Limits,
    ManualControls,
    Memories,
    MetricSpec,
    MetricType,
    Observation,
    Override,
    Pause,
    Reading,
    Rules,
    TargetType,
)
from autoscaler.rules.brakes import BrakeMemory, Brakes
from autoscaler.rules.brakes.loss import InstanceLoss, LossBrake
from autoscaler.rules.schedules import Schedules
from autoscaler.rules.schedules.memory import OpenEntries, ShownEntries
from autoscaler.windows import ScheduleEntry
from tests.decide.build import NOW, QUEUE_15, Life, metric, samples, scaler, state, value
from tests.decide.outage import condition
from tests.replaced import replace

INFLIGHT = metric(MetricType.PODS, TargetType.AVERAGE_VALUE, 10_000, "inflight")
ALWAYS = {"cron": "0 0 * * *", "duration": timedelta(days=2)}
TICK = timedelta(seconds=15)
DAY = timedelta(days=1)
BEHAVIOR, NOTHING, IN_STEP, ANY = Behavior(), History(), CivilTime(), Limits()
FIVE = value(75_000)
"""The queue asks for five."""


def entry(
    name: str = "office", minimum: int | None = None, maximum: int | None = None, **keys: object
) -> ScheduleEntry:
    """An entry that is always open, unless `keys` say otherwise."""
    times = {} if "cron" in keys or "start" in keys else ALWAYS
    return ScheduleEntry(name, "UTC", min_replicas=minimum, max_replicas=maximum, **times, **keys)  # type: ignore[arg-type]


def scheduled(*entries: ScheduleEntry, spec: MetricSpec = QUEUE_15, behavior: Behavior | None = BEHAVIOR) -> Autoscaler:
    rules = Rules([Schedules(entries)] if entries else [])
    return dataclasses.replace(scaler(spec, minimum=2, maximum=20, behavior=behavior), rules=rules)


def decided(
    autoscaler: Autoscaler,
    size: int,
    reading: Reading | Failure = FIVE,
    history: History = NOTHING,
    *,
    civil: CivilTime = IN_STEP,
    limits: Limits = ANY,
    now: datetime = NOW,
) -> Decision:
    target = dataclasses.replace(state(size), limits=limits)
    return decide(autoscaler, Observation(target, (reading,), civil=civil), history, now)


class Course(Life):
    """Cycles one after another, each of which is written."""

    def __init__(self, autoscaler: Autoscaler, size: int, at: datetime = NOW) -> None:
        super().__init__(autoscaler, size)
        self.now = at

    def cycle(self, reading: Reading | Failure, after: timedelta = TICK) -> Decision:
        return self.step(reading, after=after.total_seconds())


OVERRIDE = Override(None, None, "ann", "", NOW - DAY, None)


@pytest.mark.parametrize(
    ("entries", "override", "limits", "bounds"),
    [
        ([entry(minimum=10)], None, Limits(), (10, 20)),
        ([entry(minimum=10), entry("b", 12), entry("c", 11)], None, Limits(), (12, 20)),
        ([entry(maximum=15), entry("b", maximum=5)], None, Limits(), (2, 5)),
        ([entry(maximum=80)], None, Limits(), (2, 80)),  # a sale may go higher
        ([entry(minimum=1)], None, Limits(), (2, 20)),  # a shared minimum does not lower this one's
        ([entry(minimum=1, replace=True)], None, Limits(), (1, 20)),
        ([entry("sale", 40, 80), entry("night", maximum=0)], None, Limits(), (40, 40)),
        ([entry("night", maximum=0)], None, Limits(), (0, 0)),
        ([entry("night", maximum=0)], None, Limits(1, None, "the group"), (1, 1)),  # down to the target's own minimum
        ([entry(minimum=40, maximum=80)], None, Limits(0, 30, "the group"), (30, 30)),
        ([entry(minimum=10)], replace(OVERRIDE, minimum=4), Limits(), (4, 20)),
        ([entry(minimum=10)], replace(OVERRIDE, maximum=6), Limits(), (6, 6)),
        ([entry("night", maximum=0)], replace(OVERRIDE, minimum=3), Limits(), (3, 3)),
        ([entry("night", maximum=0)], replace(OVERRIDE, maximum=8), Limits(), (2, 8)),
    ],
)
def test_each_bound_has_its_own_precedence(
    entries: list[ScheduleEntry], override: Override | None, limits: Limits, bounds: tuple[int, int]
) -> None:
    """The override comes first, then the largest open minimum and the smallest open maximum, then the configuration."""
    manual = ManualControls(override=override)
    made = decided(scheduled(*entries), 5, history=History(manual=manual), limits=limits)
    assert (made.minimum, made.maximum) == bounds


def test_a_minimum_is_reached_at_once_and_says_why() -> None:
    made = decided(scheduled(entry(minimum=10)), 4)
    assert made.change is not None
    assert (made.change.size, made.change.reason) == (10, "the size is below the minimum of schedule office")
    remembered = made.remembered.rules.find(Schedules.name, OpenEntries)
    assert remembered is not None
    assert [each.name for each in remembered.entries] == ["office"]
    (remark,) = ShownEntries.of_memory(remembered).remarks()
    assert (remark.now, remark.past) == (
        "The schedule office is open: min 10",
        "The schedule office was open, with minimum 10",
    )


def test_the_first_of_two_schedules_with_the_same_bound_is_named() -> None:
    """The order is the file's, so the message stays the same from cycle to cycle."""
    low = decided(scheduled(entry(minimum=10), entry("sale", 10)), 4)
    assert low.change is not None
    assert low.change.reason == "the size is below the minimum of schedule office"
    high = decided(scheduled(entry(maximum=4), entry("sale", maximum=4)), 4)
    assert condition(high, ConditionType.SCALING_LIMITED).message.endswith("the maximum of schedule office is 4")


def test_a_minimum_softens_its_own_end() -> None:
    """It counts as a recommendation while it is open, also while the metric fails."""
    ends = NOW + timedelta(minutes=10)
    office = entry(minimum=10, start=datetime(2026, 1, 1), end=ends.replace(tzinfo=None))  # noqa: DTZ001
    for reading in (value(15_000), Failure("no answer")):
        course = Course(scheduled(office), 10, ends - timedelta(minutes=1))
        for _ in range(3):
            assert course.cycle(reading).desired in (10, None)
        assert course.now < ends
        assert course.cycle(value(15_000), timedelta(seconds=30)).desired == 10
        assert course.now > ends
        assert course.cycle(value(15_000), timedelta(minutes=4)).desired == 10
        assert course.cycle(value(15_000), timedelta(minutes=2)).desired == 2


@pytest.mark.parametrize("reading", [value(300_000), value(150_000), Failure("no answer")])
@pytest.mark.parametrize("behavior", [Behavior(), None])
def test_a_lowered_maximum_is_reached_after_the_window(reading: Reading | Failure, behavior: Behavior | None) -> None:
    """Recommendations are recorded after the cut, or a high load would keep the size for ever."""
    opens = NOW + timedelta(minutes=2)
    night = entry("night", maximum=5, start=opens.replace(tzinfo=None), end=(opens + DAY).replace(tzinfo=None))
    course = Course(scheduled(night, behavior=behavior), 16)
    while course.now < opens - TICK:
        assert course.cycle(value(240_000)).desired == 16
    sizes = [course.cycle(reading).desired for _ in range(4 * 4)]
    assert set(sizes) == {16}  # within the window of 5 minutes
    for _ in range(4 * 3):
        course.cycle(reading)
    assert course.size == 5


def test_a_maximum_of_the_file_is_still_reached_at_once() -> None:
    """HPA's jump: only a schedule's maximum is a proposal."""
    made = decided(scheduled(entry(minimum=3)), 30)
    assert made.change is not None
    assert made.change.size == 20


def test_policies_limit_the_way_to_a_lowered_maximum() -> None:
    rules = dataclasses.replace(
        DEFAULT_SCALE_DOWN,
        stabilization_window=timedelta(0),
        policies=(dataclasses.replace(DEFAULT_SCALE_DOWN.policies[0], value=25),),
    )
    made = decided(scheduled(entry("night", maximum=4), behavior=Behavior(scale_down=rules)), 16, value(300_000))
    assert made.change is not None
    assert (made.change.size, made.change.reason) == (12, "the size is above the maximum of schedule night")
    said = {each.type: each for each in made.conditions}
    assert (said[ConditionType.SCALING_LIMITED].status, said[ConditionType.SCALING_LIMITED].reason) == (
        True,
        "ScaleDownLimit",
    )
    assert "TooManyReplicas" in [step.reason for step in made.trace]


@pytest.mark.parametrize(
    ("spec", "reading", "size"), [(INFLIGHT, samples([10_000] * 3), 2), (QUEUE_15, value(45_000), 3)]
)
def test_a_maximum_of_0_switches_off_and_on_again(spec: MetricSpec, reading: Reading, size: int) -> None:
    """Whatever the metric's type: that zero is the autoscaler's own."""
    opens, ends = NOW + timedelta(minutes=1), NOW + timedelta(hours=8)
    night = entry("night", maximum=0, start=opens.replace(tzinfo=None), end=ends.replace(tzinfo=None))
    course = Course(scheduled(night, spec=spec), 3)
    course.cycle(reading)
    while course.size and course.now < ends:
        course.cycle(reading)
    assert course.size == 0
    assert opens < course.now < opens + timedelta(minutes=7)
    for _ in range(3):
        made = course.cycle(Failure("the target has no instances to measure"))
        assert (made.desired, made.error) == (0, None)
        said = {each.type: (each.status, each.reason) for each in made.conditions}
        assert said[ConditionType.SCALING_LIMITED] == (True, "TooManyReplicas")
        assert said[ConditionType.SCALED_TO_ZERO] == (True, "ScaledToZero")
    # the schedule is removed in mid-window: the zero is still ours
    edited = decided(scheduled(spec=spec), 0, reading, course.history, now=course.now + TICK)
    assert edited.change is not None
    assert edited.change.size == size  # the minimum at once only where the metric needs instances
    assert course.cycle(reading, ends - course.now).change is not None
    assert course.size == 2


def test_the_zero_of_a_schedule_ends_at_1_if_no_metric_can_ask_for_more() -> None:
    """With minReplicas 0 of another entry."""
    entries = (entry("night", maximum=0), entry(minimum=0, replace=True))
    course = Course(scheduled(*entries, spec=INFLIGHT), 1)
    for _ in range(30):
        course.cycle(samples([10_000]))
    assert course.size == 0
    course.autoscaler = scheduled(entry(minimum=0, replace=True), spec=INFLIGHT)
    made = course.cycle(Failure("the target has no instances to measure"))
    assert made.change is not None
    assert made.change.size == 1


def test_a_zero_of_another_stays_disabled() -> None:
    """With an open minimum, and with an open maximum of 0."""
    for schedule in (entry(minimum=10), entry("night", maximum=0)):
        made = decided(scheduled(schedule), 0)
        said = {each.type: each.reason for each in made.conditions}
        assert (made.desired, said[ConditionType.SCALING_ACTIVE]) == (0, "ScalingDisabled")


def test_a_pause_and_a_hold_stop_a_schedule() -> None:
    pause = History(manual=ManualControls(Pause(Direction.BOTH, "ann", "", NOW, None)))
    assert decided(scheduled(entry(minimum=10)), 4, history=pause).change is None
    held = dataclasses.replace(state(4), hold=Hold(HoldReason("Deploying", "a deployment"), None))
    made = decide(scheduled(entry(minimum=10)), Observation(held, (value(75_000),)), History(), NOW)
    assert (made.change, made.desired) == (None, 10)


def test_a_brake_stops_a_lowered_maximum_and_no_raised_minimum() -> None:
    braking = Brakes(None, LossBrake(), None)
    memory = History(rules=Memories({Brakes.name: BrakeMemory(loss=InstanceLoss(NOW, 5, 10))}))
    up = scheduled(entry(minimum=10))
    down = scheduled(entry("night", maximum=3), behavior=None)
    up, down = [dataclasses.replace(each, rules=each.rules.replaced(braking)) for each in (up, down)]
    assert decided(up, 4, history=memory).change is not None
    made = decided(down, 8, value(15_000), replace(memory, hpa=HpaMemory(decided(down, 3).remembered.recommendations)))
    assert (made.change, made.desired) == (None, 3)


@pytest.mark.parametrize(
    ("schedule", "bounds"),
    [
        (entry(minimum=10, maximum=80), (10, 80)),
        (entry(minimum=1, replace=True), (2, 20)),
        (entry("night", maximum=0), (2, 20)),
    ],
)
def test_while_the_clocks_differ_schedules_only_raise(schedule: ScheduleEntry, bounds: tuple[int, int]) -> None:
    """A host that starts with a wrong clock switches nothing off."""
    made = decided(scheduled(schedule), 5, civil=CivilTime(doubted=True))
    assert (made.minimum, made.maximum) == bounds


def test_civil_time_opens_a_schedule_and_moves_no_window_of_the_pipeline() -> None:
    """PostgreSQL's clock is an hour ahead of this host's."""
    office = entry(minimum=10, cron="0 13 * * *", duration=timedelta(hours=1))
    assert NOW.hour == 12
    assert decided(scheduled(office), 5).minimum == 2
    made = decided(scheduled(office), 5, civil=CivilTime(timedelta(hours=1)))
    assert (made.minimum, made.now) == (10, NOW)


def test_the_same_inputs_give_the_same_decision() -> None:
    """Also after the day's windows were forgotten: a replay may decide it years later."""
    office = entry(minimum=10, cron="0 8 * * *", duration=timedelta(hours=10))
    first = decided(scheduled(office), 5)
    for days in range(1, 4):
        decided(scheduled(office), 5, now=NOW + timedelta(days=days))
    assert decided(scheduled(office), 5) == first
    assert first.now == datetime(2026, 1, 1, 12, tzinfo=UTC)
