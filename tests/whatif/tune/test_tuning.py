"""The search for better values over a past, without processes."""

import math
from collections.abc import Callable, Sequence
from datetime import timedelta

import pytest

from autoscaler.model import Autoscaler, Behavior, MetricKind
from autoscaler.whatif.past.past import Moment
from autoscaler.whatif.replay.demand import demand_over
from autoscaler.whatif.replay.replay import Load, replay
from autoscaler.whatif.tune.choices import Choices, Group
from autoscaler.whatif.tune.tuning import (
    _HELD_BACK,
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
    assert found.best.searched.score.unserved <= 0.3
    assert found.best.searched.score.cost < found.in_force.searched.score.cost


def test_without_a_limit_it_may_leave_as_much_unserved_as_now() -> None:
    """No more."""
    _, found = searched(waves())
    assert found.limit == found.in_force.searched.score.unserved
    assert found.best.searched.score.unserved <= found.limit


def waves_but(block: int, load: Callable[[int], int]) -> list[Moment]:
    """Waves, and another load in one of the twelve blocks."""
    life = Life(WEB, 5)
    for cycle in range(240):
        life.load(load(cycle) if cycle // 20 == block else round(300 + 200 * math.sin(cycle / 20)))
    return life.moments


def test_a_choice_that_what_was_held_back_refutes_is_known() -> None:
    """What is cheap on slow waves follows fast ones too closely; in which block it does worst is known, too."""
    _, found = searched(waves_but(6, lambda cycle: round(400 + 300 * math.sin(cycle / 2))), limit=0.1)
    assert found.keeps_limit
    assert found.best.worst == 2
    assert found.best.held_back.score.unserved > max(0.1, found.in_force.held_back.score.unserved)
    assert found.refuted


def test_a_choice_that_does_no_worse_in_what_was_held_back_is_not_refuted() -> None:
    """Above the limit it may be, if what is in force leaves as much unserved."""
    _, found = searched(waves_but(4, lambda _: 1500), limit=0.01, most=1)
    assert found.best.held_back.score.unserved == found.in_force.held_back.score.unserved > 0.01
    assert not found.refuted


def test_to_spend_the_tolerance_is_to_leave_demand_unserved() -> None:
    """A target 10 % higher without tolerance leads to the same highest load: it is cheaper, and serves less."""
    moments = waves()
    setup = setup_of(moments, kept=[Group.POLICIES, Group.STABILIZATION])
    evaluator, choices = Evaluator(setup, moments), Choices(WEB, [Group.POLICIES, Group.STABILIZATION])
    start = choices.space.start
    spent = (start[0] + 1, 0, 0)
    assert choices.at(spent).metrics[0].target.value == 66
    now, other = evaluator.score(start), evaluator.score(spent)
    assert other.cost < now.cost
    assert other.unserved > now.unserved


def test_a_higher_target_leaves_more_unserved() -> None:
    """By its own target it would leave less, and every search would end at the highest."""
    moments = waves()
    setup = setup_of(moments, kept=[Group.POLICIES, Group.STABILIZATION, Group.TOLERANCE])
    evaluator = Evaluator(setup, moments)
    scores = [evaluator.score((place,)) for place in range(9)]
    assert [each.unserved for each in scores] == sorted(each.unserved for each in scores)
    assert scores[0].cost > scores[4].cost > scores[8].cost
    assert scores[8].unserved > scores[4].unserved + 0.1


def test_four_blocks_over_the_history_are_held_back() -> None:
    """Of different hours of the day: with two days the last third would be a night."""
    moments = waves()
    parts = split(demand_over(WEB, moments), "web")
    begins = [round((each.since - moments[0].at) / timedelta(seconds=15)) for each in parts.blocks]
    assert begins == [40, 80, 120, 220]
    assert [sum(each.demand.counted) for each in parts.blocks] == [20] * 4
    assert sum(parts.searched.counted) == 160
    assert not any(map(int.__and__, parts.searched.counted, parts.held_back.counted))


def test_of_two_days_each_quarter_of_the_day_is_held_back_once() -> None:
    """Blocks of four hours, six of them a day."""
    assert sorted(4 * block % 24 // 6 for block in _HELD_BACK) == [0, 1, 2, 3]


def test_what_is_said_of_the_whole_is_what_was_searched() -> None:
    moments = waves()
    evaluator = Evaluator(setup_of(moments), moments)
    point = evaluator._choices.space.start
    assert evaluator.whole(point).searched.score == evaluator.score(point)


def test_saturated_time_counts_in_nothing() -> None:
    """At the maximum and above target, more may have been needed than any metric shows."""
    life = Life(replace(WEB, max_replicas=4), 4)
    for cycle in range(200):
        life.load(700 if 30 <= cycle < 50 else 200)
    parts = split(demand_over(life.scaler, life.moments), "web")
    assert parts.saturated_seconds == 20 * 15
    assert sum(parts.searched.counted) + sum(parts.held_back.counted) == 180


def test_too_short_a_history_is_refused() -> None:
    """Any answer would be chance."""
    with pytest.raises(Untunable, match=r"20 cycles of its history.*--since"):
        split(demand_over(WEB, waves(cycles=20)), "web")


def test_a_history_without_a_value_is_refused() -> None:
    """What is not known is not zero."""
    life = Life(WEB, 5)
    for _ in range(150):
        life.fail()
    with pytest.raises(Untunable, match="0 cycles of its history"):
        split(demand_over(WEB, life.moments), "web")


def test_a_backlog_without_a_service_rate_is_refused() -> None:
    """How long the queue would be at another size is anybody's guess."""
    backlog = replace(QUEUE_15, kind=MetricKind.BACKLOG)
    with pytest.raises(Untunable, match=r"its metric queue is a backlog.*serviceRate"):
        check_tunable(scaler(CPU_60, backlog))
    check_tunable(scaler(CPU_60, replace(backlog, service_rate=2_000)))


@pytest.mark.parametrize(
    ("name", "expr", "why"),
    [
        ("p99", "histogram_quantile(0.99, sum by (le) (rate(request_seconds_bucket[5m])))", "it is a quantile"),
        ("wait", "sum(rate(wait_seconds_sum[5m])) / sum(rate(wait_seconds_count[5m]))", "it is an average"),
        ("p90", 'rpc_seconds{job="web",quantile="0.9"}', "it is a quantile"),
        ("request_latency", "app:slowness", "its name says so"),
    ],
)
def test_a_latency_is_refused(name: str, expr: str, why: str) -> None:
    """Twice the instances do not halve it, so a search by its product with them would be by a made-up load."""
    metric = replace(CPU_60, name=name, query=replace(CPU_60.query, expr=expr))
    with pytest.raises(Untunable, match=rf"its metric {name} is a latency \({why}.*requests per second"):
        check_tunable(scaler(metric))


@pytest.mark.parametrize(
    "expr",
    ["rate(process_cpu_seconds_total[2m])", "quantile_over_time(0.9, load[5m])", "sum(orders_sum) / on() worker_count"],
)
def test_a_load_is_no_latency(expr: str) -> None:
    """Seconds of work, the usual level of a load, its part for each worker."""
    check_tunable(scaler(replace(CPU_60, query=replace(CPU_60.query, expr=expr)), QUEUE_15))


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
