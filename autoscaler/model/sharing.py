"""What the autoscalers of one connection share: how much may leave at a time, and what their sizes may sum to."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from autoscaler.model.target import TargetRef


@dataclass(frozen=True, slots=True)
class RemovalBudget:
    """What may leave in all of a connection's autoscalers together."""

    instances: int
    """At most so many units of size in each period; at least 1."""
    period: timedelta


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """What a connection's configuration sets for all of its autoscalers together."""

    removal_budget: RemovalBudget | None = None
    """None: as much may leave as each decides."""
    max_total: int | None = None
    """What their sizes may sum to; None: as much as each decides."""


class Removal(Struct, frozen=True, gc=False):
    """A scale-in that was intended, as the removal budget counts it."""

    name: str
    """The autoscaler's."""
    at: datetime
    """When it was intended."""
    instances: int
    """Units of size."""
    seq: int = 0
    """With the name, what the state knows it by."""


class LimitUsage(Struct, frozen=True):
    """How far a connection's limits are used."""

    connection: str = ""
    """The connection's name, for messages."""
    limits: ConnectionLimits = ConnectionLimits()
    removals: tuple[Removal, ...] = ()
    """Within the budget's period, in order of time; empty without a budget."""
    sizes: Mapping[str, int] = {}
    """The size known last of each autoscaler that this ledger has, by name; empty without `max_total`."""
    others: int = 0
    """What the sizes of the connection's other autoscalers sum to; 0 without `max_total`."""
    busy: frozenset[TargetRef] = frozenset()
    """Targets to which an earlier write is under way: nothing is written to them in this cycle."""


WITHOUT_LIMITS: Final = LimitUsage()
"""Of a connection that has none."""
