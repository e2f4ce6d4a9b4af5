"""Deletes one autoscaler from the state, for `autoscaler forget`."""

from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from sqlalchemy import URL, Connection, select

from autoscaler.errors import StateError
from autoscaler.model import TargetRef
from autoscaler.moment import Moment
from autoscaler.record import database as databases
from autoscaler.record import schema, versions
from autoscaler.record.ages import age_of, read_database_time
from autoscaler.record.daemons import read_leader
from autoscaler.record.database import Database, lock_file, opened
from autoscaler.record.entries import SPEC
from autoscaler.record.housekeeping import delete_all_of
from autoscaler.record.locks import Lock, wait_for
from autoscaler.record.targets import target_from

_PERIODS: Final = 4
"""Sync periods without a decision after which an autoscaler counts as not served by a daemon that runs."""
_LEAST: Final = timedelta(minutes=1)


def forget(url: str | None, state_dir: Path, name: str, moment: Moment) -> Sequence[TargetRef]:
    """Delete everything about an autoscaler, its history included. `moment`: now, on this machine.

    Returns the targets that it had. Raises StateError, also if a daemon serves it or the state does not know it. A
    daemon serves it if it runs and has decided about it lately.
    """
    where = databases.locate(url, state_dir)
    with opened(where, read_only=True) as connection:
        versions.require_state(connection, databases.place(where))
    with ExitStack() as leaving:
        unused = where.get_backend_name() == "sqlite" and _is_unused(where, leaving)
        database = Database(where)
        leaving.callback(database.close)
        with database.writing() as connection:
            wait_for(connection, Lock.HOUSEKEEPING)
            daemon = None if unused else _daemon(connection)
            c = schema.known.c
            query = select(c.id, c.scaled, c.target, c.at, c.boot, c.elapsed, c.database)
            found = connection.execute(query.where(c.name == name)).all()
            if not found:
                raise StateError(f"{databases.place(where)} knows nothing of an autoscaler {name!r}")
            if daemon is not None and any(_is_served(connection, row, moment) for row in found):
                raise StateError(
                    f"autoscaler {name!r} is served by {daemon}; first remove it from that daemon's configuration, "
                    "reload, and wait a minute; or stop that daemon"
                )
            delete_all_of(connection, found)
    return [target_from(row.target) for row in found]


def _is_unused(where: URL, leaving: ExitStack) -> bool:
    """Return whether no daemon uses an SQLite state. If none does, none can start until `leaving` ends."""
    try:
        leaving.callback(lock_file(where).release)
    except StateError:
        return False
    return True


def _daemon(connection: Connection) -> str | None:
    """Return the daemon that may serve autoscalers of this state; None: there is none."""
    if connection.dialect.name == "sqlite":
        return "the running daemon"
    leader = read_leader(connection)
    return None if leader is None else leader.name


def _is_served(connection: Connection, row: Any, moment: Moment) -> bool:
    """Return whether there was a decision lately. `row`: the autoscaler's id, and the time of its memory."""
    if row.at is None:
        return False
    spec = schema.spec.c
    newest = select(spec.body).where(spec.autoscaler_id == row.id).order_by(spec.number.desc()).limit(1)
    body = connection.execute(newest).scalar_one_or_none()
    period = timedelta(0)
    if body is not None:
        with suppress(StateError):  # a damaged one, for which `forget` is a remedy
            period = SPEC.load(body).sync_period
    return age_of(row, replace(moment, database=read_database_time(connection))) < max(_LEAST, _PERIODS * period)
