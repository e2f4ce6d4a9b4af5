"""A shard that cannot go on is begun anew, whatever ended it, and its neighbour goes on untouched."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from autoscaler.record.ledger import Ledger
from autoscaler.target import AdapterSettings
from tests.daemon.runtime import FakeAdapter, RuntimeHarness, on, running_runtime
from tests.waiting import PATIENCE_SECONDS, until


@pytest.fixture
def harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RuntimeHarness[FakeAdapter]]:
    """Two connections, each with a shard."""
    with running_runtime(tmp_path, monkeypatch, FakeAdapter, retry_seconds=0.0, state_seconds=PATIENCE_SECONDS) as made:
        yield made


def follow(harness: RuntimeHarness[FakeAdapter]) -> None:
    sections = {"a": AdapterSettings(), "b": AdapterSettings()}
    assert harness.follow(sections, [on("a", "web"), on("b", "jobs")]) is None


def shards(harness: RuntimeHarness[FakeAdapter]) -> dict[str, Any]:
    return {name.adapter: one for name, one in harness.runtime.running.items()}


def is_replaced(harness: RuntimeHarness[FakeAdapter], before: dict[str, Any], why: str) -> None:
    """Assert that the shard of `a` was begun anew, for this reason, and that of `b` was not."""
    now = shards(harness)
    assert now["a"] is not before["a"]
    assert now["a"].is_current()
    assert now["b"] is before["b"]
    ((_, _, keys),) = [line for line in harness.log.lines if line[1] == "shard_superseded"]
    assert why in keys["error"]
    assert harness.runtime.shards.once()
    assert harness.log.of("cycle_discarded") == []


def test_a_shard_whose_thread_has_ended_is_begun_anew(harness: RuntimeHarness[FakeAdapter]) -> None:
    """Nothing would scale its targets until a restart, while the watchdog is fed by the neighbours."""
    follow(harness)
    before = shards(harness)
    executor = harness.runtime.shards._executors[before["a"].name]
    executor.shutdown()
    until(lambda: not executor.alive(), "the end of its thread")
    harness.runtime.supervise()
    is_replaced(harness, before, "its thread has ended")


def test_a_shard_whose_epoch_is_over_is_begun_anew(harness: RuntimeHarness[FakeAdapter]) -> None:
    """A thread that was given up may begin the next epoch later. Every cycle of the shard would then be discarded."""
    follow(harness)
    before = shards(harness)
    harness.state.ledger("a")
    harness.runtime.supervise()
    is_replaced(harness, before, "a later epoch")


def test_an_epoch_that_ended_without_this_process_knowing_is_noticed(harness: RuntimeHarness[FakeAdapter]) -> None:
    """The commit that began it may have been given up, or its answer lost."""
    follow(harness)
    before = shards(harness)
    name, newest = before["a"].name, harness.state._context.newest
    known = newest[name]
    harness.state.ledger("a")
    newest[name] = known
    harness.runtime.shards.once()
    assert harness.log.events.count("cycle_discarded") == 1
    harness.log.lines.clear()
    harness.runtime.supervise()
    is_replaced(harness, before, "a later epoch")


def test_a_ledger_that_begins_late_is_used_and_ends_no_other(
    harness: RuntimeHarness[FakeAdapter], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A database that answers late must not get a second question: the first answer would end the second's epoch."""
    real, answer, asked = harness.state.ledger, threading.Event(), list[str]()

    def late(connection: str, number: int = 1, of: int = 1) -> Ledger:
        asked.append(connection)
        if connection == "a":
            assert answer.wait(PATIENCE_SECONDS)
        return real(connection, number, of)

    monkeypatch.setattr(harness.state, "ledger", late)
    monkeypatch.setattr(harness.runtime, "_state_seconds", 0.2)
    sections = {"a": AdapterSettings(), "b": AdapterSettings()}
    assert harness.follow(sections, [on("a", "web"), on("b", "jobs")]) is not None
    for _ in range(3):
        harness.runtime.supervise()
    assert "a" not in shards(harness)
    answer.set()
    until(lambda: harness.runtime.supervise() is None and len(shards(harness)) == 2, "both shards")
    assert sorted(asked) == ["a", "b"]
    assert all(one.is_current() for one in shards(harness).values())
    assert len(harness.built) - sum(adapter.closed for adapter in harness.built) == 2


def test_without_threads_a_shard_begins_later(
    harness: RuntimeHarness[FakeAdapter], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The adapter that was built is closed, and nothing is raised."""
    follow(harness)
    before = shards(harness)
    harness.state.ledger("a")
    real, allowed = threading.Thread.start, [2]

    def start(thread: threading.Thread) -> None:
        if not allowed[0]:
            raise RuntimeError("can't start new thread")
        allowed[0] -= 1
        real(thread)

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", start)
        for threads in range(4):  # for the adapter, the ledger, the shard
            allowed[0] = threads
            failure = harness.runtime.supervise()
            if threads < 3:
                assert "no thread could be started" in str(failure)
    until(lambda: harness.runtime.supervise() is None, "threads for all")
    now = shards(harness)
    assert now["a"].is_current()
    assert now["b"] is before["b"]


def test_a_report_that_fails_ends_no_shard(harness: RuntimeHarness[FakeAdapter]) -> None:
    """What observes a cycle must not end it."""
    follow(harness)
    shards(harness)["a"].shard._report = lambda batch: 1 / 0
    assert harness.runtime.shards.once()
    assert harness.log.events.count("report_failed") == 1
    assert harness.runtime.supervise() is None
