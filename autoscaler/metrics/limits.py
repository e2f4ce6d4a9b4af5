"""How far the limits are used that a connection's autoscalers share: the sum of what its shards say."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from prometheus_client import CollectorRegistry, Gauge

from autoscaler.model import ConnectionLimits, ShardName


class Used(NamedTuple):
    """Of one connection. None: it has no such limit, or no cycle has ended since the configuration was taken up."""

    removals_left: int | None = None
    """What may still leave under its removal budget."""
    total: int | None = None
    """What the sizes of its autoscalers sum to."""


_NOTHING: Final = Used()


class LimitsInUse:
    """Any thread may call it."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Registers its metrics with `registry`."""

        def gauge(name: str, text: str) -> Gauge:
            return Gauge(f"autoscaler_{name}", text, ("adapter",), registry=registry)

        self._removals_left = gauge(
            "removal_budget_left", "Instances that may still leave under the connection's removalBudget."
        )
        self._total = gauge("total_size", "What the sizes of a connection sum to that has a maxTotal.")
        self._max_total = gauge("total_size_limit", "The connection's maxTotal.")
        self._shards: dict[str, Mapping[ShardName, Used]] = {}

    def configured(self, limits: Mapping[str, ConnectionLimits]) -> None:
        """These connections have limits now. What shards of before said is forgotten."""
        self._shards = {name: {} for name in limits}
        for family in (self._removals_left, self._total, self._max_total):
            family.clear()
        for name, known in limits.items():
            if known.max_total is not None:
                self._max_total.labels(name).set(known.max_total)

    def cycle_ended(self, shard: ShardName, used: Used) -> None:
        """A shard's cycle ended, and this is its part."""
        before = self._shards.get(shard.adapter)
        if before is None or used == _NOTHING:
            return
        others = {name: known for name, known in before.items() if name.of == shard.of}
        self._shards[shard.adapter] = {**others, shard: used}
        now = self.used(shard.adapter)
        if now.removals_left is not None:
            self._removals_left.labels(shard.adapter).set(now.removals_left)
        if now.total is not None:
            self._total.labels(shard.adapter).set(now.total)

    def used(self, connection: str) -> Used:
        """All of its shards together."""
        shards = self._shards.get(connection, {}).values()
        left = [one.removals_left for one in shards if one.removals_left is not None]
        totals = [one.total for one in shards if one.total is not None]
        return Used(sum(left) if left else None, sum(totals) if totals else None)
