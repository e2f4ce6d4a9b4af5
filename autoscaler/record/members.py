"""PostgreSQL, for readers: which daemons share the state, what each holds, and what its configuration asks for."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, and_, select

from autoscaler.record import schema
from autoscaler.record.leases import database_time
from autoscaler.record.sharing import Place
from autoscaler.record.times import from_micros


@dataclass(frozen=True, slots=True)
class Member:
    """A daemon that shares the state. Times are the database's."""

    id: str
    place: str
    """Host and process, for people."""
    host: str
    version: str
    joined: datetime
    until: datetime
    """When its lease ends."""
    loaded: datetime | None
    """When its configuration was loaded; None: it has not said yet."""


@dataclass(frozen=True, slots=True)
class Followed:
    """An autoscaler of a member's configuration."""

    place: Place
    """The connection and the slot that it falls into."""
    digest: str
    """Of its specification."""


@dataclass(frozen=True, slots=True)
class Sharing:
    """All of it, as one transaction saw it."""

    now: datetime
    members: Sequence[Member]
    """Those whose lease is not over."""
    holders: Mapping[Place, str]
    """Slots that a member holds -> its id."""
    follows: Mapping[str, Mapping[str, Followed]]
    """Member's id -> autoscaler's name -> what its configuration says of it."""


def read_sharing(connection: Connection) -> Sharing:
    """Who shares the state now."""
    now = database_time(connection)
    members = _members(connection, now)
    follows: dict[str, dict[str, Followed]] = {each.id: {} for each in members}
    table = schema.follows
    query = select(table.c.member, table.c.name, table.c.connection, table.c.slot, table.c.digest)
    for row in connection.execute(query.where(table.c.member.in_(follows))):
        follows[row.member][row.name] = Followed((row.connection, row.slot), row.digest)
    return Sharing(from_micros(now), members, _holders(connection, members), follows)


def read_served(connection: Connection, names: Collection[str]) -> Mapping[str, Mapping[Place, str]]:
    """Those of these autoscalers that some daemon serves -> where that is -> its host and process.

    It serves what its own configuration has in the slots that it holds; while configurations differ, two may serve two
    targets under one name.
    """
    follows, member, slot = schema.follows, schema.member, schema.slot
    own = and_(slot.c.connection == follows.c.connection, slot.c.slot == follows.c.slot)
    query = (
        select(follows.c.name, follows.c.connection, follows.c.slot, member.c.place)
        .join(slot, and_(own, slot.c.holder == follows.c.member))
        .join(member, member.c.id == follows.c.member)
        .where(member.c.until > database_time(connection))
    )
    if (some := schema.few(names)) is not None:
        query = query.where(follows.c.name.in_(some))
    found: dict[str, dict[Place, str]] = {}
    for row in connection.execute(query):
        found.setdefault(row.name, {})[row.connection, row.slot] = row.place
    return found


def _members(connection: Connection, now: int) -> Sequence[Member]:
    table = schema.member
    return [
        Member(
            id=row.id,
            place=row.place,
            host=row.host,
            version=row.version,
            joined=from_micros(row.joined),
            until=from_micros(row.until),
            loaded=None if row.loaded is None else from_micros(row.loaded),
        )
        for row in connection.execute(select(table).where(table.c.until > now).order_by(table.c.place, table.c.id))
    ]


def _holders(connection: Connection, members: Sequence[Member]) -> Mapping[Place, str]:
    table = schema.slot
    query = select(table.c.connection, table.c.slot, table.c.holder)
    mine = query.where(table.c.holder.in_([each.id for each in members]))
    return {(row.connection, row.slot): row.holder for row in connection.execute(mine)}
