"""The search for better values over a past, without processes."""

import math
from collections.abc import Callable, Sequence
from datetime import timedelta

import pytest

from autoscaler.model import Autoscaler, Behavior, MetricKind
from autoscaler.whatif.past.past import Moment
from autoscaler.whatif.replay.demand import demand_over
from autoscaler.whatif.replay.replay import Load, replay
from autoscaler.whatif.tune.choices import Group
from autoscaler.whatif.tune.tuning import (
    Evaluator,
    Setup,
    Tuned,
    Untunable,
    check_tunable,
    conserved_part,
    split,
    tuned,
)
from tests.decide.build import CPU_60, QUEUE_15, scaler
from tests.replaced import replace
from tests.whatif.pasts import Life

WEB = scaler(CPU_60, maximum=20, behavior=Behavior())


def waves(autoscaler: Autoscaler = WEB, cycles: int = 240) -> list[Moment]:
    """A load that comes and goes twice an hour."""
    life = Life(autoscaler, 5)
    for cycle in range(cycles):
        life.load(round(300 + 200 * math.sin(cycle / 20)))
    return life.moments


def setup_of(moments: Sequence[Moment], autoscaler: Autoscaler = WEB, kept: Sequence[Group] = ()) -> Setup:
    return Setup(autoscaler, frozenset(kept), split(demand_over(autoscaler, moments), "web"), None)


def searched(
    moments: Sequence[Moment], limit: float | None = None, most: int = 24, kept: Sequence[Group] = (Group.POLICIES,)
) -> tuple[Setup, Tuned]:
    setup = setup_of(moments, kept=kept)
    evaluator = Evaluator(setup, moments)
    found = tuned(
        setup,
        lambda points: [evaluator.score(point) for point in points],
        lambda points: [evaluator.whole(point) for point in points],
        most,
        limit,
        seed=1,
    )
    return setup, found


def test_the_choice_costs_less_within_the_limit() -> None:
    """In the part that was searched."""
    _, found = searched(waves(), limit=0.3)
    assert found.keeps_limit
    assert found.best.searched.score.above <= 0.3
    assert found.best.searched.score.cost < found.in_force.searched.score.cost


def test_without_a_limit_it_may_be_above_target_for_as_long_as_now() -> None:
    """No longer."""
    _, found = searched(waves())
    assert found.limit == found.in_force.searched.score.above
    assert found.best.searched.score.above <= found.limit


def waves_then(load: Callable[[int], int]) -> list[Moment]:
    """Waves in the part that is searched, another load in the part that is held back."""
    life = Life(WEB, 5)
    for cycle in range(240):
        life.load(round(300 + 200 * math.sin(cycle / 20)) if cycle < 160 else load(cycle))
    return life.moments


def test_a_choice_that_the_part_held_back_refutes_is_known() -> None:
    """What is cheap on slow waves follows fast ones too closely."""
    _, found = searched(waves_then(lambda cycle: round(400 + 300 * math.sin(cycle / 3))), limit=0.3)
    assert found.keeps_limit
    assert found.best.held_back.score.above > 0.3 > found.in_force.held_back.score.above
    assert found.refuted


def test_a_choice_that_does_no_worse_in_the_part_held_back_is_not_refuted() -> None:
    """Above the limit it may be, if what is in force is above target for as long."""
    _, found = searched(waves_then(lambda cycle: 300 if cycle // 20 % 2 else 900), limit=0.1)
    assert found.best.held_back.score.above == found.in_force.held_back.score.above > 0.1
    assert not found.refuted


def test_a_higher_target_is_above_todays_for_longer() -> None:
    """By its own target it would be above for less, and every search would end at the highest."""
    moments = waves()
    setup = setup_of(moments, kept=[Group.POLICIES, Group.STABILIZATION, Group.TOLERANCE])
    evaluator = Evaluator(setup, moments)
    scores = [evaluator.score((place,)) for place in range(9)]
    assert [each.above for each in scores] == sorted(each.above for each in scores)
    assert scores[0].cost > scores[4].cost > scores[8].cost
    assert scores[8].above > scores[4].above + 0.2


def test_the_last_third_is_held_back() -> None:
    """What the choice comes to there says what can be expected of it."""
    moments = waves()
    parts = split(demand_over(WEB, moments), "web")
    assert parts.cut == moments[160].at
    assert sum(parts.searched.counted) == 160
    assert sum(parts.held_back.counted) == 80


def test_what_comes_after_the_cut_changes_no_score() -> None:
    """Or else the search would have seen it."""
    moments = waves()
    setup = setup_of(moments)
    other = [
        each if each.at < setup.parts.cut else replace(each, observation=moments[0].observation) for each in moments
    ]
    point = tuple([0 for _ in Evaluator(setup, moments)._choices.space.sizes])
    assert Evaluator(setup, moments).score(point) == Evaluator(setup, other).score(point)


def test_the_part_that_is_searched_is_the_same_in_a_replay_of_all() -> None:
    """The second part begins with what was remembered at the end of the first."""
    moments = waves()
    evaluator = Evaluator(setup_of(moments), moments)
    point = evaluator._choices.space.start
    assert evaluator.whole(point).searched.score == evaluator.score(point)


def test_saturated_time_counts_in_nothing() -> None:
    """At the maximum and above target, more may have been needed than any metric shows."""
    life = Life(replace(WEB, max_replicas=4), 4)
    for cycle in range(120):
        life.load(700 if 30 <= cycle < 50 else 200)
    parts = split(demand_over(life.scaler, life.moments), "web")
    assert parts.saturated_seconds == 20 * 15
    assert sum(parts.searched.counted) + sum(parts.held_back.counted) == 100


def test_too_short_a_history_is_refused() -> None:
    """Any answer would be chance."""
    with pytest.raises(Untunable, match=r"20 cycles of its history.*--since"):
        split(demand_over(WEB, waves(cycles=20)), "web")


def test_a_history_without_a_value_is_refused() -> None:
    """What is not known is not zero."""
    life = Life(WEB, 5)
    for _ in range(60):
        life.fail()
    with pytest.raises(Untunable, match="0 cycles of its history"):
        split(demand_over(WEB, life.moments), "web")


def test_a_backlog_without_a_service_rate_is_refused() -> None:
    """How long the queue would be at another size is anybody's guess."""
    backlog = replace(QUEUE_15, kind=MetricKind.BACKLOG)
    with pytest.raises(Untunable, match=r"its metric queue is a backlog.*serviceRate"):
        check_tunable(scaler(CPU_60, backlog))
    check_tunable(scaler(CPU_60, replace(backlog, service_rate=2_000)))


def test_a_moment_without_what_is_not_used_is_replayed_the_same() -> None:
    """Processes are handed no more than they need."""
    moments = waves(cycles=80)
    parts = [conserved_part(each, first=place == 0) for place, each in enumerate(moments)]
    quicker = replace(
        WEB, behavior=Behavior(scale_down=replace(Behavior().scale_down, stabilization_window=timedelta(0)))
    )
    whole, part = ([each.decision for each in replay(past, quicker, Load.CONSERVED)] for past in (moments, parts))
    assert whole == part
    assert len({each.shadow for each in whole}) > 3
