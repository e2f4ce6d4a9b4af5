"""The use of the limits that a connection's autoscalers share, after its last cycle."""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from prometheus_client import CollectorRegistry, Metric

from autoscaler.metrics.families import gauge, show
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
        self._limits: Mapping[str, ConnectionLimits] = {}
        self._used: dict[str, Used] = {}
        show(registry, self._collect)

    def configured(self, limits: Mapping[str, ConnectionLimits]) -> None:
        """Set the limits by connection, and forget the values of earlier cycles."""
        self._limits, self._used = limits, {}

    def cycle_ended(self, connection: str, used: Used) -> None:
        """Replace the values of a connection by those at the end of a cycle. Ignores connections without limits."""
        if connection in self._limits and used != _NOTHING:
            self._used[connection] = used

    def used(self, connection: str) -> Used:
        """Return the values of the connection's last cycle; None in both: it had none."""
        return self._used.get(connection, _NOTHING)

    def _collect(self) -> Iterator[Metric]:
        used = self._used.copy()
        text = "Instances that may still leave under the removalBudget, over all daemons."
        left = {name: each.removals_left for name, each in used.items() if each.removals_left is not None}
        yield gauge("removal_budget_left", text, left, "adapter")
        text = "The sum of a connection's sizes, over all daemons; only with a maxTotal."
        total = {name: each.total for name, each in used.items() if each.total is not None}
        yield gauge("total_size", text, total, "adapter")
        limits = {name: each.max_total for name, each in self._limits.items() if each.max_total is not None}
        yield gauge("total_size_limit", "The connection's maxTotal.", limits, "adapter")
