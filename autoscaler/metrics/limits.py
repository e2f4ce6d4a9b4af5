"""How far the limits are used that a connection's autoscalers share, as the last of its cycles found it."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from prometheus_client import CollectorRegistry, Gauge

from autoscaler.model import ConnectionLimits


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
            "removal_budget_left", "Instances that may still leave under the removalBudget, over all daemons."
        )
        self._total = gauge("total_size", "The sum of a connection's sizes, over all daemons; only with a maxTotal.")
        self._max_total = gauge("total_size_limit", "The connection's maxTotal.")
        self._used: dict[str, Used] = {}

    def configured(self, limits: Mapping[str, ConnectionLimits]) -> None:
        """These connections have limits now. What was said before is forgotten."""
        self._used = dict.fromkeys(limits, _NOTHING)
        for family in (self._removals_left, self._total, self._max_total):
            family.clear()
        for name, known in limits.items():
            if known.max_total is not None:
                self._max_total.labels(name).set(known.max_total)

    def cycle_ended(self, connection: str, used: Used) -> None:
        """A cycle of the connection ended, and found this."""
        if connection not in self._used or used == _NOTHING:
            return
        self._used[connection] = used
        if used.removals_left is not None:
            self._removals_left.labels(connection).set(used.removals_left)
        if used.total is not None:
            self._total.labels(connection).set(used.total)

    def used(self, connection: str) -> Used:
        """As its last cycle found it."""
        return self._used.get(connection, _NOTHING)
