"""The daemons that share a state on PostgreSQL: the leader, and the standbys that are connected.

Each daemon's sessions bear its name, and the session in which it watches the lease holds a lock in shared mode. So the
database knows at any time which daemons stand by, without a row of theirs that could be out of date.
"""

import os
import socket
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import uuid4

from sqlalchemy import Connection, select, text

from autoscaler.record import schema
from autoscaler.record.locks import KEY
from autoscaler.record.times import from_micros

_PROCESS: Final = 16
"""Characters at the beginning of a generation that identify its process."""
_SESSIONS: Final = "autoscaler "
_LONGEST_NAME: Final = 63
"""Bytes of a session's name that PostgreSQL keeps (NAMEDATALEN)."""
_PRESENT: Final = "present"
"""Key of a session's `info`: that it holds the lock of this name."""
NOW: Final = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
"""SQL: the database's time in microseconds, which also advances within a transaction."""


@dataclass(frozen=True, slots=True)
class Leader:
    """The daemon that leads. Times are by the database's clock, except `loaded`, by the leader's own."""

    name: str
    """Host and process, to be displayed."""
    host: str
    version: str
    since: datetime
    until: datetime
    """When its lease ends, unless it is renewed."""
    loaded: datetime | None
    """When its configuration was loaded; None: it has not saved that yet."""
    digest: str | None
    """Digest of that configuration."""


@dataclass(frozen=True, slots=True)
class Daemons:
    """The daemons that share the state, as of one transaction."""

    now: datetime
    """The database's time."""
    leader: Leader | None
    """None: no daemon leads."""
    standbys: tuple[str, ...]
    """Host and process of each connected daemon that does not lead, sorted."""


def database_time(connection: Connection) -> int:
    """Return the database's time in microseconds since 1970."""
    now: int = connection.execute(text(f"SELECT {NOW}")).scalar_one()
    return now


def new_process() -> str:
    """Return the common beginning of the generations of one process, one after another."""
    return uuid4().hex[:_PROCESS]


def process_of(generation: str) -> str:
    """Return the process of this generation, as `new_process` returned it."""
    return generation[:_PROCESS]


def sessions_of(process: str) -> str:
    """Return the application_name of a process' sessions, which shows others whose they are."""
    name = f"{_SESSIONS}{process} {socket.gethostname()}, pid {os.getpid()}"
    return name.encode()[:_LONGEST_NAME].decode(errors="ignore")


def be_present(connection: Connection) -> None:
    """Let other daemons see this one for as long as this session lasts."""
    if _PRESENT not in connection.info:
        connection.execute(text(f"SELECT pg_advisory_lock_shared({KEY})"), {"lock": _PRESENT})
        connection.info[_PRESENT] = True


def others_present(connection: Connection, process: str) -> list[str]:
    """Return host and process of each connected daemon but that of `process`, sorted."""
    return sorted(name for other, name in _present(connection).items() if other != process)


def end_sessions(connection: Connection, process: str) -> None:
    """End the sessions in which this process has transactions.

    A process that was stopped in a transaction, or whose host is gone, would keep its locks. PostgreSQL's own time-outs
    do not end a session that has sent a part of a command.
    """
    connection.execute(
        text(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE xact_start IS NOT NULL AND application_name LIKE :name"
        ),
        {"name": f"{_SESSIONS}{process}%"},
    )


def read_leader(connection: Connection) -> Leader | None:
    """Return the daemon that leads now; None if none does."""
    table = schema.lease
    led = table.c.holder.is_not(None) & (table.c.renewed + table.c.duration > database_time(connection))
    row = connection.execute(select(table).where(led)).one_or_none()
    if row is None:
        return None
    return Leader(
        name=row.place,
        host=row.host,
        version=row.version,
        since=from_micros(row.taken),
        until=from_micros(row.renewed + row.duration),
        loaded=None if row.loaded is None else from_micros(row.loaded),
        digest=row.digest,
    )


def read_daemons(connection: Connection) -> Daemons:
    """Return the daemons that share the state now."""
    holder = connection.execute(select(schema.lease.c.holder)).scalar_one()
    standbys = others_present(connection, "" if holder is None else process_of(holder))
    return Daemons(from_micros(database_time(connection)), read_leader(connection), tuple(standbys))


def _present(connection: Connection) -> dict[str, str]:
    """Return process -> host and process id, as they are displayed, of each connected daemon."""
    found = connection.execute(
        text(
            "SELECT DISTINCT session.application_name FROM pg_locks AS held "  # noqa: S608 - constants
            "JOIN pg_stat_activity AS session ON session.pid = held.pid "
            "WHERE held.locktype = 'advisory' AND held.granted AND held.objsubid = 1 "
            "AND session.datname = current_database() "
            f"AND ((held.classid::bigint << 32) | held.objid::bigint) = {KEY}"
        ),
        {"lock": _PRESENT},
    ).scalars()
    names = [name.removeprefix(_SESSIONS) for name in found if name.startswith(_SESSIONS)]
    return {process_of(name): name[_PROCESS:].strip() for name in names}
