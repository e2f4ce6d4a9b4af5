"""Backups: writes the whole state into one SQLite file, and restores such a file on either database."""

import errno
import os
import sqlite3
from collections.abc import Collection, Generator, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any, Final

from sqlalchemy import URL, Connection, Table, delete, func, insert, select, text

from autoscaler.clock import SystemClock
from autoscaler.errors import StateError
from autoscaler.record import database as databases
from autoscaler.record import schema, versions
from autoscaler.record.database import Database, FileLock, driver_of, opened
from autoscaler.record.folder import remove_database, sync
from autoscaler.record.leases import database_time
from autoscaler.record.locks import Lock, wait_for
from autoscaler.record.shards import begin_incarnation, incarnation_of
from autoscaler.record.times import from_micros

_PARTIAL: Final = ".partial"
"""Suffix of a backup's name until the backup is complete."""
_NEW: Final = ".new"
"""Suffix of a restored state's name until the state is complete."""
_NO_LINKS: Final = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS)
"""Errors of link(2) on file systems without hard links: memory sticks and many network shares."""
_RESTORED: Final = tuple(table for table in schema.KEPT if table is not schema.schema_version)
"""Tables whose rows a restore on PostgreSQL replaces."""
_TABLE: Final = timedelta(minutes=15)
"""How long a statement on a whole table of PostgreSQL may take."""
_ROWS: Final = 100
"""Rows copied at a time. A row can have some hundred kilobytes."""


@dataclass(frozen=True, slots=True)
class Contents:
    """The contents of a backup."""

    autoscalers: int
    last: datetime | None
    """Time of the newest decision; None if there is none."""
    size: int
    """Bytes of the backup."""
    kept: Path | None = None
    """The file of the replaced state; None if nothing was replaced, or on PostgreSQL, where it is deleted."""


def back_up(url: str | None, state_dir: Path, file: Path, *, empty: bool = True) -> Contents:
    """Write the state of one moment into a new file. A running daemon is not disturbed.

    On SQLite uses the online backup, on PostgreSQL one transaction that reads every table.
    Raises StateError, unless `empty` also for a state without autoscalers; then there is no new file.
    """
    where, target = databases.locate(url, state_dir), _file_url(file)
    partial = file.with_name(file.name + _PARTIAL)
    with opened(where, read_only=True) as connection:
        versions.require_state(connection, databases.place(where))
    with ExitStack() as leaving, _os_errors(f"{file} cannot be written"):
        if file.exists():
            raise StateError(f"{file} already exists; name another file")
        remove_database(partial)
        leaving.callback(remove_database, partial)
        if where.get_backend_name() == "sqlite":
            _copy_file(where, partial, named=target)
        else:
            with opened(_file_url(partial), named=target) as copy, copy.begin():
                schema.metadata.create_all(copy)
                _write(copy, where, schema.KEPT)
                _number_after_rows(copy)
        contents = _verified(partial, named=target)
        if not contents.autoscalers and not empty:
            raise StateError(
                f"{databases.place(where)} has no autoscaler; name the right state with --config.file or "
                "$STATE_DIRECTORY, or write this one with --empty"
            )
        sync(partial)
        _put_in_place(partial, file)
        sync(file.parent)
    return contents


def restore(url: str | None, state_dir: Path, file: Path, *, replacing: bool = False) -> Contents:
    """Restore a backup while no daemon uses the state.

    An existing state is refused unless `replacing`. Then an SQLite file is kept under another name, and the contents of
    a PostgreSQL database are deleted. Raises StateError; then nothing has changed.
    """
    where, source = databases.locate(url, state_dir), _file_url(file)
    if not file.is_file():
        raise StateError(f"{file} does not exist; name a file that `autoscaler backup` wrote")
    with opened(source, read_only=True) as connection:
        if not versions.holds_state(connection, f"backup {file}", remedy="restore it with that version"):
            raise StateError(f"{file} does not hold a state; name a file that `autoscaler backup` wrote")
    if where.get_backend_name() == "sqlite":
        return _restore_file(where, source, replacing=replacing)
    return _restore_tables(where, source, replacing=replacing)


def place_of(url: str | None, state_dir: Path) -> str:
    """Return the state's name in messages. Raises StateError."""
    return databases.place(databases.locate(url, state_dir))


def _restore_file(where: URL, source: URL, *, replacing: bool) -> Contents:
    path = Path(os.path.realpath(str(where.database)))  # of a symbolic link: the file on the other disk
    new = path.with_name(path.name + _NEW)
    with ExitStack() as leaving, _os_errors(f"{databases.place(where)} cannot be written"):
        leaving.callback(FileLock(where).release)
        if path.exists() and not replacing:
            raise _occupied(where)
        remove_database(new)
        leaving.callback(remove_database, new)
        _copy_file(source, new, named=where)
        _begin_incarnation(new, named=source, after=_incarnation_of(where))
        contents = _verified(new, named=source)
        sync(new)
        kept = _put_aside(where, path)
        new.replace(path)
        sync(path.parent)
    return replace(contents, kept=kept)


def _incarnation_of(where: URL) -> int:
    """Return the incarnation of the replaced file; 0 if there is none, or it cannot be read."""
    with suppress(StateError), opened(where, read_only=True) as connection:
        if versions.holds_state(connection, databases.place(where)):
            return incarnation_of(connection)
    return 0


def _begin_incarnation(file: Path, *, named: URL, after: int) -> None:
    with opened(_file_url(file), named=named) as connection, connection.begin():
        seconds = int(SystemClock().now().timestamp())
        begin_incarnation(connection, max(seconds, incarnation_of(connection) + 1, after + 1))


def _put_aside(where: URL, path: Path) -> Path | None:
    """Give the present file a second name, rename SQLite's files beside it accordingly, and return the new name.

    None if there is no file. Its log is renamed even then, because SQLite would apply it to the new file.
    """
    beside = ("-wal", "-shm", "-journal")
    names = (Path(f"{path}.replaced-{number}") for number in count(1))
    kept = next(name for name in names if not any(Path(f"{name}{suffix}").exists() for suffix in ("", *beside)))
    is_there = path.exists()
    if is_there:
        _end_log(where)
    for suffix in beside:
        if Path(f"{path}{suffix}").exists():
            Path(f"{path}{suffix}").replace(f"{kept}{suffix}")
    if is_there:
        kept.hardlink_to(path)
    sync(path.parent)
    return kept if is_there else None


def _end_log(where: URL) -> None:
    """Move everything from the log into the file. A damaged file stays as it is.

    Raises StateError if another process uses the file.
    """
    try:
        with opened(where) as connection:
            driver_of(connection).execute("PRAGMA journal_mode=DELETE").fetchall()
    except StateError as error:
        if str(getattr(error.__cause__, "sqlite_errorname", "")).startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            raise


def _restore_tables(where: URL, source: URL, *, replacing: bool) -> Contents:
    contents = _contents_of(source)
    with ExitStack() as leaving:
        database = Database(where, answer=_TABLE)
        leaving.callback(database.close)
        with database.writing() as connection:
            wait_for(connection, Lock.OPENING)
            wait_for(connection, Lock.SHARING)  # no daemon can join meanwhile
            now, place = database_time(connection), databases.place(where)
            if not versions.holds_state(connection, place):
                versions.create(connection, place)
            _refuse_members(connection, now, place)
            if not replacing and _is_used(connection):
                raise _occupied(where)
            replaced = incarnation_of(connection)
            for table in _RESTORED:
                connection.execute(delete(table))
            _write(connection, source, _RESTORED)
            _number_after_rows(connection)
            begin_incarnation(connection, max(now // 1_000_000, replaced + 1))
    return contents


def _refuse_members(connection: Connection, now: int, place: str) -> None:
    table = schema.member
    lately = table.c.renewed + table.c.duration > now
    places = connection.execute(select(table.c.place).where(lately).order_by(table.c.place)).scalars().all()
    if places:
        raise StateError(
            f"{place} is in use by {len(places)} daemon(s) ({'; '.join(places)}); stop them first. The lease of a "
            "killed daemon ends by itself"
        )
    connection.execute(delete(schema.follows))
    connection.execute(delete(table))


def _occupied(where: URL) -> StateError:
    return StateError(f"{databases.place(where)} already holds a state; replace it with --replace")


def _is_used(connection: Connection) -> bool:
    return any(
        connection.execute(select(table).limit(1)).first() is not None for table in (schema.autoscaler, schema.steering)
    )


def _write(target: Connection, source: URL, tables: Collection[Table]) -> None:
    """Copy every row of these tables. Raises StateError."""
    with closing(_rows(source, tables)) as parts:
        for table, rows in parts:
            target.execute(insert(table), rows)


def _rows(url: URL, tables: Collection[Table]) -> Generator[tuple[Table, list[dict[str, Any]]]]:
    """Yield every row as of one moment, in parts. Raises StateError."""
    with opened(url, read_only=True, answer=_TABLE) as connection:
        for table in tables:
            found = connection.execute(select(table).execution_options(stream_results=True, yield_per=_ROWS))
            for part in found.mappings().partitions():
                yield table, [dict(row) for row in part]


def _copy_file(source: URL, target: Path, *, named: URL) -> None:
    """Copy an SQLite database, as of one moment, into a new file. Raises StateError."""
    with opened(_file_url(target), named=named) as copy, databases.state_errors(source):
        driver = sqlite3.connect(f"{Path(str(source.database)).as_uri()}?mode=ro", uri=True)
        try:
            driver.backup(driver_of(copy))
        finally:
            driver.close()


def _put_in_place(partial: Path, file: Path) -> None:
    """Give a complete file its name. Raises OSError, also if a file of that name exists now."""
    try:
        file.hardlink_to(partial)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        partial.replace(file)


def _verified(file: Path, *, named: URL) -> Contents:
    """Move everything from the log into the file and check it. Raises StateError if it is damaged."""
    with opened(_file_url(file), named=named) as connection:
        driver = driver_of(connection)
        driver.execute("PRAGMA journal_mode=DELETE").fetchall()
        found = driver.execute("PRAGMA quick_check(1)").fetchall()
        if found != [("ok",)]:
            raise StateError(f"{databases.place(named)} is damaged ({found[0][0]}); take an earlier backup")
    return _contents_of(_file_url(file), named=named)


def _contents_of(url: URL, *, named: URL | None = None) -> Contents:
    with opened(url, named=named, read_only=True) as connection:
        autoscalers = connection.execute(select(func.count()).select_from(schema.autoscaler)).scalar_one()
        last = connection.execute(select(func.max(schema.memory.c.at))).scalar_one()
    size = Path(str(url.database)).stat().st_size
    return Contents(autoscalers, None if last is None else from_micros(last), size)


def _file_url(file: Path) -> URL:
    return URL.create("sqlite", database=str(file.absolute()))


@contextmanager
def _os_errors(what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StateError(
            f"{what}: {error.strerror}; check that the folder exists and that this user may write there"
        ) from None


def _number_after_rows(connection: Connection) -> None:
    """Set the next autoscaler's id after all ids in the tables, including those of the journal's pages.

    Called after a restore, which inserts rows with their ids.
    """
    known = connection.execute(select(func.max(schema.autoscaler.c.id))).scalar_one() or 0
    chunk = connection.execute(select(func.max(schema.journal.c.chunk))).scalar_one()
    last = known if chunk is None else max(known, (chunk + 1) * schema.CHUNK - 1)
    if connection.dialect.name == "postgresql":
        sequence = func.pg_get_serial_sequence(schema.autoscaler.name, "id")
        connection.execute(select(func.setval(sequence, last + 1, False)))
    else:
        connection.execute(text("DELETE FROM sqlite_sequence WHERE name = :name"), {"name": schema.autoscaler.name})
        connection.execute(
            text("INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :last)"),
            {"name": schema.autoscaler.name, "last": last},
        )
