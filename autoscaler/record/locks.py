"""PostgreSQL: locks that members wait for, each held until its transaction ends."""

from enum import Enum

from sqlalchemy import Connection, text


class Lock(Enum):
    """What one transaction at a time does, in all members of a state."""

    OPENING = "opening"
    """To make the tables."""
    SHARING = "sharing"
    """To join, to leave, to take shards and to give them back; and to restore a backup."""
    CLAIMS = "claims"
    """To claim what a shard scales, and to release it."""
    HOUSEKEEPING = "housekeeping"
    LIMITS = "limits"
    """To use what is left of the limits of an adapter connection."""


def wait_for(connection: Connection, lock: Lock, of: str = "") -> None:
    """Have the lock; `of`: of this adapter connection. On SQLite every transaction that writes is the only one."""
    if connection.dialect.name == "postgresql":
        named = f"{lock.value} {of}" if of else lock.value
        connection.execute(text(f"SELECT pg_advisory_xact_lock({KEY})"), {"lock": named})


def is_free(connection: Connection, lock: Lock) -> bool:
    """Have the lock, unless another transaction has it. Returns whether."""
    if connection.dialect.name != "postgresql":
        return True
    query = text(f"SELECT pg_try_advisory_xact_lock({KEY})")
    return bool(connection.execute(query, {"lock": lock.value}).scalar_one())


KEY = "hashtextextended(current_schema() || ' autoscaler ' || :lock, 0)"
"""Such locks are of the whole database, a state is of a schema."""
