"""Queues and latencies are no conserved load."""

import math
from collections.abc import Callable, Sequence
from datetime import timedelta

import pytest

from autoscaler.model import Autoscaler, MetricSpec, MetricType, Observation, TargetType
from autoscaler.whatif.documents.measured import measure_rows
from autoscaler.whatif.documents.replay import replay_document
from autoscaler.whatif.past.past import Cycle, FindingKind
from autoscaler.whatif.replay.reaction import Reactions
from autoscaler.whatif.replay.replay import Candidate
from tests.decide.build import NOW, QUEUE_15, metric, scaler, state, value
from tests.replaced import replace
from tests.whatif.pasts import compared

LOAD = replace(QUEUE_15, name="jobs", query=replace(QUEUE_15.query, expr="jobs"))
"""Its name says nothing."""
WEB = scaler(LOAD, maximum=6)


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
    assert said.startswith("External metric jobs is a queue (it grew by 4 a minute while the target was at its maximum")
    assert "(correlation -1.00)" in said


def test_a_metric_that_does_not_react_to_the_size_is_a_load() -> None:
    """Requests come from outside."""
    assert messages(waves(lambda known, _: 50_000 - known)) == []


@pytest.mark.parametrize("name", ["mail_queue_length", "kafka_consumer_lag", "orders_waiting", "jobs_pending"])
def test_a_queue_is_known_by_its_expression(name: str) -> None:
    """A time without the maximum shows nothing, and a guess would be a figure that nobody doubts."""
    named = replace(LOAD, query=replace(LOAD.query, expr=f"sum({name})"))
    (said,) = messages(waves(lambda *_: 1.0), scaler(named, maximum=6))
    assert said.startswith("External metric jobs is a queue (its expression says so)")


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


def test_with_a_queue_the_unserved_demand_is_unknown() -> None:
    """How fast another number of replicas would have worked it off is never guessed."""
    cycles = waves(lambda known, size: known + 7_000 - 1_000 * size)
    document = replay_document(compared(cycles, Candidate("new", WEB)))
    assert [each.kind for each in document.findings].count(FindingKind.LOAD) == 2  # and it was at its maximum
    assert {each.measures.unserved for each in document.candidates} == {None}
    rows = {row.title: row.cells for row in measure_rows(document)}
    assert rows["unserved demand"] == rows["worst overload"] == ("unknown", "unknown")
    assert rows["instance-hours"][0] != "unknown"
