"""The limit on concurrent queries to one source, for all shards together."""

import threading
from collections.abc import Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest

from autoscaler.config.settings import PrometheusSource
from autoscaler.observe.gate import Gate, Gates
from autoscaler.threads import spawn
from tests.observe.scripted import Scripted, Shard, fleet, scripted
from tests.replaced import replace
from tests.waiting import until

SOURCE = PrometheusSource("http://p", concurrency=2)


def look(shard: Shard, seconds: float = 60) -> "Future[dict[str, int | str]]":
    """Run a cycle in a thread of its own."""
    return spawn("shard", partial(shard.values, seconds=seconds))


@contextmanager
def two_shards(**source: Any) -> Iterator[tuple[Scripted, Shard, Shard]]:
    """Run a shard with 30 queries and a shard with one, in one daemon. Each query waits for the test."""
    gates = Gates()
    with scripted() as server:
        server.hold = threading.Semaphore(0)
        yield (
            server,
            Shard(server, fleet(30), gates, merge_queries=False, **source),
            Shard(server, fleet(1, 99), gates, merge_queries=False, **source),
        )


@pytest.mark.parametrize("limit", [1, 3])
def test_the_limit_applies_to_the_whole_daemon(limit: int) -> None:
    """With a limit per shard, ten shards sent twenty queries at a time."""
    with two_shards(concurrency=limit) as (server, many, one):
        assert server.hold is not None
        futures = [look(many), look(one)]
        server.until(limit)
        server.hold.release(31)
        wait(futures)
        assert server.most_at_a_time == limit
        assert (len(server.asked), len(futures[0].result()), futures[1].result()) == (31, 30, {"g99": 99000})


def test_a_shard_with_one_query_does_not_wait_for_a_large_one() -> None:
    with two_shards() as (server, many, one):
        assert server.hold is not None
        first = look(many)
        server.until(2)
        second = look(one)
        until(lambda: sum(each.name == "prometheus-default" for each in threading.enumerate()) == 3, "the third thread")
        for count in range(3, 10):  # one at a time
            server.hold.release()
            server.until(count)
        assert 'load{group="g99"}' in server.asked
        server.hold.release(31)
        wait([first, second])


def test_a_shard_waits_at_most_until_its_deadline() -> None:
    """The error says what it waited for."""
    with two_shards() as (server, many, one):
        assert server.hold is not None
        first = look(many)
        server.until(2)
        assert "prometheus 'default' " in str(one.values(seconds=0.3)["g99"])
        assert len(server.asked) == 2
        server.hold.release(30)
        wait([first])


def test_a_query_that_gives_up_passes_its_turn_on() -> None:
    gate = Gate(1)
    assert gate.enter(0)
    assert not gate.enter(0.01)
    gate.leave()
    assert gate.enter(0)
    assert not gate.enter(0)


def test_heavy_queries_run_one_at_a_time_when_no_other_waits() -> None:
    """Across all shards: two shards with one each would otherwise block a third."""
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

    futures = [spawn("heavy", partial(enter, "heavy", heavy=True))]
    until(lambda: gate._heavy_waiting, "the heavy one")
    futures.append(spawn("light", partial(enter, "light", heavy=False)))
    until(lambda: gate._waiting, "the light one")
    gate.leave(heavy=True)
    wait(futures)
    assert order == ["light", "heavy"]


def test_a_higher_limit_admits_waiting_queries() -> None:
    """A reload changes the limit while queries are running."""
    gates = Gates()
    gate = gates.of("p", SOURCE)
    assert gate.enter(0)
    assert gate.enter(0)
    waiting = spawn("waiting", partial(gate.enter, 30))
    assert gates.of("p", replace(SOURCE, concurrency=3)) is gate
    assert waiting.result(60)
    gates.of("p", replace(SOURCE, concurrency=1))
    gate.leave()
    gate.leave()
    assert not gate.enter(0)
    gate.leave()
    assert gate.enter(0)


def test_another_server_or_name_has_a_gate_of_its_own() -> None:
    """A hanging query to the old address does not block the new one."""
    gates = Gates()
    first = gates.of("p", SOURCE)
    assert gates.of("p", replace(SOURCE, url="http://q")) is not first
    assert gates.of("other", SOURCE) is not first
