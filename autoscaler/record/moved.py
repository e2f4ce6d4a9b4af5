"""Memories of a connection whose address changed: the same name and the same targets at another place.

An agent is added, an address gets another name, two hosts reach one cluster by different ways: windows, policies and
pending writes must outlast that. So what no autoscaler of the configuration scales any more goes to the autoscaler of
the same connection and target that has no memory.
"""

from collections.abc import Container, Mapping
from typing import Final

from sqlalchemy import Connection, bindparam, select, update

from autoscaler.record import schema
from autoscaler.record.kept import rename
from autoscaler.target.scaled import Scaled

_OWNER: Final = schema.autoscaler


def find_moved(
    connection: Connection, name: str, wanted: Mapping[Scaled, str], configured: Container[Scaled]
) -> Mapping[Scaled, Scaled]:
    """Return former text -> new text of what moved, of these autoscalers of an adapter connection.

    `wanted`: what each scales -> its target as text. `configured`: what all autoscalers of this daemon scale.
    """
    known = set[Scaled]()
    for some in schema.batches(wanted):
        known.update(connection.execute(select(_OWNER.c.scaled).where(_OWNER.c.scaled.in_(some))).scalars())
    missing = {target: scaled for scaled, target in wanted.items() if scaled not in known}
    found, c = dict[str, Scaled](), schema.known.c
    query = select(c.target, c.scaled).where(c.connection == name, c.seq > 0).order_by(c.at)
    for some in schema.batches(missing):
        for row in connection.execute(query.where(c.target.in_(some))):
            if row.scaled not in configured:
                found[row.target] = row.scaled  # of several, the newest
    return {former: missing[target] for target, former in found.items()}


def move(connection: Connection, moved: Mapping[Scaled, Scaled]) -> None:
    """Give everything that is known under the former texts to the new ones."""
    for kind in (schema.SIGHTING, schema.ADAPTER):
        rename(connection, kind, moved)
    mine = update(_OWNER).where(_OWNER.c.scaled == bindparam("former")).values(scaled=bindparam("new"))
    connection.execute(mine, [{"former": former, "new": new} for former, new in moved.items()])
