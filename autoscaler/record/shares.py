"""Whose part of a connection's limits a slot uses: its shard's, and on PostgreSQL that of the daemon that holds it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, select

from autoscaler.model import Share
from autoscaler.record import schema
from autoscaler.record.leases import database_time

NOBODY: Final = -1
"""Number of the share of what no daemon serves: it has no part, and whatever is used there is beyond it."""


@dataclass(frozen=True, slots=True)
class Shares:
    """Of one adapter connection, as one of its shards sees them."""

    shard: Share
    """Which of its daemon's shards it is."""
    ranks: Mapping[int, int] | None = None
    """Slot -> place of the daemon that holds it, among those that hold any; None: there is one daemon."""
    rank: int = 0
    """This daemon's place; NOBODY: it holds none of them any more."""

    @property
    def mine(self) -> Share:
        """The shard's share."""
        if self.ranks is None:
            return self.shard
        daemons = max(1, len(set(self.ranks.values())))
        return Share(self._number(self.rank, self.shard.number), daemons * self.shard.of)

    def number_of(self, slot: int) -> int:
        """Of the share that a slot's autoscalers use."""
        rank = 0 if self.ranks is None else self.ranks.get(slot, NOBODY)
        return self._number(rank, slot % self.shard.of)

    def _number(self, rank: int, shard: int) -> int:
        return NOBODY if rank == NOBODY else rank * self.shard.of + shard


def read_shares(connection: Connection, name: str, shard: Share, member: str | None) -> Shares:
    """Those of the adapter connection `name`, by who holds its slots now; `member`: this daemon, where several are.

    Daemons that hold none of its slots have no part: they have nothing there to scale.
    """
    table, members = schema.slot, schema.member
    query = (
        select(table.c.slot, table.c.holder)
        .join(members, members.c.id == table.c.holder)
        .where(table.c.connection == name, members.c.until > database_time(connection))
    )
    holders = {row.slot: row.holder for row in connection.execute(query)}
    ranks = {holder: rank for rank, holder in enumerate(sorted(set(holders.values())))}
    mine = NOBODY if member is None else ranks.get(member, NOBODY)
    return Shares(shard, {slot: ranks[holder] for slot, holder in holders.items()}, mine)
