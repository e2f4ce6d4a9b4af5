"""The sizes that a connection's autoscalers were last known to have, for what they may sum to."""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import NamedTuple

from sqlalchemy import Connection, select

from autoscaler.record import schema
from autoscaler.record.entries import Key
from autoscaler.record.shares import NOBODY, Shares


class Totals(NamedTuple):
    """What `model.Standing` says of them."""

    sizes: Mapping[str, int]
    """Of the shard's own autoscalers, by name; one that was never read counts as its minimum."""
    others: Mapping[int, int]
    """What all others sum to, by the number of their share."""


def read_totals(
    connection: Connection, name: str, shares: Shares, minimums: Mapping[Key, int], configured: Collection[Key]
) -> Totals:
    """Of the adapter connection `name`. `minimums`: of the shard's own; `configured`: in this daemon's configuration.

    Those that another daemon's configuration has count, too; those that nobody's has do not.
    """
    owner, memory, intent, asked = schema.autoscaler, schema.memory, schema.intent, schema.follows.c
    followed = select(asked.name).where(asked.name == owner.c.name, asked.target == owner.c.target).exists()
    query = (
        select(owner.c.name, owner.c.target, owner.c.slot, memory.c.counted, intent.c.size, followed.label("followed"))
        .outerjoin(memory, memory.c.autoscaler_id == owner.c.id)
        .outerjoin(intent, intent.c.autoscaler_id == owner.c.id)
        .where(owner.c.connection == name)
    )
    sizes = {of: minimum for (of, _), minimum in minimums.items()}
    others = Counter[int]()
    for row in connection.execute(query):
        key, known = (row.name, row.target), [size for size in (row.counted, row.size) if size is not None]
        if not known:
            continue
        if key in minimums:
            sizes[row.name] = max(known)
        elif key in configured or row.followed:
            number = shares.number_of(row.slot)
            # a slot that this daemon has just taken, or is about to give back: no shard of it counts that
            others[NOBODY if number == shares.mine.number else number] += max(known)
    return Totals(sizes, others)
