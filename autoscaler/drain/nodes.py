"""Drains the nodes of instances through the adapters that can."""

import threading
from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from autoscaler.clock import Clock
from autoscaler.drain.attempt import Attempt, Circumstances
from autoscaler.errors import TargetUnavailable
from autoscaler.model import NodeDrainRule
from autoscaler.target import DrainsNodes, NodeDrain


class Nodes:
    """The adapters whose back ends have the nodes, by connection. Each is called by one thread at a time."""

    def __init__(self, adapters: Mapping[str, object], clock: Clock) -> None:
        self._clock: Final = clock
        self._adapters: Final = {name: (adapter, threading.Lock()) for name, adapter in adapters.items()}

    def drain(self, rule: NodeDrainRule, now: Circumstances) -> Attempt:
        """Begin or follow the drain of the instance's node. Raises TargetError."""
        adapter, lock = self._adapters[rule.adapter]
        waiting, deadline = now.waiting, min(rule.deadline, timedelta(seconds=max(1.0, now.seconds_left)))
        if not isinstance(adapter, DrainsNodes):
            raise TargetUnavailable(f"adapter {rule.adapter!r} drains no nodes")
        if not lock.acquire(timeout=max(0.0, now.call.deadline - self._clock.monotonic())):
            raise TargetUnavailable(f"adapter {rule.adapter!r} is still busy with the node of another instance")
        try:
            found: object = adapter.drain_node(waiting.instance, waiting.addresses, deadline, now.call)
        finally:
            lock.release()
        if found is NodeDrain.NO_NODE:
            return Attempt(done=True, detail=f"no single node of {rule.adapter} is this instance")
        return Attempt(done=found is NodeDrain.DONE, detail="" if found is NodeDrain.DONE else "its node drains")
