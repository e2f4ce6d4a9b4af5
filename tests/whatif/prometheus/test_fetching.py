"""How answers of a long time are fetched, and how the server is spared."""

from itertools import pairwise

import pytest

from autoscaler.errors import PastError
from autoscaler.observe.failure import QueryFailure
from autoscaler.observe.planner.outcome import Outcome
from autoscaler.observe.ranges import Grid
from autoscaler.whatif.prometheus.fetching import BLOCK, MIN_STEPS, Fetcher, Recording, parts
from tests.clocks import FakeClock
from tests.whatif.sources import LOAD, FakePrometheus, refusing, span, values

WEEK = 40_320


def fetched(server: FakePrometheus, asked: Grid) -> Recording:
    return Fetcher({"default": server}, server.clock, sleep=server.clock.sleep).fetch([LOAD], asked)[LOAD]


def test_a_week_is_a_few_queries_below_the_limit_of_points() -> None:
    first = 1_000_001
    planned = parts(span(first, WEEK))
    assert len(planned) < 80
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


def test_a_block_that_is_too_large_is_halved() -> None:
    """A fleet's shared query has more samples in 512 steps than a server reads at a time."""
    error = QueryFailure("query processing would load too many samples", outcome=Outcome.TOO_LARGE)
    server = FakePrometheus(FakeClock(), refusing(error, lambda grid: grid.count > 150))
    found = values(list(fetched(server, span(BLOCK * 100, 3 * BLOCK)).results()))
    assert found == [float(BLOCK * 100 + each) for each in range(3 * BLOCK)]
    assert len(server.asked) == 2 + 3 * BLOCK // 128, "what is too large is learnt once"


def test_an_answer_that_is_too_large_for_the_smallest_query_is_unknown() -> None:
    error = QueryFailure("query processing would load too many samples", outcome=Outcome.TOO_LARGE)
    server = FakePrometheus(FakeClock(), refusing(error, lambda _: True))
    assert fetched(server, span(BLOCK * 100, BLOCK)).refusal() is not None
    assert min(each.count for each in server.asked) == MIN_STEPS


def test_a_server_that_fails_for_long_queries_is_asked_for_less() -> None:
    """It has answered before, so it is overloaded rather than gone."""
    first = BLOCK * 100
    error = QueryFailure("did not answer within 60 s", outcome=Outcome.LATE)
    server = FakePrometheus(FakeClock(), refusing(error, lambda grid: grid.first > first and grid.count > 256))
    found = values(list(fetched(server, span(first, 2 * BLOCK)).results()))
    assert found == [float(first + each) for each in range(2 * BLOCK)]


def test_a_server_that_never_answered_is_not_asked_twice() -> None:
    """Its address is probably wrong, and the user wants to know at once."""
    server = FakePrometheus(FakeClock(), refusing(QueryFailure("cannot be asked"), lambda _: True))
    with pytest.raises(PastError, match="cannot be asked"):
        fetched(server, span(1_000_064, BLOCK))
    assert len(server.asked) == 1


def test_a_server_that_fails_for_a_short_time_is_asked_again_after_a_pause() -> None:
    failures = iter([False, True, True, False])
    error = QueryFailure("answered HTTP 503")
    server = FakePrometheus(FakeClock(), refusing(error, lambda _: next(failures, False)))
    found = fetched(server, span(1_000_064, BLOCK + MIN_STEPS))
    assert None not in values(list(found.results()))
    assert {2.0, 4.0} <= set(server.clock.slept)


def test_a_server_is_asked_half_of_the_time_at_most() -> None:
    """Each answer takes a second here."""
    server = FakePrometheus(FakeClock())
    fetched(server, span(1_000_064, BLOCK * 3))
    assert len(server.asked) == 3
    assert sum(server.clock.slept) >= len(server.asked) - 1


def test_progress_is_shown_to_the_end() -> None:
    shown: list[float] = []
    server = FakePrometheus(FakeClock())
    Fetcher({"default": server}, server.clock, shown.append, server.clock.sleep).fetch([LOAD], span(10_000, 5000))
    assert shown == sorted(shown)
    assert shown[-1] == 1.0
