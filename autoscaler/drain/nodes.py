"""Drains the nodes of instances through the adapters that can."""

from collections.abc import Mapping
from datetime import timedelta

from autoscaler.drain.attempt import ActionContext, Attempt
from autoscaler.errors import TargetUnavailable
from autoscaler.rules.drain import NodeDrainRule
from autoscaler.target import Adapter, NodeDrain


def drain(adapters: Mapping[str, Adapter], rule: NodeDrainRule, now: ActionContext) -> Attempt:
    """Begin or follow the drain of the instance's node. `adapters`: by connection. Raises TargetError."""
    adapter, waiting = adapters.get(rule.adapter), now.waiting
    if adapter is None or not adapter.implements("drain_node"):
        raise TargetUnavailable(f"adapter {rule.adapter!r} drains no nodes")
    deadline = min(rule.deadline, timedelta(seconds=max(1.0, now.seconds_left)))
    found = adapter.drain_node(waiting.instance, waiting.addresses, deadline, now.call)
    if found is NodeDrain.NO_NODE:
        return Attempt(done=True, detail=f"no single node of {rule.adapter} is this instance")
    return Attempt(done=found is NodeDrain.DONE, detail="" if found is NodeDrain.DONE else "its node drains")
