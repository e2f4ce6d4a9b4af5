"""The search for better values over a past, without processes."""

import math
from collections.abc import Callable, Sequence
from datetime import timedelta

import pytest

from autoscaler.model import Autoscaler, Behavior, MetricKind
from autoscaler.whatif.past.past import Cycle
from autoscaler.whatif.replay.replay import Candidate, replay
from autoscaler.whatif.tune.choices import Choices, Group
from autoscaler.whatif.tune.tuning import (
    HELD_BACK,
    Evaluator,
    Setup,
    Tuned,
    Untunable,
    check_tunable,
    conserved_part,
    score_of,
    split,
    tuned,
)
from tests.decide.build import CPU_60, QUEUE_15, scaler
from tests.replaced import replace
from tests.whatif.courses import demand_over
from tests.whatif.pasts import Life

WEB = scaler(CPU_60, maximum=20, behavior=Behavior())


def waves(autoscaler: Autoscaler = WEB, cycles: int = 240) -> list[Cycle]:
    """A load with two waves an hour."""
    life = Life(autoscaler, 5)
    life.load(*[round(300 + 200 * math.sin(cycle / 20)) for cycle in range(cycles)])
    return life.cycles


def setup_of(cycles: Sequence[Cycle], autoscaler: Autoscaler = WEB, kept: Sequence[Group] = ()) -> Setup:
    return Setup(Candidate("web", autoscaler), frozenset(kept), split(demand_over(autoscaler, cycles), "web"))


def searched(
    cycles: Sequence[Cycle], limit: float | None = None, most: int = 24, kept: Sequence[Group] = (Group.POLICIES,)
) -> tuple[Setup, Tuned]:
    setup = setup_of(cycles, kept=kept)
    evaluator = Evaluator(setup, cycles)
    found = tuned(
        setup,
        lambda points: [evaluator.score(point) for point in points],
        lambda points: [evaluator.evaluate(point) for point in points],
        most,
        limit,
        seed=1,
    )
    return setup, found


def test_the_choice_costs_less_within_the_limit() -> None:
    _, found = searched(waves(), limit=0.3)
    assert found.keeps_limit
    assert score_of(found.best.searched).unserved <= 0.3
    assert score_of(found.best.searched).instance_hours < score_of(found.in_force.searched).instance_hours


def test_the_limit_is_by_default_what_is_left_unserved_now() -> None:
    _, found = searched(waves())
    assert found.search.limit == score_of(found.in_force.searched).unserved
    assert score_of(found.best.searched).unserved <= found.search.limit


def waves_but(block: int, load: Callable[[int], int]) -> list[Cycle]:
    """Waves, with another load in one of the twelve blocks."""
    life = Life(WEB, 5)
    life.load(*[load(each) if each // 20 == block else round(300 + 200 * math.sin(each / 20)) for each in range(240)])
    return life.cycles


def test_a_choice_that_breaks_the_limit_in_a_block_that_was_held_back_is_refuted() -> None:
    """A choice that is cheap on slow waves follows fast ones too closely."""
    _, found = searched(waves_but(6, lambda cycle: round(400 + 300 * math.sin(cycle / 2))), limit=0.1)
    assert found.keeps_limit
    assert found.best.worst == 2
    assert score_of(found.best.held_back).unserved > max(0.1, score_of(found.in_force.held_back).unserved)
    assert found.refuted


def test_a_choice_that_is_no_worse_than_the_configuration_is_not_refuted() -> None:
    """Even if both break the limit."""
    _, found = searched(waves_but(4, lambda _: 1500), limit=0.01, most=1)
    assert score_of(found.best.held_back).unserved == score_of(found.in_force.held_back).unserved > 0.01
    assert not found.refuted


def test_a_higher_target_without_tolerance_leaves_demand_unserved() -> None:
    """A target 10 % higher and no tolerance has the same highest load: it is cheaper, and serves less."""
    cycles = waves()
    setup = setup_of(cycles, kept=[Group.POLICIES, Group.STABILIZATION])
    evaluator, choices = Evaluator(setup, cycles), Choices(WEB, [Group.POLICIES, Group.STABILIZATION])
    start = choices.space.start
    spent = (start[0] + 1, 0, 0)
    assert choices.at(spent).metrics[0].target.value == 66
    now, other = evaluator.score(start), evaluator.score(spent)
    assert other.instance_hours < now.instance_hours
    assert other.unserved > now.unserved


def test_a_higher_target_leaves_more_unserved() -> None:
    """By its own target it would leave less, and every search would choose the highest."""
    cycles = waves()
    setup = setup_of(cycles, kept=[Group.POLICIES, Group.STABILIZATION, Group.TOLERANCE])
    evaluator = Evaluator(setup, cycles)
    scores = [evaluator.score((place,)) for place in range(9)]
    assert [each.unserved for each in scores] == sorted(each.unserved for each in scores)
    assert scores[0].instance_hours > scores[4].instance_hours > scores[8].instance_hours
    assert scores[8].unserved > scores[4].unserved + 0.1


def test_four_blocks_of_the_history_are_held_back() -> None:
    """The last third of two days would be a night."""
    cycles = waves()
    parts = split(demand_over(WEB, cycles), "web")
    begins = [round((each.since - cycles[0].at) / timedelta(seconds=15)) for each in parts.blocks]
    assert begins == [40, 80, 120, 220]
    assert [sum(each.demand.counted) for each in parts.blocks] == [20] * 4
    assert sum(parts.searched.counted) == 160
    assert not any(map(int.__and__, parts.searched.counted, parts.held_back.counted))


def test_of_two_days_each_quarter_of_the_day_is_held_back_once() -> None:
    """A block is four hours, so a day has six."""
    assert sorted(4 * block % 24 // 6 for block in HELD_BACK) == [0, 1, 2, 3]


def test_the_score_is_that_of_the_part_that_is_searched() -> None:
    cycles = waves()
    evaluator, point = Evaluator(setup_of(cycles), cycles), Choices(WEB).space.start
    assert score_of(evaluator.evaluate(point).searched) == evaluator.score(point)


def test_saturated_time_does_not_count() -> None:
    """More may have been needed than any metric shows."""
    life = Life(replace(WEB, max_replicas=4), 4)
    life.load(*[700 if 30 <= cycle < 50 else 200 for cycle in range(200)])
    parts = split(demand_over(life.scaler, life.cycles), "web")
    assert parts.saturated_seconds == 20 * 15
    assert sum(parts.searched.counted) + sum(parts.held_back.counted) == 180


def test_too_short_a_history_is_refused() -> None:
    """The result would be chance."""
    with pytest.raises(Untunable, match=r"20 cycles of its history.*--since"):
        split(demand_over(WEB, waves(cycles=20)), "web")


def test_a_history_without_a_value_is_refused() -> None:
    """Unknown is not zero."""
    life = Life(WEB, 5)
    for _ in range(150):
        life.fail()
    with pytest.raises(Untunable, match="0 cycles of its history"):
        split(demand_over(WEB, life.cycles), "web")


def test_a_backlog_without_a_service_rate_is_refused() -> None:
    """The length of the queue at another size would be a guess."""
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
    """Twice the instances do not halve it, so its product with them is no load."""
    metric = replace(CPU_60, name=name, query=replace(CPU_60.query, expr=expr))
    with pytest.raises(Untunable, match=rf"its metric {name} is a latency \({why}.*requests per second"):
        check_tunable(scaler(metric))


@pytest.mark.parametrize(
    "expr",
    ["rate(process_cpu_seconds_total[2m])", "quantile_over_time(0.9, load[5m])", "sum(orders_sum) / on() worker_count"],
)
def test_a_load_is_no_latency(expr: str) -> None:
    """Seconds of work, a quantile of a load over time, the load per worker."""
    check_tunable(scaler(replace(CPU_60, query=replace(CPU_60.query, expr=expr)), QUEUE_15))


def test_the_part_of_a_cycle_that_workers_get_is_replayed_the_same() -> None:
    cycles = waves(cycles=80)
    parts = [conserved_part(each, first=place == 0) for place, each in enumerate(cycles)]
    quicker = replace(
        WEB, behavior=Behavior(scale_down=replace(Behavior().scale_down, stabilization_window=timedelta(0)))
    )
    whole, part = ([each.decision for each in replay(past, Candidate("web", quicker))] for past in (cycles, parts))
    assert whole == part
    assert len({each.shadow for each in whole}) > 3
