"""Memories of a connection whose address changed: the same name and the same targets at another place.

An agent is added, an address gets another name, two hosts reach one cluster by different ways: windows, policies and
pending writes must outlast that. So what no autoscaler of the configuration scales any more goes to the autoscaler of
the same connection and target that has no memory.
"""

from collections.abc import Collection, Container, Mapping
from typing import Final

from sqlalchemy import Connection, bindparam, select, update

from autoscaler.record import schema
from autoscaler.record.kept import rename
from autoscaler.target.scaled import Scaled, without_place

_OWNER: Final = schema.autoscaler


def find_moved(
    connection: Connection, name: str, wanted: Collection[Scaled], configured: Container[Scaled]
) -> Mapping[Scaled, Scaled]:
    """Return former text -> new text of what moved, of these autoscalers of an adapter connection.

    `wanted`: what they scale. `configured`: what all autoscalers of this daemon scale. The configuration with the new
    address may write a target in another way, such as with its namespace.
    """
    known = set[Scaled]()
    for some in schema.batches(wanted):
        known.update(connection.execute(select(_OWNER.c.scaled).where(_OWNER.c.scaled.in_(some))).scalars())
    missing = {without_place(scaled): scaled for scaled in wanted if scaled not in known}
    if not missing:
        return {}
    found, c = dict[Scaled, Scaled](), schema.known.c
    query = select(c.scaled).where(c.connection == name, c.seq > 0).order_by(c.at)
    for former in connection.execute(query).scalars():
        new = missing.get(without_place(former))
        if new is not None and former not in configured:
            found[new] = former  # of several, the newest
    return {former: new for new, former in found.items()}


def move(connection: Connection, moved: Mapping[Scaled, Scaled]) -> None:
    """Give everything that is known under the former texts to the new ones."""
    for kind in (schema.SIGHTING, schema.ADAPTER):
        rename(connection, kind, moved)
    mine = update(_OWNER).where(_OWNER.c.scaled == bindparam("former")).values(scaled=bindparam("new"))
    connection.execute(mine, [{"former": former, "new": new} for former, new in moved.items()])
