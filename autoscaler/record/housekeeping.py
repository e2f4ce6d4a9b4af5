"""Keeps the state small: packs recorded cycles, and deletes what is too old or too much, in small steps."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

from sqlalchemy import Connection, Table, delete, func, select, text

from autoscaler.model import Autoscaler
from autoscaler.record import schema
from autoscaler.record.database import Database, Readers
from autoscaler.record.entries import Key
from autoscaler.record.fence import is_newest
from autoscaler.record.kept import remove
from autoscaler.record.lease import Lease
from autoscaler.record.locks import Lock, is_free
from autoscaler.record.max_size import cut
from autoscaler.record.newest import Newest
from autoscaler.record.packing import full_chunks, pack, replace_pages
from autoscaler.record.sizes import delete_rows
from autoscaler.record.times import micros_of, to_micros
from autoscaler.record.writers import delete_unused
from autoscaler.target.scaled import AS_WRITTEN, Identify

_EVERY_MICROS: Final = 60_000_000
"""Interval of a pass (1 min). The next pass begins at once if a step had more to do than it may."""
_ROWS_AT_ONCE: Final = 1_000
_STATEMENT_SECONDS: Final = 5
"""Time limit of a statement, which takes well below a second. A later pass tries again what took longer."""
_HOUR: Final = 3_600_000_000
_NEVER: Final = -(2**62)
_PAGES_KEPT_FREE: Final = 256
"""Free pages that SQLite's file keeps (1 MiB), because new blocks use them again."""
_PAGES_GIVEN_BACK_AT_ONCE: Final = 4_096


@dataclass(frozen=True, slots=True)
class Retention:
    """How long and how much is kept: the configuration's `state`."""

    detail: timedelta = timedelta(days=2)
    """Age up to which cycles are kept whole, with everything that decisions were made from."""
    retention: timedelta = timedelta(days=30)
    """Age up to which events, and decisions with a change, are kept."""
    max_bytes: int = 5 * 10**9
    """Limit of live data."""


class Housekeeper:
    """One for all shards of a process, in a thread of its own. A cycle waits at most for the rows of one step.

    Each step is a transaction. On PostgreSQL only the leader does them, in the generation in which the pass began: a
    former leader may not know yet that it is one, and its configuration may keep less. A takeover ends the former
    leader's transactions, so a step does not lock what the takeover needs.
    """

    def __init__(
        self,
        database: Database,
        readers: Readers,
        retention: Retention,
        latest: dict[Key, Newest],
        lease: Lease | None = None,
    ) -> None:
        """`latest`: the decisions that readers are shown; those of autoscalers that are not configured are removed.

        `lease`: of this process; None on SQLite.
        """
        self._lease = lease
        self._generation: str | None = None
        """In which the pass began."""
        self.retention = retention
        self.scalers: Collection[Autoscaler] | None = None
        """The configured autoscalers; None: they are not known yet."""
        self.identify: Identify = AS_WRITTEN
        """Returns what they scale. Set before them."""
        self._keyed: tuple[Collection[Autoscaler] | None, Mapping[Key, Autoscaler]] = (None, {})
        self._database = database
        self._readers = readers
        self._latest = latest
        self._another = False
        """Whether another daemon was housekeeping, or led, at the last step."""
        self._due = self._forget_due = _NEVER
        """By the wall clock, in microseconds."""

    @property
    def configured(self) -> Mapping[Key, Autoscaler]:
        """The autoscalers that are never deleted, regardless of the age of their newest decision.

        The keys are made by the thread that needs them, not by the main thread.
        """
        scalers, (keyed, known) = self.scalers, self._keyed
        if keyed is not scalers:
            known = {self.identify(scaler.target): scaler for scaler in scalers or ()}
            self._keyed = (scalers, known)
        return known

    def tidy(self, now: datetime) -> None:
        """Pack recorded cycles and delete some of what is not kept, if a pass is due. Raises StateError.

        Does nothing if another daemon leads.
        """
        at, kept = to_micros(now), self.retention
        self._generation = None if self._lease is None else self._lease.generation
        if at < self._due <= at + _EVERY_MICROS:
            return
        configured = self._latest if self.scalers is None else self.configured
        for key in [key for key in list(self._latest) if key not in configured]:
            self._latest.pop(key, None)
        more, failures = False, list[Exception]()
        for step in self._steps(at, kept):
            try:
                more |= step()
            except Exception as error:  # noqa: BLE001 - raised below: one damaged row must not end all other steps
                failures.append(error)
        self._due = at if more or self._another else at + _EVERY_MICROS
        if failures:
            raise failures[0]

    def _steps(self, at: int, kept: Retention) -> Iterator[Callable[[], bool]]:
        """Yield the steps of a pass. Each returns whether it had more to do than it may."""
        yield partial(self._pack, at)
        for table, before in _too_old(at, kept):
            yield partial(self._delete_oldest, table, before)
        if not at < self._forget_due <= at + _HOUR:
            yield partial(self._forget, at, at - micros_of(kept.retention))
        yield partial(self._cut, kept.max_bytes, at)
        yield self._give_back

    def _pack(self, now: int) -> bool:
        """Replace pages by blocks. Pages never change, so packing needs no lock."""
        with self._readers.begin() as connection:
            chunks = full_chunks(connection, now)
        for chunk in chunks:
            with self._readers.begin() as connection:
                packed = pack(connection, chunk)
            with self._step() as connection:
                if connection is None:
                    return False
                replace_pages(connection, packed)
        return False

    def _delete_oldest(self, table: Table, before: int) -> bool:
        with self._step() as connection:
            return connection is not None and _delete_oldest(connection, table, before) >= _ROWS_AT_ONCE

    def _forget(self, at: int, before: int) -> bool:
        """Forget autoscalers once an hour, because this reads the row of each that is decided no more."""
        with self._step() as connection:
            if connection is None:
                return False
            more = _forget(connection, before, self.configured) == _ROWS_AT_ONCE
            more |= delete_unused(connection, _ROWS_AT_ONCE) == _ROWS_AT_ONCE
        self._forget_due = at if more else at + _HOUR
        return more

    def _cut(self, max_bytes: int, at: int) -> bool:
        with self._step() as connection:
            return connection is not None and cut(connection, max_bytes, at)

    def _give_back(self) -> bool:
        with self._step() as connection:
            if connection is not None:
                _give_back(connection)
        return False

    @contextmanager
    def _step(self) -> Iterator[Connection | None]:
        """Begin a transaction; yield None if another daemon is housekeeping, or leads."""
        with self._database.writing() as connection:
            if not self._database.sqlite:
                connection.execute(text(f"SET LOCAL statement_timeout = '{_STATEMENT_SECONDS}s'"))
            leads = self._lease is None or is_newest(connection, self._generation)
            self._another = not (leads and is_free(connection, Lock.HOUSEKEEPING))
            yield None if self._another else connection


def _too_old(at: int, kept: Retention) -> Sequence[tuple[Table, int]]:
    """Return each table with the time before which its rows are deleted."""
    rest_before = at - micros_of(kept.retention)
    return (
        (schema.block, at - micros_of(kept.detail)),
        (schema.change, rest_before),
        (schema.event, rest_before),
        (schema.spec, min(rest_before, at - micros_of(kept.detail)) - _HOUR),  # decisions go first
    )


def _delete_oldest(connection: Connection, table: Table, before: int) -> int:
    """Delete about _ROWS_AT_ONCE of the oldest rows before this time. Returns how many."""
    at = schema.newest_time(table)
    last = connection.execute(
        select(at).where(at < before).order_by(at).offset(_ROWS_AT_ONCE - 1).limit(1)
    ).scalar_one_or_none()
    return delete_rows(connection, table, at < before if last is None else at <= last)


def _forget(connection: Connection, before: int, configured: Collection[Key]) -> int:
    """Delete some autoscalers without a decision since this time that no configuration has. Returns how many."""
    c, writer = schema.autoscaler.c, schema.writer.c
    alone = c.writer.is_(None) & (func.coalesce(c.at, c.first_at) < before)
    query = select(c.id, c.scaled).where(alone | c.writer.in_(select(writer.id).where(writer.at < before)))
    query = query.limit(_ROWS_AT_ONCE + len(configured))
    gone = [row for row in connection.execute(query) if row.scaled not in configured][:_ROWS_AT_ONCE]
    delete_all_of(connection, gone)
    return len(gone)


def delete_all_of(connection: Connection, gone: Sequence[Any]) -> None:
    """Delete everything about these autoscalers. `gone`: their rows, with id and what they scale."""
    if not gone:
        return
    owner, ids = schema.autoscaler, [row.id for row in gone]
    for table in schema.metadata.sorted_tables:
        if "autoscaler_id" in table.c:
            delete_rows(connection, table, table.c.autoscaler_id.in_(ids))
    connection.execute(delete(owner).where(owner.c.id.in_(ids)))
    for kind in (schema.SIGHTING, schema.ADAPTER):
        remove(connection, kind, [row.scaled for row in gone])


def _give_back(connection: Connection) -> None:
    """Shrink SQLite's file by some of its free pages. PostgreSQL has its autovacuum."""
    if connection.dialect.name != "sqlite":
        return
    free = connection.execute(text("PRAGMA freelist_count")).scalar_one()
    if free > 2 * _PAGES_KEPT_FREE:
        pages = min(free - _PAGES_KEPT_FREE, _PAGES_GIVEN_BACK_AT_ONCE)
        cursor = connection.connection.cursor()
        for _ in range(pages):  # a step of this statement frees one page, and sqlite3 does only one step
            cursor.execute("PRAGMA incremental_vacuum(1)")
        cursor.close()
