"""The last known sizes of a connection's autoscalers, for its `maxTotal`."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from sqlalchemy import Connection, select

from autoscaler.model import Autoscaler
from autoscaler.record import schema
from autoscaler.record.entries import Key


class Totals(NamedTuple):
    """The sizes that `model.Standing` holds."""

    sizes: Mapping[str, int]
    """Sizes of the ledger's autoscalers, by name."""
    others: int
    """Sum of all other autoscalers' sizes."""


def read_totals(
    connection: Connection, name: str, mine: Collection[Key], configured: Mapping[Key, Autoscaler]
) -> Totals:
    """Return the totals of the adapter connection `name`. `mine`: the ledger's autoscalers, also in `configured`.

    `configured`: this daemon's autoscalers. Autoscalers of other daemons' configurations count, too; others do not. An
    autoscaler counts as its maximum before its first cycle, and as its minimum if its target was never read.
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
