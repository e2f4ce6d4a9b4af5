"""Queues and latencies are no conserved load."""

import math
from collections.abc import Callable, Sequence
from datetime import timedelta

import pytest

from autoscaler.model import Autoscaler, MetricSpec, MetricType, Observation, TargetType
from autoscaler.whatif.past.past import Cycle, FindingKind
from autoscaler.whatif.replay.reaction import Reactions
from autoscaler.whatif.replay.replay import Candidate, Load
from tests.decide.build import NOW, QUEUE_15, metric, scaler, state, value
from tests.replaced import replace
from tests.whatif.pasts import compared

WEB = scaler(QUEUE_15, maximum=6)


def waves(length: Callable[[float, int], float], count: int = 240) -> list[Cycle]:
    """A pool with waves of size, at its maximum of 6 for half of the time. `length`: the next value, given the last."""
    made, known = list[Cycle](), 100.0
    for number in range(count):
        size = min(6, max(1, round(5 + 4 * math.sin(number / 15))))
        made.append(Cycle(NOW + number * timedelta(seconds=15), Observation(state(size), (value(round(known)),)), WEB))
        known = max(0.0, length(known, size))
    return made


def messages(cycles: Sequence[Cycle], autoscaler: Autoscaler = WEB) -> list[str]:
    reactions = Reactions(autoscaler)
    for each in cycles:
        reactions.add(each)
    return [each.message for each in reactions.findings()]


def test_a_metric_that_grows_at_the_maximum_and_is_worked_off_looks_like_a_queue() -> None:
    """7,000 arrive in each cycle, and a replica works 1,000 off."""
    (said,) = messages(waves(lambda known, size: known + 7_000 - 1_000 * size))
    assert said.startswith(
        "External metric queue looks like a queue: it grew by 4 a minute while the target was at its"
    )
    assert "(correlation -1.00)" in said
    assert said.endswith("Its load is not conserved; write kind: backlog")


def test_a_metric_that_does_not_react_to_the_size_is_named_with_the_figure() -> None:
    """Requests come from outside."""
    (said,) = messages(waves(lambda known, _: 50_000 - known))
    assert said.startswith("External metric queue does not react to the size (correlation ")


def test_without_certainty_there_is_no_finding() -> None:
    """The time is too short, or the size never changed."""
    assert messages(waves(lambda known, size: known + 7_000 - 1_000 * size, 20)) == []
    steady = [replace(each, observation=replace(each.observation, target=state(3))) for each in waves(lambda *_: 1.0)]
    assert messages(steady) == []


@pytest.mark.parametrize(
    "other",
    [
        replace(QUEUE_15, query=replace(QUEUE_15.query, expr="histogram_quantile(0.9, x)")),
        metric(MetricType.EXTERNAL, TargetType.VALUE, 15_000, "latency"),
    ],
)
def test_a_latency_is_named(other: MetricSpec) -> None:
    (said,) = messages(waves(lambda known, _: known), scaler(other, maximum=6))
    assert "is a latency (" in said


@pytest.mark.parametrize(("load", "count"), [(Load.CONSERVED, 1), (Load.RECORDED, 0)])
def test_a_comparison_names_them_if_the_load_is_conserved(load: Load, count: int) -> None:
    cycles = waves(lambda known, size: known + 7_000 - 1_000 * size)
    found = compared(cycles, Candidate("new", WEB, load))
    assert sum(each.kind is FindingKind.LOAD for each in found.findings) == count
