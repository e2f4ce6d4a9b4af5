"""PostgreSQL: whose state it is. Two daemons on one database would each scale the same targets.

A row that its owner renews, by the database's clock; whoever finds it renewed lately is refused. A daemon that loses
it (it was stopped for longer than the row holds, and another came) is fenced off by the epochs that the other began.
"""

import os
import socket
import uuid
from typing import Final

from sqlalchemy import Connection, delete, func, select, text, update

from autoscaler.errors import StaleLedger, StateError
from autoscaler.record import schema
from autoscaler.record.database import Database, place

HELD_SECONDS: Final = 30
"""How long a row keeps others off that its owner has not renewed."""


class Claim:
    """This process's claim on a state."""

    def __init__(self, database: Database) -> None:
        """Claims it. Raises StateError where another daemon holds it."""
        self._database = database
        self._holder: Final = uuid.uuid4().hex
        with database.writing() as connection:
            # two that begin at once would both find no row to lock
            connection.execute(text(f"LOCK TABLE {schema.owner.name} IN EXCLUSIVE MODE"))
            now = _now(connection)
            found = connection.execute(select(schema.owner)).one_or_none()
            if found is not None and found.until > now:
                raise StateError(
                    f"{place(database.url)} is in use by another daemon ({found.place}); stop that one, or give this "
                    f"one a state of its own (state.url). One that was killed lets go after {HELD_SECONDS} s"
                )
            here = f"{socket.gethostname()}, pid {os.getpid()}"
            row = {"id": 1, "holder": self._holder, "place": here, "until": now + HELD_SECONDS * 1_000_000}
            schema.upsert(connection, schema.owner, [row])

    def renew(self) -> None:
        """Hold it for HELD_SECONDS from now. Raises StateError, and StaleLedger when another daemon has taken it."""
        with self._database.writing() as connection:
            until = _now(connection) + HELD_SECONDS * 1_000_000
            mine = schema.owner.c.holder == self._holder
            if connection.execute(update(schema.owner).where(mine).values(until=until)).rowcount == 0:
                raise StaleLedger(
                    f"{place(self._database.url)} was taken over by another daemon, because this one did not renew its "
                    f"claim for {HELD_SECONDS} s; this one scales nothing any more: stop one of the two"
                )

    def release(self) -> None:
        """Let another daemon have it at once. Raises StateError."""
        with self._database.writing() as connection:
            connection.execute(delete(schema.owner).where(schema.owner.c.holder == self._holder))


def _now(connection: Connection) -> int:
    """The database's time in microseconds."""
    return int(connection.execute(select(func.extract("epoch", func.clock_timestamp()))).scalar_one() * 1_000_000)
