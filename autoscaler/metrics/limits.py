"""The use of the limits that a connection's autoscalers share, after its last cycle."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from prometheus_client import CollectorRegistry, Gauge

from autoscaler.model import ConnectionLimits


class Used(NamedTuple):
    """Limits of one connection. None: no such limit, or no cycle since the configuration was loaded."""

    removals_left: int | None = None
    """Instances that may still be removed within the removal budget."""
    total: int | None = None
    """Sum of the sizes of its autoscalers."""


_NOTHING: Final = Used()


class LimitsInUse:
    """The limits in use of all connections. Any thread may call it."""

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
        """Follow the connections that have limits. Earlier values are forgotten."""
        self._used = dict.fromkeys(limits, _NOTHING)
        for family in (self._removals_left, self._total, self._max_total):
            family.clear()
        for name, known in limits.items():
            if known.max_total is not None:
                self._max_total.labels(name).set(known.max_total)

    def cycle_ended(self, connection: str, used: Used) -> None:
        """Note the values of a cycle that ended."""
        if connection not in self._used or used == _NOTHING:
            return
        self._used[connection] = used
        if used.removals_left is not None:
            self._removals_left.labels(connection).set(used.removals_left)
        if used.total is not None:
            self._total.labels(connection).set(used.total)

    def used(self, connection: str) -> Used:
        """Return the values of the last cycle."""
        return self._used.get(connection, _NOTHING)
