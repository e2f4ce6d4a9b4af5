"""Keeps the state small: deletes what is too old or too much, a little at a time, inside commits that happen anyway."""

import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Connection, Table, bindparam, delete, func, select, text

from autoscaler.model import LONGEST_PERIOD, Autoscaler
from autoscaler.record import schema
from autoscaler.record.entries import Key
from autoscaler.record.locks import Lock, is_free
from autoscaler.record.max_size import TEXTS_USED, cut
from autoscaler.record.times import micros_of, to_micros

_EVERY_MICROS: Final = 60_000_000
"""How often the state is looked through (1 min); again with the next commit where there was too much for one time."""
_TEXTS_EVERY_MICROS: Final = 6 * 3_600_000_000
"""How often it is looked for texts that no event has any more (6 h): every event is read for it."""
_ROWS_AT_ONCE: Final = 1_000
_NEVER: Final = -(2**62)
_PAGES_KEPT_FREE: Final = 256
"""Of SQLite (1 MiB): new blocks take them again, so giving them back would only cost."""
_PAGES_GIVEN_BACK_AT_ONCE: Final = 4_096


@dataclass(frozen=True, slots=True)
class Retention:
    """What is kept, as the configuration's `state` says."""

    detail: timedelta = timedelta(days=2)
    """All that decisions were made from."""
    retention: timedelta = timedelta(days=30)
    """Series for charts, events, and decisions in which something changed."""
    max_bytes: int = 5 * 10**9
    """Of live data."""


class Housekeeper:
    """One for all shards of a process."""

    def __init__(self, retention: Retention) -> None:
        self.retention = retention
        self.configured: Mapping[Key, Autoscaler] = {}
        """Autoscalers that are never forgotten, however long ago they were decided about."""
        self._due = self._texts_due = _NEVER
        """On the state's own scale, in microseconds."""
        self._busy = threading.Lock()

    def tidy(self, connection: Connection, now: datetime, lead: int) -> Sequence[Key]:
        """Delete some of what is not to be kept, when it is time to. Returns the autoscalers that are forgotten.

        Ages are on the state's own scale (`timeline`; `lead` is now's): a clock that is set makes nothing old or young.
        """
        at = to_micros(now) - lead
        if at < self._due:
            return ()
        if not self._busy.acquire(blocking=False):
            return ()  # another shard is at it
        try:
            if not is_free(connection, Lock.HOUSEKEEPING):
                return ()  # another daemon is
            kept = self.retention
            more = _delete_old(connection, at, kept)
            gone = _forget(connection, at - micros_of(kept.retention), self.configured)
            more |= len(gone) == _ROWS_AT_ONCE or cut(connection, kept.max_bytes, at, to_micros(now))
            if at >= self._texts_due:
                connection.execute(delete(schema.event_text).where(schema.event_text.c.id.not_in(TEXTS_USED)))
                self._texts_due = at + _TEXTS_EVERY_MICROS
            _give_back(connection)
            self._due = at if more else at + _EVERY_MICROS
            return gone
        finally:
            self._busy.release()


def _delete_old(connection: Connection, at: int, kept: Retention) -> bool:
    """Delete some rows of what is not kept until this time. Returns whether there are more."""
    rest_before = at - micros_of(kept.retention)
    old = (
        (schema.removal, at - micros_of(LONGEST_PERIOD)),  # what no period can count any more
        (schema.detail, at - micros_of(kept.detail)),
        (schema.series, rest_before),
        (schema.change, rest_before),
        (schema.event, rest_before),
    )
    return max([_delete_oldest(connection, table, before) for table, before in old]) >= _ROWS_AT_ONCE


def _delete_oldest(connection: Connection, table: Table, before: int) -> int:
    """Delete about _ROWS_AT_ONCE of the oldest of the rows of before this time. Returns how many."""
    recorded = table.c.recorded
    last = connection.execute(
        select(recorded).where(recorded < before).order_by(recorded).offset(_ROWS_AT_ONCE - 1).limit(1)
    ).scalar_one_or_none()
    return connection.execute(delete(table).where(recorded < before if last is None else recorded <= last)).rowcount


def _forget(connection: Connection, before: int, configured: Collection[Key]) -> Sequence[Key]:
    """Delete some autoscalers that were last decided about before this time, and that no daemon's configuration has."""
    owner, memory, asked = schema.autoscaler, schema.memory, schema.follows.c
    latest = func.coalesce(memory.c.at - memory.c.lead, owner.c.first_at)
    query = (
        select(owner.c.id, owner.c.name, owner.c.target)
        .outerjoin(memory, memory.c.autoscaler_id == owner.c.id)
        .where(latest < before)
        .where(~select(asked.name).where(asked.name == owner.c.name, asked.target == owner.c.target).exists())
        .limit(_ROWS_AT_ONCE + len(configured))
    )
    gone = [row for row in connection.execute(query) if (row.name, row.target) not in configured][:_ROWS_AT_ONCE]
    if not gone:
        return ()
    ids = [{"owner_id": row.id} for row in gone]
    for table in schema.metadata.sorted_tables:
        if "autoscaler_id" in table.c:
            connection.execute(delete(table).where(table.c.autoscaler_id == bindparam("owner_id")), ids)
    connection.execute(delete(owner).where(owner.c.id == bindparam("owner_id")), ids)
    for table in (schema.sighting, schema.adapter_memory):
        used = select(owner.c.id).where(owner.c.target == table.c.target).exists()
        targets = [{"owner_target": row.target} for row in gone]
        connection.execute(delete(table).where(table.c.target == bindparam("owner_target"), ~used), targets)
    return [(row.name, row.target) for row in gone]


def _give_back(connection: Connection) -> None:
    """Let SQLite's file shrink by what it does not need. PostgreSQL's autovacuum does it by itself."""
    if connection.dialect.name != "sqlite":
        return
    free = connection.execute(text("PRAGMA freelist_count")).scalar_one()
    if free > 2 * _PAGES_KEPT_FREE:
        pages = min(free - _PAGES_KEPT_FREE, _PAGES_GIVEN_BACK_AT_ONCE)
        cursor = connection.connection.cursor()
        for _ in range(pages):  # each step of this statement frees a page, and sqlite3 takes only one step
            cursor.execute("PRAGMA incremental_vacuum(1)")
        cursor.close()
