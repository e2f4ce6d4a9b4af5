"""Reads which daemons share a state on PostgreSQL, what each holds, and what its configuration asks for."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, and_, select

from autoscaler.model import ShardName
from autoscaler.record import schema
from autoscaler.record.member_rows import database_time
from autoscaler.record.shards import read_holders
from autoscaler.record.times import from_micros


@dataclass(frozen=True, slots=True)
class Member:
    """A daemon that shares the state. Times are by the database's clock."""

    id: str
    place: str
    """Host and process, to be displayed."""
    host: str
    version: str
    joined: datetime
    until: datetime
    """When its lease ends, unless it is renewed."""
    loaded: datetime | None
    """When its configuration was loaded; None if the daemon has not saved that yet."""


@dataclass(frozen=True, slots=True)
class Followed:
    """An autoscaler of a member's configuration."""

    shard: ShardName
    """Its shard by that configuration."""
    digest: str
    """Digest of its specification."""


@dataclass(frozen=True, slots=True)
class Ownership:
    """Which daemons share the state, and what each owns, as of one transaction."""

    now: datetime
    members: Sequence[Member]
    """Members whose leases are not over."""
    holders: Mapping[ShardName, str]
    """Shard -> id of the member that holds it."""
    follows: Mapping[str, Mapping[str, Followed]]
    """Member's id -> autoscaler's name -> its entry in the member's configuration."""
    claims: Mapping[str, ShardName]
    """Autoscaler's name -> the shard with its claim. No daemon scales an autoscaler without a claim."""


def read_ownership(connection: Connection) -> Ownership:
    """Return which daemons share the state now, and what each owns."""
    now = database_time(connection)
    members = _members(connection, now)
    follows: dict[str, dict[str, Followed]] = {each.id: {} for each in members}
    table = schema.follows
    for row in connection.execute(select(table).where(table.c.member.in_(follows))):
        shard = ShardName(row.connection, row.shard, row.shards)
        follows[row.member][row.name] = Followed(shard, row.digest)
    return Ownership(from_micros(now), members, read_holders(connection, follows), follows, _claims(connection))


def read_served(connection: Connection, names: Collection[str]) -> Mapping[str, Mapping[str, str]]:
    """Return served autoscaler's name -> target as text -> the host and process of the daemon that serves it.

    A daemon serves the autoscalers of its configuration whose shards it holds and whose claims these shards have.
    """
    follows, member, shard, serves = schema.follows, schema.member, schema.shard, schema.serves
    own = and_(*[shard.c[key] == follows.c[key] for key in ("connection", "shards", "shard")])
    claimed = and_(schema.IN_FORCE, serves.c.kind == schema.NAME, serves.c.key == follows.c.name)
    query = (
        select(follows.c.name, follows.c.target, member.c.place)
        .join(shard, and_(own, shard.c.holder == follows.c.member))
        .join(serves, claimed)
        .join(member, member.c.id == follows.c.member)
        .where(member.c.renewed + member.c.duration > database_time(connection))
    )
    if (some := schema.few(names)) is not None:
        query = query.where(follows.c.name.in_(some))
    found: dict[str, dict[str, str]] = {}
    for row in connection.execute(query):
        found.setdefault(row.name, {})[row.target] = row.place
    return found


def _claims(connection: Connection) -> Mapping[str, ShardName]:
    shard, serves = schema.shard, schema.serves
    query = select(serves.c.key, shard.c.connection, shard.c.shard, shard.c.shards)
    found = connection.execute(query.join(shard, schema.IN_FORCE).where(serves.c.kind == schema.NAME))
    return {name: ShardName(*key) for name, *key in found}


def _members(connection: Connection, now: int) -> Sequence[Member]:
    table = schema.member
    stands = table.c.renewed + table.c.duration > now
    return [
        Member(
            id=row.id,
            place=row.place,
            host=row.host,
            version=row.version,
            joined=from_micros(row.joined),
            until=from_micros(row.renewed + row.duration),
            loaded=None if row.loaded is None else from_micros(row.loaded),
        )
        for row in connection.execute(select(table).where(stands).order_by(table.c.place, table.c.id))
    ]
