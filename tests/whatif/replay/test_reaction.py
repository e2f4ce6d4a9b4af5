"""What metrics tell of the load: a queue and a latency are none that is conserved."""

import math
from collections.abc import Callable, Sequence
from datetime import timedelta

import pytest

from autoscaler.model import Autoscaler, MetricSpec, MetricType, Observation, TargetType
from autoscaler.whatif.compare.comparison import Candidate, compare
from autoscaler.whatif.past.past import FindingKind, Moment
from autoscaler.whatif.replay.reaction import Reactions
from autoscaler.whatif.replay.replay import Load
from tests.decide.build import NOW, QUEUE_15, metric, scaler, state, value
from tests.replaced import replace
from tests.whatif.pasts import Listed

WEB = scaler(QUEUE_15, maximum=6)


def cycles(length: Callable[[float, int], float], count: int = 240) -> list[Moment]:
    """A pool that is led by waves: of half of them at its maximum of 6. `length`: what follows from it and the size."""
    made, known = list[Moment](), 100.0
    for number in range(count):
        size = min(6, max(1, round(5 + 4 * math.sin(number / 15))))
        made.append(Moment(NOW + number * timedelta(seconds=15), Observation(state(size), (value(round(known)),))))
        known = max(0.0, length(known, size))
    return made


def told(moments: Sequence[Moment], autoscaler: Autoscaler = WEB) -> list[str]:
    reactions = Reactions(autoscaler)
    for each in moments:
        reactions.see(each)
    return [each.message for each in reactions.findings]


def test_what_grows_at_the_maximum_and_is_worked_off_looks_like_a_queue() -> None:
    """7,000 arrive in each cycle, and a replica works 1,000 off."""
    (said,) = told(cycles(lambda known, size: known + 7_000 - 1_000 * size))
    assert said.startswith(
        "External metric queue looks like a queue: it grew by 4 a minute while the target was at its"
    )
    assert "(correlation -1.00)" in said
    assert said.endswith("Its load is not conserved; write kind: backlog")


def test_what_does_not_react_to_the_size_is_said_with_the_figure() -> None:
    """Requests come from outside."""
    (said,) = told(cycles(lambda known, _: 50_000 - known))
    assert said.startswith("External metric queue does not react to the size (correlation ")


def test_where_nothing_is_certain_nothing_is_said() -> None:
    """A size that never changed, and too short a time."""
    assert told(cycles(lambda known, size: known + 7_000 - 1_000 * size, 20)) == []
    steady = [replace(each, observation=replace(each.observation, target=state(3))) for each in cycles(lambda *_: 1.0)]
    assert told(steady) == []


@pytest.mark.parametrize(
    "other",
    [
        replace(QUEUE_15, query=replace(QUEUE_15.query, expr="histogram_quantile(0.9, x)")),
        metric(MetricType.EXTERNAL, TargetType.VALUE, 15_000, "latency"),
    ],
)
def test_a_latency_is_said(other: MetricSpec) -> None:
    (said,) = told(cycles(lambda known, _: known), scaler(other, maximum=6))
    assert "is a latency (" in said


@pytest.mark.parametrize(("load", "count"), [(Load.CONSERVED, 1), (Load.RECORDED, 0)])
def test_a_comparison_says_so_where_the_load_is_conserved(load: Load, count: int) -> None:
    moments = cycles(lambda known, size: known + 7_000 - 1_000 * size)
    found = compare(Listed(moments), [Candidate("new", WEB, load)], NOW, moments[-1].at)
    assert sum(each.kind is FindingKind.LOAD for each in found.findings) == count
