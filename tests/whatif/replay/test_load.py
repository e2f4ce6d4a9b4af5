"""Queues and latencies are no conserved load."""

from datetime import timedelta

import pytest

from autoscaler.model import MetricSpec, MetricType, Observation, TargetType
from autoscaler.whatif.compare.rows import measure_rows
from autoscaler.whatif.past.past import Cycle, FindingKind
from autoscaler.whatif.replay.load import unconserved
from autoscaler.whatif.replay.replay import Candidate
from tests.decide.build import NOW, QUEUE_15, metric, scaler, state, value
from tests.replaced import replace
from tests.whatif.pasts import compared

LOAD = replace(QUEUE_15, name="jobs", query=replace(QUEUE_15.query, expr="jobs"))
"""Its name says nothing."""


def asking(expr: str) -> MetricSpec:
    return replace(LOAD, query=replace(LOAD.query, expr=expr))


def test_requests_from_outside_are_a_load() -> None:
    assert list(unconserved(scaler(LOAD))) == []


@pytest.mark.parametrize("name", ["mail_queue_length", "kafka_consumer_lag", "orders_waiting", "jobs_pending"])
def test_a_queue_is_known_by_its_expression(name: str) -> None:
    """A guess would be a figure that nobody doubts."""
    (said,) = unconserved(scaler(asking(f"sum({name})")))
    assert said.startswith("External metric jobs is a queue (its expression says so)")


@pytest.mark.parametrize(
    "other",
    [
        asking("histogram_quantile(0.9, x)"),
        metric(MetricType.EXTERNAL, TargetType.VALUE, 15_000, "latency"),
    ],
)
def test_a_latency_is_named(other: MetricSpec) -> None:
    (said,) = unconserved(scaler(other))
    assert "is a latency (" in said


def test_with_a_queue_the_unserved_demand_is_unknown() -> None:
    """How fast another number of replicas would have worked it off is never guessed."""
    mail = scaler(asking("mail_queue_length"), maximum=6)
    seen = Observation(state(3), (value(200_000),))
    cycles = [Cycle(NOW + number * timedelta(seconds=15), seen, mail) for number in range(4)]
    document = compared(cycles, Candidate("new", mail))
    assert [each.kind for each in document.findings] == [FindingKind.LOAD]
    assert {each.measures.unserved for each in document.candidates} == {None}
    rows = {row.title: row.cells for row in measure_rows(document)}
    assert rows["unserved demand"] == rows["worst overload"] == ("unknown", "unknown")
    assert rows["instance-hours"][0] != "unknown"
