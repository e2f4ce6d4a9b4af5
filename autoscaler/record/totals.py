"""The sizes that a connection's autoscalers were last known to have, for what they may sum to."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from sqlalchemy import Connection, select

from autoscaler.model import Autoscaler
from autoscaler.record import schema
from autoscaler.record.entries import Key


class Totals(NamedTuple):
    """What `model.Standing` says of them."""

    sizes: Mapping[str, int]
    """Of the ledger's own autoscalers, by name."""
    others: int
    """What all others sum to."""


def read_totals(
    connection: Connection, name: str, mine: Collection[Key], configured: Mapping[Key, Autoscaler]
) -> Totals:
    """Of the adapter connection `name`. `mine`: the ledger's own; `configured`: this daemon's, those among them.

    Those that another daemon's configuration has count, too; those that nobody's has do not. One that was never read
    counts as its minimum; before its first cycle, when its size is there and only not known yet, as its maximum.
    """
    owner, memory, asked = schema.autoscaler, schema.memory, schema.follows.c
    followed = select(asked.name).where(asked.name == owner.c.name, asked.target == owner.c.target).exists()
    query = (
        select(owner.c.name, owner.c.target, memory.c.counted, followed.label("followed"))
        .join(memory, memory.c.autoscaler_id == owner.c.id)
        .where(owner.c.connection == name)
    )
    sizes = {key: scaler.max_replicas for key, scaler in configured.items() if scaler.target.adapter == name}
    for row in connection.execute(query):
        key = row.name, row.target
        if row.counted is not None and (key in sizes or row.followed):
            sizes[key] = row.counted
        elif key in sizes:
            sizes[key] = configured[key].min_replicas
    own = {key[0]: sizes.pop(key) for key in mine}
    return Totals(own, sum(sizes.values()))
