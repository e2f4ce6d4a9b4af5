"""A source that is slow or fails is asked little more than the planned queries."""

from collections.abc import Callable, Sequence
from datetime import timedelta

import pytest

from autoscaler.observe.planner.merge import Limits
from autoscaler.observe.queries import Queries
from tests.observe.scripted import UNHURRIED, Answer, Shard, answered, fleet, refused, scripted, simulated, well
from tests.replaced import replace

MAX_ALONE = 250
TIMED_OUT = refused("query timed out in query execution", 503, "timeout")
TOO_MANY = refused("query processing would load too many samples into memory in query execution")


@pytest.mark.parametrize(
    "failure",
    [
        TIMED_OUT,
        TOO_MANY,
        refused("expanding series: context canceled", 422, "canceled"),
        refused("out of memory", 500, "internal"),
        refused("too many requests", 429, "too_many_requests"),
    ],
)
def test_an_overloaded_server_gets_one_query_more(failure: Answer) -> None:
    """Its members alone would overload it further. Nothing is learned from it, so it recovers at once."""
    with scripted() as server:
        server.answer = lambda groups: failure
        shard = Shard(server, fleet(300))
        for _ in range(5):
            assert not [value for value in shard.values().values() if isinstance(value, int)]
            assert len(server.taken()) <= 2 + 1
        server.answer = answered
        assert shard.values() == well(300)
        assert len(server.taken()) == 2


def test_a_server_that_refuses_everything_gets_250_more_at_most() -> None:
    """A Thanos without its stores answers 422 to each query. No member is the cause, so none stays alone."""
    with scripted() as server:
        server.answer = lambda groups: refused("proxy Series(): rpc error: code = Unavailable")
        shard = Shard(server, fleet(60), queries=Queries(Limits(values=20)), timeout=UNHURRIED)
        for _ in range(3):
            shard.look()
            assert len(server.taken()) == 3 + 20
        server.answer = answered
        assert shard.values() == well(60)
        assert len(server.taken()) == 3


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> int:
    """Return the most members that are asked alone because of their cost: a tenth of the usual."""
    most = MAX_ALONE // 10
    monkeypatch.setattr("autoscaler.observe.asked_alone.MAX_COSTLY", most)
    monkeypatch.setattr("autoscaler.observe.taking_apart.MAX_COSTLY", most)
    return most


def test_a_server_late_with_merged_queries_gets_a_limited_number_more(few: int) -> None:
    """The first merged query is taken apart, and its members are quick."""
    with scripted() as server:
        server.answer = lambda groups: TIMED_OUT if len(groups) > 1 else answered(groups)
        shard = Shard(server, fleet(60), queries=Queries(Limits(values=20)), timeout=UNHURRIED)
        for _ in range(4):
            values = shard.values()
            assert len(server.taken()) == 3 + few
            assert sum(isinstance(value, int) for value in values.values()) == few
        assert not shard.queries.asked_alone()


def test_heavy_members_that_are_known_count_among_these(few: int) -> None:
    """Each of 60 expressions is too large. In each cycle all queries above the planned ones are limited.

    One query at a time, so that g0 is the member that is asked first.
    """
    with scripted() as server:
        server.answer = lambda groups: answered(groups) if list(groups) == ["g0"] else TOO_MANY
        shard = Shard(server, fleet(60), queries=Queries(Limits(values=20)), concurrency=1, timeout=UNHURRIED)
        for _ in range(6):
            shard.look()
            assert len(server.taken()) <= 3 + few
        assert 0 < len(shard.queries.asked_alone()) <= few


STALLED: dict[str, Callable[[int, Sequence[str]], float]] = {
    "it answers nothing": lambda count, groups: 60.0,
    "it answers the first query of a cycle": lambda count, groups: 0.001 if not count else 60.0,
    "it answers members alone": lambda count, groups: 0.001 if len(groups) == 1 else 60.0,
    "it answers merged queries": lambda count, groups: 0.001 if len(groups) > 1 and count % 2 else 60.0,
    "each query takes half of its time": lambda count, groups: 2.5,
    "each query takes a little more than a quarter of its time": lambda count, groups: 1.3,
}


@pytest.mark.parametrize(
    ("case", "count"),
    [
        *((case, 500) for case in STALLED),
        pytest.param("it answers the first query of a cycle", 10_000, marks=pytest.mark.slow),
    ],
)
def test_expressions_on_a_stalled_source(monkeypatch: pytest.MonkeyPatch, case: str, count: int) -> None:
    """Never more than the planned queries and 250. Once it recovers, all have a value in the next cycle."""
    cost = STALLED[case]
    shard, server = simulated(monkeypatch, count)
    assert shard.values(seconds=15) == well(count)
    planned = len(server.taken())
    assert planned == count // 250
    for _ in range(4):
        server.cost = lambda groups: cost(len(server.asked) - 1, groups)
        shard.look(seconds=15)
        assert len(server.taken()) <= planned + MAX_ALONE
    server.cost = lambda _: 0.001
    assert shard.values(seconds=15) == well(count)
    assert len(server.taken()) <= planned + MAX_ALONE


def test_a_silent_source_is_asked_no_more_in_the_cycle(monkeypatch: pytest.MonkeyPatch) -> None:
    """The shard waits for it, and with the shard the autoscalers with other sync periods."""
    shard, server = simulated(monkeypatch, 40, merge_queries=False, timeout=timedelta(seconds=4))
    server.cost = lambda _: 60
    began = shard.clock.monotonic()
    values = shard.values(seconds=30)
    assert shard.clock.monotonic() - began == pytest.approx(4 + 1)
    assert "did not answer within 4 s" in str(values["g0"])
    assert "was not asked: it has answered nothing in this cycle" in str(values["g39"])
    assert len(server.taken()) == 2
    server.cost = lambda _: 3.9
    assert isinstance(shard.values(seconds=30)["g2"], int), "one cycle is lost, and the others go first"


def two_periods(shard: Shard) -> None:
    """Let autoscalers with another sync period wait for the shard."""
    brisk = replace(fleet(1, 99)[0], sync_period=timedelta(seconds=2))
    shard.queries.follow([*shard.scalers, brisk])


def test_a_source_that_was_silent_delays_another_sync_period_by_a_quarter_of_its_timeout(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Once a minute it has its whole timeout, because it may only be slow."""
    shard, server = simulated(monkeypatch, 40, timeout=timedelta(seconds=4))
    two_periods(shard)
    server.cost = lambda _: 60
    delays = []
    for _ in range(4):
        began = shard.clock.monotonic()
        shard.look(seconds=30)
        delays.append(shard.clock.monotonic() - began)
        shard.clock.seconds += 20
    assert delays == pytest.approx([4 + 1, 1, 1, 4 + 1])
    server.cost = lambda _: 0.001
    assert shard.values(seconds=30) == well(40)


def test_a_slow_source_has_its_time_again_within_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes half of its timeout for each query, and was silent for one cycle."""
    shard, server = simulated(monkeypatch, 40, timeout=timedelta(seconds=4))
    two_periods(shard)
    server.cost = lambda _: 60
    shard.look(seconds=30)
    server.cost = lambda _: 2
    shard.clock.seconds += 60
    for _ in range(3):
        assert shard.values(seconds=30) == well(40)
