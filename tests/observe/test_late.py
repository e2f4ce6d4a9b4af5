"""An observation that ends long after its cycle."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from autoscaler.errors import LateError
from autoscaler.model import Call, TargetRef
from autoscaler.observe import Connection
from tests.observe.build import FakeAdapter, state
from tests.observe.scripted import Shard, fleet, scripted


def test_an_old_observation_is_not_used() -> None:
    """A machine that was suspended for an hour must not scale on an hour-old observation."""

    class Sleeping(FakeAdapter):
        def observe(self, targets: Sequence[TargetRef], call: Call) -> Mapping[TargetRef, Any]:
            shard.clock.seconds += 3600
            return super().observe(targets, call)

    with scripted() as server:
        shard = Shard(server, fleet(1))
        adapter = Sleeping({each.target: state() for each in shard.scalers})
        shard.connections = {"fleet": Connection("fleet", adapter, shard.clock, shard.log)}
        with pytest.raises(LateError, match=r"^observed 35\d\d s after the deadline; nothing was decided from it$"):
            shard.look()
