"""Reads the recent sizes of many autoscalers in one query, for the small charts of a list."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from sqlalchemy import Connection, func, select

from autoscaler.errors import StateError
from autoscaler.record import schema
from autoscaler.record.binary import readable, unpack
from autoscaler.record.recording import COLUMNS_OF_A_DECISION
from autoscaler.record.series import size_from
from autoscaler.record.times import from_micros
from autoscaler.record.values import SizePoint

MOST_POINTS: Final = 40
"""Points of one autoscaler, more than its small chart can show."""


def recent_sizes(connection: Connection, names: Collection[str], since: int) -> Mapping[str, Sequence[SizePoint]]:
    """Return, by name, the size read at each change since a time (microseconds), and at the change before that.

    In order, at most the newest `MOST_POINTS` of each name. Leaves out a name with a damaged record.
    """
    owner, change, known = schema.autoscaler, schema.change, schema.change.alias("known")
    backwards = (
        select(known.c.number)
        .where(known.c.autoscaler_id == owner.c.id)
        .order_by(known.c.number.desc())
        .limit(1)
        .correlate(owner)
    )
    before = backwards.where(known.c.at < since).scalar_subquery()
    oldest = backwards.offset(MOST_POINTS - 1).scalar_subquery()
    query = (
        select(owner.c.name, change.c.at, change.c.body)
        .join(change, change.c.autoscaler_id == owner.c.id)
        .where(
            owner.c.name.in_(names),
            change.c.number >= func.coalesce(before, 0),
            change.c.number >= func.coalesce(oldest, 0),
        )
        .order_by(change.c.at)
    )
    found, damaged = dict[str, list[SizePoint]](), set[str]()
    for row in connection.execute(query):
        try:
            with readable(row.name):
                point = SizePoint(from_micros(row.at), size_from(COLUMNS_OF_A_DECISION.load(unpack(row.body))))
        except StateError:  # `Archive.record_at` raises the reason
            damaged.add(row.name)
        else:
            found.setdefault(row.name, []).append(point)
    return {name: points for name, points in found.items() if name not in damaged}
