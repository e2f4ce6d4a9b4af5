"""Range queries equal instant queries at each of their times. Wrong answers are rejected."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from autoscaler.config.settings import PrometheusSource
from autoscaler.errors import MetricError
from autoscaler.observe.answer import NotAnAnswer
from autoscaler.observe.failure import QueryFailure
from autoscaler.observe.prometheus import Prometheus
from autoscaler.observe.ranges import Grid, RangeResult, parse_range
from autoscaler.observe.result import Point, QueryResult, ResultType
from tests.observe.build import CLOCK, NOW, call
from tests.observe.fake import answering
from tests.servers.prometheus import PrometheusServer
from tests.servers.web import Request

STEP = timedelta(seconds=15)
GRID = Grid(STEP, int(NOW.timestamp()) // 15 - 16, 17, timedelta(0))
"""Four minutes up to NOW."""


@pytest.fixture
def source(prometheus: PrometheusServer) -> Iterator[Prometheus]:
    asked = Prometheus("main", PrometheusSource(prometheus.url), CLOCK)
    yield asked
    asked.close()


def series(labels: dict[str, str], values: dict[int, str], **more: Any) -> dict[str, Any]:
    return {"metric": labels, "values": [[GRID.seconds(index), value] for index, value in values.items()], **more}


def parse(*result: Any) -> RangeResult:
    body = {"status": "success", "data": {"resultType": "matrix", "result": result}}
    return parse_range(json.dumps(body).encode(), 200, GRID, 2**26)


def found(source: Prometheus, expr: str, grid: Grid) -> RangeResult:
    answer = source.range(expr, grid, call().deadline)
    assert isinstance(answer, RangeResult)
    return answer


@pytest.mark.slow
@pytest.mark.parametrize(
    "expr", ["load", "rate(load[2m])", "sum(load)", "load * on() group_left() sum(cores)", "vector(1)"]
)
def test_each_time_equals_an_instant_query(source: Prometheus, expr: str) -> None:
    """A replay sees what the daemon saw."""
    told = found(source, expr, GRID)
    instants = [source.query(expr, GRID.at(index), call().deadline) for index in range(GRID.count)]
    assert any(each.points for each in instants)
    for one, other in zip(told.results(GRID.count), instants, strict=True):
        assert sorted(one.points, key=str) == sorted(other.points, key=str)


@pytest.mark.slow
def test_times_are_those_of_the_daemons_cycles(source: Prometheus) -> None:
    """A daemon's cycles are not at whole multiples of their period."""
    grid = Grid(STEP, GRID.first, 3, timedelta(seconds=7.25))
    values = [each.points[0].value for each in found(source, "time()", grid).results(3)]
    assert values == [pytest.approx(grid.at(index).timestamp()) for index in range(3)]


@pytest.mark.slow
def test_a_rejection_has_prometheus_own_message(source: Prometheus) -> None:
    refused = source.range("load", Grid(STEP, GRID.first - 12_000, 12_000, timedelta(0)), call().deadline)
    assert isinstance(refused, QueryFailure)
    assert "'main' answered HTTP 400: bad_data: " in refused.message
    assert "exceeded maximum resolution" in refused.message


def test_a_time_without_a_sample_is_not_zero() -> None:
    """A gap in a series stays a gap."""
    found = list(parse(series({"a": "1"}, {0: "1.5", 1: "2", 3: "3"})).results(5))
    assert [each.points for each in found] == [
        (Point({"a": "1"}, 1.5),), (Point({"a": "1"}, 2.0),), (), (Point({"a": "1"}, 3.0),), ()
    ]  # fmt: skip
    assert found[2] == QueryResult(ResultType.VECTOR, ())


def test_not_a_number_is_a_sample() -> None:
    """The reader drops it with a message; it is not a gap."""
    (first, *_) = parse(series({}, {0: "NaN"})).results(GRID.count)
    assert [str(point.value) for point in first.points] == ["nan"]


def test_a_native_histogram_is_a_point_without_a_value() -> None:
    histogram = [GRID.seconds(1), {"count": "1", "sum": "2", "buckets": []}]
    found = list(parse({"metric": {"a": "1"}, "histograms": [histogram]}).results(3))
    assert [each.points for each in found] == [(), (Point({"a": "1"}, None),), ()]


@pytest.mark.parametrize("seconds", [7, 15 * 17, -15])
def test_a_sample_of_another_time_is_rejected(seconds: int) -> None:
    """A cache that moves times would shift the whole past."""
    with pytest.raises(MetricError, match="an unrequested time"):
        parse({"metric": {}, "values": [[GRID.seconds(0) + seconds, "1"]]})


@pytest.mark.parametrize(
    "result",
    [
        {"metric": {}, "values": [[GRID.seconds(1), "1"], [GRID.seconds(0), "2"]]},
        {"metric": {}, "values": [[GRID.seconds(0), "one"]]},
        {"metric": {}, "values": [[GRID.seconds(0), 1]]},
        {"values": []},
        [],
    ],
    ids=["out of order", "not a value", "not a text", "no labels", "not a series"],
)
def test_an_invalid_range_answer_is_rejected(result: Any) -> None:
    with pytest.raises(NotAnAnswer):
        parse(result)


def test_a_label_that_is_no_text_is_rejected() -> None:
    body = {"status": "success", "data": {"resultType": "matrix", "result": [{"metric": {"a": "?"}, "values": []}]}}
    with pytest.raises(NotAnAnswer):
        parse_range(json.dumps(body).encode().replace(b"?", b"\xff"), 200, GRID, 2**26)


def test_an_instant_querys_answer_is_an_error() -> None:
    body = {"status": "success", "data": {"resultType": "vector", "result": []}}
    with pytest.raises(NotAnAnswer, match="neither a matrix nor an error"):
        parse_range(json.dumps(body).encode(), 200, GRID, 2**26)


def test_the_times_of_a_grid_are_counted_from_1970() -> None:
    """The server is asked by the seconds, and a replay decides at the times."""
    grid = Grid(STEP, 2, 3, timedelta(seconds=7))
    assert [grid.at(index) for index in range(3)] == [
        datetime(1970, 1, 1, 0, 0, seconds, tzinfo=UTC) for seconds in (37, 52)
    ] + [datetime(1970, 1, 1, 0, 1, 7, tzinfo=UTC)]
    assert [grid.seconds(index) for index in range(3)] == [37, 52, 67]


def test_the_server_is_told_the_time_limit() -> None:
    """It would go on with a query that nobody waits for."""

    def reply(request: Request) -> None:
        request.reply({"status": "success", "data": {"resultType": "matrix", "result": []}})

    with answering(reply) as fake:
        source = Prometheus("main", PrometheusSource(fake.url, timeout=timedelta(seconds=3)), CLOCK)
        source.range("load", GRID, call(60).deadline)
        source.close()
        assert fake.seen[-1].form["timeout"] == "3000ms"
