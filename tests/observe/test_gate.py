"""How many queries a source is sent at a time, by all shards together."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest

from autoscaler.config.settings import PrometheusSource
from autoscaler.errors import MetricError, StateError
from autoscaler.observe.gate import Gate, Gates
from autoscaler.observe.workers import settle, spawn
from tests.observe.scripted import Scripted, Shard, fleet, scripted
from tests.replaced import replace

SOURCE = PrometheusSource("http://p", concurrency=2)


def look(shard: Shard, seconds: float = 60) -> "Future[dict[str, int | str]]":
    """A cycle in a thread of its own."""
    future: Future[dict[str, int | str]] = Future()
    spawn("shard", partial(settle, future, partial(shard.values, seconds=seconds)))
    return future


@contextmanager
def two_shards(**source: Any) -> Iterator[tuple[Scripted, Shard, Shard]]:
    """One with 30 queries, one with one, of one daemon; each query waits to be let go of."""
    gates = Gates()
    with scripted() as server:
        server.hold = threading.Semaphore(0)
        yield (
            server,
            Shard(server, fleet(30), gates, merge_queries=False, **source),
            Shard(server, fleet(1, 99), gates, merge_queries=False, **source),
        )


@pytest.mark.parametrize("limit", [1, 3])
def test_the_limit_is_the_whole_daemons(limit: int) -> None:
    """It was each shard's own: with ten shards, Prometheus had twenty queries at a time."""
    with two_shards(concurrency=limit) as (server, many, one):
        assert server.hold is not None
        futures = [look(many), look(one)]
        server.until(limit)
        server.hold.release(31)
        wait(futures)
        assert server.most_at_a_time == limit
        assert (len(server.asked), len(futures[0].result()), futures[1].result()) == (31, 30, {"g99": 99000})


def test_a_shard_with_one_query_does_not_wait_for_another_ones_thirty() -> None:
    with two_shards() as (server, many, one):
        assert server.hold is not None
        first = look(many)
        server.until(2)
        second = look(one)
        while len([each for each in threading.enumerate() if each.name == "prometheus-default"]) < 3:
            pass
        for count in range(3, 10):  # one at a time
            server.hold.release()
            server.until(count)
        assert 'load{group="g99"}' in server.asked
        server.hold.release(31)
        wait([first, second])


def test_a_shard_waits_no_longer_than_to_its_deadline() -> None:
    """And says what it waited for."""
    with two_shards() as (server, many, one):
        assert server.hold is not None
        first = look(many)
        server.until(2)
        assert "prometheus 'default' " in str(one.values(seconds=0.3)["g99"])
        assert len(server.asked) == 2
        server.hold.release(30)
        wait([first])


def test_who_gives_up_leaves_its_turn_to_the_next() -> None:
    gate = Gate(1)
    assert gate.enter(0)
    assert not gate.enter(0.01)
    gate.leave()
    assert gate.enter(0)
    assert not gate.enter(0)


def test_a_heavy_query_goes_when_no_other_waits_and_one_at_a_time() -> None:
    """Of all shards together: two that each have one would take both slots from a third."""
    gate = Gate(3)
    assert gate.enter(0, heavy=True)
    assert not gate.enter(0.01, heavy=True)
    assert gate.enter(0)
    assert gate.enter(0)
    order: list[str] = []

    def enter(name: str, *, heavy: bool) -> None:
        assert gate.enter(30, heavy=heavy)
        order.append(name)
        gate.leave(heavy=heavy)

    futures: list[Future[None]] = [Future(), Future()]
    spawn("heavy", partial(settle, futures[0], partial(enter, "heavy", heavy=True)))
    while not gate._heavy_waiting:
        pass
    spawn("light", partial(settle, futures[1], partial(enter, "light", heavy=False)))
    while not gate._waiting:
        pass
    gate.leave(heavy=True)
    wait(futures)
    assert order == ["light", "heavy"]


def test_a_higher_limit_lets_those_in_who_wait() -> None:
    """A reload changes it while queries are under way."""
    gates = Gates()
    gate = gates.of("p", SOURCE)
    assert gate.enter(0)
    assert gate.enter(0)
    waiting: Future[bool] = Future()
    spawn("waiting", partial(settle, waiting, partial(gate.enter, 30)))
    assert gates.of("p", replace(SOURCE, concurrency=3)) is gate
    assert waiting.result(30)
    gates.of("p", replace(SOURCE, concurrency=1))
    gate.leave()
    gate.leave()
    assert not gate.enter(0)
    gate.leave()
    assert gate.enter(0)


def test_another_server_or_name_has_a_gate_of_its_own() -> None:
    """What hangs at the old address does not hold up the new one."""
    gates = Gates()
    first = gates.of("p", SOURCE)
    assert gates.of("p", replace(SOURCE, url="http://q")) is not first
    assert gates.of("other", SOURCE) is not first


def test_daemons_that_share_the_state_divide_a_sources_limit() -> None:
    """Ten hosts must not ask ten times as much. A share is one at least, and follows who comes and goes."""
    members = 1
    gate = Gates(lambda: members).of("default", replace(SOURCE, concurrency=6))
    assert gate.limit == 6
    members = 4
    assert gate.limit == 1
    assert gate.enter(0)
    assert not gate.enter(0)
    members = 3
    assert gate.enter(0)
    assert not gate.enter(0)
    members = 100
    assert gate.limit == 1


class FakePermits:
    """What several daemons share (`record.Permits`): as many as a test says, or a state that is away."""

    def __init__(self, left: int = 0, failure: StateError | None = None) -> None:
        self.left, self.failure = left, failure
        self.asked: list[tuple[str, int]] = []

    def take(self, of: str, limit: int, seconds: float) -> Callable[[], None] | None:
        self.asked.append((of, limit))
        if self.failure is not None:
            raise self.failure
        if self.left == 0:
            return None
        self.left -= 1
        return self.give_back

    def give_back(self) -> None:
        self.left += 1


def values(members: int, permits: FakePermits) -> dict[str, int | str]:
    """What one query comes to, of a source with a concurrency of 2."""
    with scripted() as server:
        return Shard(server, fleet(1), Gates(lambda: members, permits), concurrency=2).values()


def test_a_permit_is_taken_where_there_are_more_daemons_than_queries_at_a_time() -> None:
    """And given back after the query. The password of the address is nobody else's."""
    permits = FakePermits(left=1)
    assert values(3, permits) == {"g0": 0}
    ((of, limit),) = permits.asked
    assert of.startswith("queries of default http://127.0.0.1:")
    assert (limit, permits.left) == (2, 1)
    gate = Gates(lambda: 3, permits).of("p", replace(SOURCE, url="http://me:secret@p"))
    assert callable(gate.permit(1))
    assert permits.asked[-1] == ("queries of p http://p", 2)


def test_no_permit_is_asked_for_where_each_daemon_has_a_share() -> None:
    """The database is not asked for every query then."""
    permits = FakePermits()
    assert values(2, permits) == {"g0": 0}
    assert permits.asked == []


def test_a_query_without_a_permit_is_not_sent() -> None:
    said = str(values(3, FakePermits())["g0"])
    assert said.startswith("prometheus 'default' was not asked: 2 queries of other daemons are still under way (http")


def test_a_query_is_not_sent_while_the_state_is_away() -> None:
    """Nothing is scaled without it, and a Prometheus that all daemons ask at once could take harm."""
    permits = FakePermits(failure=StateError("state s: the database failed"))
    refused = Gates(lambda: 3, permits).of("p", SOURCE).permit(1)
    assert isinstance(refused, MetricError)
    assert str(refused) == "was not asked: whether other daemons ask it is not known: state s: the database failed"
