"""An observation that ends long after its cycle."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from autoscaler.errors import LateError
from autoscaler.model import Call, TargetRef
from autoscaler.observe.targets import Connection
from tests.observe.build import FakeAdapter, state
from tests.observe.scripted import Shard, fleet, scripted


@contextmanager
def shard_with_an_adapter_that_takes(seconds: float) -> Iterator[Shard]:
    """Return a shard whose clock advances while the adapter is asked, and not otherwise."""

    class Slow(FakeAdapter):
        def observe(self, targets: Sequence[TargetRef], call: Call) -> Mapping[TargetRef, Any]:
            shard.clock.seconds += seconds
            return super().observe(targets, call)

    with scripted() as server:
        shard = Shard(server, fleet(1))
        shard.clock.stands_at = shard.clock.monotonic()
        adapter = Slow({each.target: state() for each in shard.scalers})
        shard.connections = {"fleet": Connection("fleet", adapter, shard.clock, shard.log)}
        yield shard


def test_an_old_observation_is_not_used() -> None:
    """A machine that was suspended for an hour must not scale on an hour-old observation."""
    with (
        shard_with_an_adapter_that_takes(3600) as shard,
        pytest.raises(LateError, match=r"^observed 3570 s after the deadline; nothing was decided from it$"),
    ):
        shard.look(seconds=30)


def test_the_time_that_observing_takes_is_measured() -> None:
    """The log event `cycle_ended` has it as `observing_seconds`."""
    with shard_with_an_adapter_that_takes(3) as shard:
        assert shard.observe().seconds == pytest.approx(3)
