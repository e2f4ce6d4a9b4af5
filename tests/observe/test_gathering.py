"""Observations are made early when many samples are held."""

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import pytest

from autoscaler.model import Autoscaler, Call, TargetRef
from autoscaler.observe import observer
from autoscaler.observe.gathering import Gathering
from autoscaler.observe.targets import Connection
from tests.observe.build import FakeAdapter, state
from tests.observe.scripted import Answer, Shard, answered, fleet, scripted, well
from tests.waiting import until


def test_a_slow_adapter_makes_no_query_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """An observation that is made early would wait for the adapter, and the queries that are left with it."""
    asked = threading.Event()

    class Waiting(FakeAdapter):
        def observe(self, targets: Sequence[TargetRef], call: Call) -> Mapping[TargetRef, Any]:
            asked.wait(60)
            return super().observe(targets, call)

    def answer(groups: Sequence[str]) -> Answer:
        if "g119" in groups:
            asked.set()
        return answered(groups)

    monkeypatch.setattr(observer, "Gathering", partial(Gathering, most_held=10))
    with scripted() as server:
        server.answer = answer
        shard = Shard(server, fleet(120), merge_queries=False)
        adapter = Waiting({each.target: state() for each in shard.scalers})
        shard.connections = {"fleet": Connection("fleet", adapter, shard.clock, shard.log)}
        assert shard.values(seconds=60) == well(120)


def test_answers_are_dropped_once_no_autoscaler_needs_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """A million samples would be in memory until the last query is answered."""
    held, settle = list[int](), Gathering.settle
    reads = list[Callable[[], bool]]()

    def watched(self: Gathering, results: Any) -> None:
        settle(self, results)
        held.append(len(self._results))

    def gathering(scalers: Sequence[Autoscaler], complete: Any, targets_read: Callable[[], bool]) -> Gathering:
        reads.append(targets_read)
        return Gathering(scalers, complete, targets_read, most_held=10)

    def answer(groups: Sequence[str]) -> Answer:
        until(reads[0], "the targets are read")  # before that, no answer is dropped
        return answered(groups)

    monkeypatch.setattr(Gathering, "settle", watched)
    monkeypatch.setattr(observer, "Gathering", gathering)
    with scripted() as server:
        server.answer = answer
        shard = Shard(server, fleet(120), merge_queries=False)
        assert shard.values(seconds=60) == well(120)
    assert max(held) < 60
