"""How answers of a long time are fetched."""

from itertools import pairwise
from typing import Any

import pytest

from autoscaler.errors import PastError
from autoscaler.observe.failure import QueryFailure
from autoscaler.observe.planner.outcome import Outcome
from autoscaler.observe.ranges import Grid
from autoscaler.whatif.prometheus.fetching import BLOCK, Fetcher, Recording, parts
from tests.clocks import FakeClock
from tests.whatif.sources import LOAD, FakePrometheus, refusing, span, values

WEEK = 40_320


def fetched(server: FakePrometheus, asked: Grid) -> Recording:
    servers: dict[str, Any] = {"default": server}
    return Fetcher(servers, server.clock).fetch([LOAD], asked)[LOAD]


def test_a_week_is_some_hundred_queries_below_the_limit_of_points() -> None:
    first = 1_000_001
    planned = parts(span(first, WEEK))
    assert len(planned) < 320
    assert max(each.count for each in planned) == BLOCK < 11_000  # which Prometheus allows
    assert planned[0].first == first
    assert all(one.first + one.count == other.first for one, other in pairwise(planned))
    assert planned[-1].first + planned[-1].count == first + WEEK


def test_every_step_has_one_answer_in_order() -> None:
    server = FakePrometheus(FakeClock())
    asked = span(1_000_003, 500)
    assert values(list(fetched(server, asked).results())) == [float(1_000_003 + each) for each in range(500)]


def test_a_refused_query_affects_only_its_own_block() -> None:
    """For a minute, an expression may have had two series where it needs one."""
    first = BLOCK * 100
    error = QueryFailure("found duplicate series", outcome=Outcome.REFUSED)
    bad = first + BLOCK + 7
    server = FakePrometheus(FakeClock(), refusing(error, lambda grid: grid.first <= bad < grid.first + grid.count))
    found = values(list(fetched(server, span(first, 3 * BLOCK)).results()))
    assert [index for index, value in enumerate(found) if value is None] == list(range(BLOCK, 2 * BLOCK))


def test_an_answer_that_is_too_large_is_unknown() -> None:
    error = QueryFailure("query processing would load too many samples", outcome=Outcome.TOO_LARGE)
    server = FakePrometheus(FakeClock(), refusing(error, lambda _: True))
    assert fetched(server, span(BLOCK * 100, BLOCK)).refusal() is not None


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.LATE])
def test_a_server_that_fails_is_asked_nothing_more(outcome: Outcome) -> None:
    """Its address is wrong, or it is overloaded; live queries matter more."""
    first = BLOCK * 100
    error = QueryFailure("cannot be asked", outcome=outcome)
    server = FakePrometheus(FakeClock(), refusing(error, lambda grid: grid.first > first))
    with pytest.raises(PastError, match=r"cannot be asked; .*--since"):
        fetched(server, span(first, 5 * BLOCK))
    assert len(server.asked) == 2
