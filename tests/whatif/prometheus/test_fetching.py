"""How answers of a long time are fetched, and how the server is spared."""

from itertools import pairwise
from pathlib import Path

import pytest

from autoscaler.config.settings import PrometheusSource
from autoscaler.errors import MetricError, PastError
from autoscaler.observe.failure import QueryError
from autoscaler.observe.planner import Outcome
from autoscaler.observe.ranges import MOST_STEPS, Grid
from autoscaler.whatif.prometheus.fetching import LARGEST, SMALLEST, Fetcher, Recording, blocks
from autoscaler.whatif.prometheus.range_cache import RangeCache
from tests.whatif.sources import LOAD, FakeClock, FakePrometheus, refusing, span, values

WEEK = 40_320
SOURCES = {"default": PrometheusSource("http://prometheus.test")}


def fetcher(server: FakePrometheus, folder: Path) -> Fetcher:
    return Fetcher(
        {"default": server}, RangeCache(folder, SOURCES, server.clock), server.clock, sleep=server.clock.sleep
    )


def fetched(server: FakePrometheus, folder: Path, asked: Grid) -> Recording:
    return fetcher(server, folder).fetch([LOAD], asked)[LOAD]


@pytest.mark.parametrize("first", [1_000_000, 1_000_001, 1_048_575])
def test_a_week_is_a_few_blocks_below_the_limit_of_points(first: int) -> None:
    planned = blocks(span(first, WEEK))
    assert len(planned) < 20
    assert max(each.count for each in planned) == LARGEST < MOST_STEPS
    assert planned[0].first <= first
    assert all(one.first + one.count == other.first for one, other in pairwise(planned))
    assert planned[-1].first + planned[-1].count == first + WEEK


def test_different_times_have_the_same_blocks() -> None:
    """What was fetched yesterday is found again today."""
    one, other = set(blocks(span(1_000_003, WEEK))), set(blocks(span(1_000_003 + 5760, WEEK)))
    assert sum(each.count for each in one & other) > WEEK / 2


def test_every_step_has_one_answer_in_order(tmp_path: Path) -> None:
    server = FakePrometheus(FakeClock())
    asked = span(1_000_003, 500)
    assert values(list(fetched(server, tmp_path, asked).results())) == [float(1_000_003 + each) for each in range(500)]


def test_a_cached_answer_is_not_fetched_again(tmp_path: Path) -> None:
    """A second replay of the same time is quick, and costs the server nothing."""
    server = FakePrometheus(FakeClock())
    asked = span(1_000_064, SMALLEST * 4)
    first = values(list(fetched(server, tmp_path, asked).results()))
    sent = len(server.asked)
    assert values(list(fetched(server, tmp_path, asked).results())) == first
    assert server.asked[sent:] == []


def test_a_fetch_continues_where_another_one_failed(tmp_path: Path) -> None:
    asked = span(1_000_064, 4 * LARGEST)
    broken = FakePrometheus(FakeClock(), refusing(MetricError("is gone"), lambda grid: grid.first > 1_010_000))
    with pytest.raises(PastError, match="is gone; the answers so far are cached"):
        fetched(broken, tmp_path, asked)
    server = FakePrometheus(FakeClock())
    fetched(server, tmp_path, asked)
    assert min(each.first for each in server.asked) > 1_010_000


def test_answers_younger_than_ten_minutes_are_not_cached(tmp_path: Path) -> None:
    """Samples may still be added."""
    clock = FakeClock()
    now = int(clock.seconds // 15)
    for _ in range(2):
        server = FakePrometheus(FakeClock())
        fetched(server, tmp_path, span(now // SMALLEST * SMALLEST - SMALLEST, 2 * SMALLEST))
        assert server.asked[-1].first == now // SMALLEST * SMALLEST


def test_a_damaged_file_is_fetched_again(tmp_path: Path) -> None:
    server = FakePrometheus(FakeClock())
    asked = span(1_000_064, SMALLEST)
    before = values(list(fetched(server, tmp_path, asked).results()))
    for file in tmp_path.iterdir():
        file.write_bytes(file.read_bytes()[:-3] + b"bad")
    assert values(list(fetched(server, tmp_path, asked).results())) == before
    assert len(server.asked) == 2


def test_a_file_that_is_removed_during_a_replay_is_fetched_again(tmp_path: Path) -> None:
    """A replay of a week takes a minute."""
    server = FakePrometheus(FakeClock())
    found = fetched(server, tmp_path, span(1_000_064, SMALLEST))
    for file in tmp_path.iterdir():
        file.unlink()
    assert len(list(found.results())) == SMALLEST


def test_many_series_have_smaller_blocks(tmp_path: Path) -> None:
    """A query loads fewer than Prometheus' limit of 50 million samples."""
    server = FakePrometheus(FakeClock(), series=30_000)
    fetched(server, tmp_path, span(LARGEST * 100, LARGEST))
    assert max(each.count for each in server.asked) * 30_000 < 50_000_000


def test_a_block_that_is_too_large_is_halved(tmp_path: Path) -> None:
    """There may have been many more series than now."""
    error = QueryError("query processing would load too many samples", Outcome.TOO_LARGE)
    server = FakePrometheus(FakeClock(), refusing(error, lambda grid: grid.count > 1024))
    found = values(list(fetched(server, tmp_path, span(LARGEST * 100, LARGEST)).results()))
    assert found == [float(LARGEST * 100 + each) for each in range(LARGEST)]


def test_a_step_that_is_refused_affects_only_its_own_block(tmp_path: Path) -> None:
    """For a minute, an expression may have had two series where it needs one."""
    first = LARGEST * 100
    error = QueryError("found duplicate series", Outcome.REFUSED)
    bad = first + 700
    server = FakePrometheus(FakeClock(), refusing(error, lambda grid: grid.first <= bad < grid.first + grid.count))
    found = values(list(fetched(server, tmp_path, span(first, LARGEST)).results()))
    assert [index for index, value in enumerate(found) if value is None] == list(range(640, 768))


def test_an_expression_that_is_always_refused_is_given_up(tmp_path: Path) -> None:
    server = FakePrometheus(FakeClock(), refusing(QueryError("parse error", Outcome.REFUSED), lambda _: True))
    found = list(fetched(server, tmp_path, span(LARGEST * 100, 5 * LARGEST)).results())
    assert str(found[0]) == "parse error"
    assert len(server.asked) < 50


def test_a_server_that_never_answered_is_not_asked_twice(tmp_path: Path) -> None:
    """Its address is probably wrong, and the user wants to know at once."""
    server = FakePrometheus(FakeClock(), refusing(MetricError("cannot be asked"), lambda _: True))
    with pytest.raises(PastError, match="cannot be asked"):
        fetched(server, tmp_path, span(1_000_064, LARGEST))
    assert len(server.asked) == 1


def test_a_server_that_fails_for_a_short_time_is_asked_again_after_a_pause(tmp_path: Path) -> None:
    failures = iter([False, True, True, False])
    error = MetricError("answered HTTP 503")
    server = FakePrometheus(FakeClock(), refusing(error, lambda _: next(failures, False)))
    found = fetched(server, tmp_path, span(SMALLEST * 1000, SMALLEST * 3))
    assert None not in values(list(found.results()))
    assert {2.0, 4.0} <= set(server.clock.slept)


def test_a_server_is_asked_half_of_the_time_at_most(tmp_path: Path) -> None:
    """Each answer takes a second here."""
    server = FakePrometheus(FakeClock())
    fetched(server, tmp_path, span(1_000_064, LARGEST))
    assert sum(server.clock.slept) >= len(server.asked) - 1


def test_range_queries_wait_while_live_queries_are_slow(tmp_path: Path) -> None:
    """The daemon depends on the same server."""
    seconds = iter([0.01] * 4 + [5.0] * 3)
    server = FakePrometheus(FakeClock(), live=lambda: next(seconds, 0.01))
    fetched(server, tmp_path, span(SMALLEST * 1000, SMALLEST * 3))
    assert {1.0, 2.0, 4.0} <= set(server.clock.slept)


def test_progress_is_shown_to_the_end(tmp_path: Path) -> None:
    shown: list[float] = []
    server = FakePrometheus(FakeClock())
    cache = RangeCache(tmp_path, SOURCES, server.clock)
    Fetcher({"default": server}, cache, server.clock, shown.append, server.clock.sleep).fetch(
        [LOAD], span(10_000, 5000)
    )
    assert shown == sorted(shown)
    assert shown[-1] == 1.0
