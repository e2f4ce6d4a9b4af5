"""How far the limits are used that a connection's autoscalers share: the sum of what its lanes say."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from prometheus_client import CollectorRegistry, Gauge

from autoscaler.model import ConnectionLimits, LaneName


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
        self._lanes: dict[str, Mapping[LaneName, Used]] = {}

    def configured(self, limits: Mapping[str, ConnectionLimits]) -> None:
        """These connections have limits now. What lanes of before said is forgotten."""
        self._lanes = {name: {} for name in limits}
        for family in (self._removals_left, self._total, self._max_total):
            family.clear()
        for name, known in limits.items():
            if known.max_total is not None:
                self._max_total.labels(name).set(known.max_total)

    def cycle_ended(self, lane: LaneName, used: Used) -> None:
        """A lane's cycle ended, and this is its part."""
        before = self._lanes.get(lane.adapter)
        if before is None or used == _NOTHING:
            return
        others = {name: known for name, known in before.items() if name.of == lane.of}
        self._lanes[lane.adapter] = {**others, lane: used}
        now = self.used(lane.adapter)
        if now.removals_left is not None:
            self._removals_left.labels(lane.adapter).set(now.removals_left)
        if now.total is not None:
            self._total.labels(lane.adapter).set(now.total)

    def used(self, connection: str) -> Used:
        """All of its lanes together."""
        lanes = self._lanes.get(connection, {}).values()
        left = [one.removals_left for one in lanes if one.removals_left is not None]
        totals = [one.total for one in lanes if one.total is not None]
        return Used(sum(left) if left else None, sum(totals) if totals else None)
