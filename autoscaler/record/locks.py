"""PostgreSQL's advisory locks of a state, each held until its transaction ends."""

from enum import Enum

from sqlalchemy import Connection, text


class Lock(Enum):
    """A task that only one transaction of a state does at a time."""

    OPENING = "opening"
    """Create the tables."""
    HOUSEKEEPING = "housekeeping"
    LIMITS = "limits"
    """Check the limits of an adapter connection and count towards them."""


def wait_for(connection: Connection, lock: Lock, of: str = "") -> None:
    """Wait for the lock, and hold it until the transaction ends. `of`: the adapter connection that it is for.

    On SQLite this does nothing, because only one transaction writes at a time.
    """
    if connection.dialect.name == "postgresql":
        named = f"{lock.value} {of}" if of else lock.value
        connection.execute(text(f"SELECT pg_advisory_xact_lock({KEY})"), {"lock": named})


def is_free(connection: Connection, lock: Lock) -> bool:
    """Take the lock unless another transaction has it. Returns whether it was taken."""
    if connection.dialect.name != "postgresql":
        return True
    query = text(f"SELECT pg_try_advisory_xact_lock({KEY})")
    return bool(connection.execute(query, {"lock": lock.value}).scalar_one())


KEY = "hashtextextended(current_schema() || ' autoscaler ' || :lock, 0)"
"""The schema is a part of the key, because advisory locks belong to the whole database."""
