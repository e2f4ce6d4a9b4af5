"""How many queries a source is sent at a time, by all shards together."""

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

SOURCE = PrometheusSource("http://p", concurrency=2)


def look(shard: Shard, seconds: float = 60) -> "Future[dict[str, int | str]]":
    """A cycle in a thread of its own."""
    return spawn("shard", partial(shard.values, seconds=seconds))


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

    futures = [spawn("heavy", partial(enter, "heavy", heavy=True))]
    while not gate._heavy_waiting:
        pass
    futures.append(spawn("light", partial(enter, "light", heavy=False)))
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
    waiting = spawn("waiting", partial(gate.enter, 30))
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
    gate = Gates().of("default", replace(SOURCE, concurrency=6))
    assert gate.limit == 6
    gate.follow(members=4)
    assert gate.limit == 1
    assert gate.enter(0)
    assert not gate.enter(0)
    gate.follow(members=3)
    assert gate.enter(0)
    assert not gate.enter(0)
    gate.follow(members=100)
    assert gate.limit == 1


def test_a_cycle_says_how_many_daemons_there_are() -> None:
    """Those that share the state may come and go from one to the next."""
    gates = Gates()
    with scripted() as server:
        shard = Shard(server, fleet(1), gates, concurrency=6)
        gate = gates.of("default", shard.sources["default"])
        for members, limit in ((3, 2), (1, 6), (100, 1)):
            assert shard.values(members=members) == {"g0": 0}
            assert gate.limit == limit
