"""What the autoscalers of one connection share: how much may leave at a time, and what their sizes may sum to."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct


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


@dataclass(frozen=True, slots=True)
class Share:
    """Which part of a connection's limits is whose: they are divided once for each shard of each daemon."""

    number: int = 0
    """From 0; below: it has no part."""
    of: int = 1
    """How many shares there are."""

    def part(self, whole: int, number: int | None = None, turn: int = 0) -> int:
        """Of `whole`, by integer division, the rest to the first; all shares' parts together are `whole`.

        `number`: of another share; one that there is not has nothing. `turn`: from which share on the rest is given.
        """
        place = self.number if number is None else number
        if not 0 <= place < self.of:
            return 0
        return whole // self.of + ((place - turn) % self.of < whole % self.of)


class Removal(Struct, frozen=True, gc=False):
    """A scale-in that was intended, as the removal budget counts it."""

    name: str
    """The autoscaler's."""
    at: datetime
    """When it was intended."""
    instances: int
    """Units of size."""
    share: int
    """Number of the share that the autoscaler falls into; below 0: no daemon serves it."""


class Standing(Struct, frozen=True):
    """How a connection's limits stand at the beginning of a cycle, as one share sees it."""

    connection: str = ""
    """The connection's name, for messages."""
    limits: ConnectionLimits = ConnectionLimits()
    """The whole connection's."""
    share: Share = Share()
    removals: tuple[Removal, ...] = ()
    """The whole connection's within the budget's period, in order of time; empty without a budget."""
    sizes: Mapping[str, int] = {}
    """Of each autoscaler of this share, by name, the size known last; empty without `max_total`."""
    totals: Mapping[int, int] = {}
    """What the sizes of each other share's autoscalers sum to, by its number, below 0 what no daemon serves; empty
    without `max_total`."""


WITHOUT_LIMITS: Final = Standing()
"""Of a connection that has none."""
