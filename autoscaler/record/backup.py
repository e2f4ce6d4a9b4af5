"""Backups: the whole state as one SQLite file, and such a file back into a state, on either database."""

import sqlite3
from collections.abc import Generator, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from sqlalchemy import URL, Connection, Table, delete, func, insert, select

from autoscaler.errors import StateError
from autoscaler.record import database as databases
from autoscaler.record import schema
from autoscaler.record.claim import Claim
from autoscaler.record.database import Database, FileLock, driver_of, opened
from autoscaler.record.folder import remove_database, sync
from autoscaler.record.times import from_micros

_PARTIAL: Final = ".partial"
"""Of a backup's name until it is whole."""
_NEW: Final = ".new"
"""Of a restored state's name until it is whole."""
_ROWS: Final = 100
"""Copied at a time; a row can have some hundred kilobytes."""


@dataclass(frozen=True, slots=True)
class Contents:
    """What a backup holds."""

    autoscalers: int
    last: datetime | None
    """When the newest decision was made; None: there is none."""
    size: int
    """Bytes of the backup."""
    kept: Path | None = None
    """Where the state that was replaced is now; None: none was, or it was on PostgreSQL and is gone."""


def back_up(url: str | None, state_dir: Path, file: Path) -> Contents:
    """Write the state, as it is at one moment, into a new file. A running daemon goes on undisturbed.

    Source: SQLite's online backup; on PostgreSQL one transaction that reads every table.
    Raises StateError; then there is no file.
    """
    where, target = databases.locate(url, state_dir), _file_url(file)
    partial = file.with_name(file.name + _PARTIAL)
    with opened(where, read_only=True) as connection:
        schema.require_current(connection, databases.place(where))
    with ExitStack() as leaving, _os_errors(f"{file} cannot be written"):
        if file.exists():
            raise StateError(f"{file} is there already; name another file")
        remove_database(partial)
        leaving.callback(remove_database, partial)
        if where.get_backend_name() == "sqlite":
            _copy_file(where, partial, named=target)
        else:
            with opened(_file_url(partial), named=target) as copy, copy.begin():
                schema.metadata.create_all(copy)
                _write(copy, where)
                schema.number_after_rows(copy)
        contents = _verified(partial, named=target)
        sync(partial)
        file.hardlink_to(partial)  # refused where a file of this name has come meanwhile
        sync(file.parent)
    return contents


def restore(url: str | None, state_dir: Path, file: Path, *, replacing: bool = False) -> Contents:
    """Make the state what a backup holds, while no daemon uses it.

    A state that is there already is refused unless `replacing`: then an SQLite file stays beside the new one under
    another name, and what a PostgreSQL database holds is deleted. Raises StateError; then nothing has changed.
    """
    where, source = databases.locate(url, state_dir), _file_url(file)
    if not file.is_file():
        raise StateError(f"{file} does not exist; name a file that `autoscaler backup` wrote")
    with opened(source, read_only=True) as connection:
        found = schema.version(connection)
    if found is None:
        raise StateError(f"{file} does not hold a state; name a file that `autoscaler backup` wrote")
    schema.refuse_newer(found, str(file))
    if where.get_backend_name() == "sqlite":
        return _restore_file(where, source, replacing=replacing)
    if found < schema.VERSION:
        raise StateError(
            f"{file} was written by an older version; restore it to SQLite (leave state.url out), start the daemon "
            "once, which converts it, and back that up"
        )
    return _restore_tables(where, source, replacing=replacing)


def place_of(url: str | None, state_dir: Path) -> str:
    """How messages call the state. Raises StateError."""
    return databases.place(databases.locate(url, state_dir))


def _restore_file(where: URL, source: URL, *, replacing: bool) -> Contents:
    path = Path(str(where.database))
    new = path.with_name(path.name + _NEW)
    with ExitStack() as leaving, _os_errors(f"{databases.place(where)} cannot be written"):
        leaving.callback(FileLock(where).release)
        if path.exists() and not replacing:
            raise _occupied(where)
        remove_database(new)
        leaving.callback(remove_database, new)
        _copy_file(source, new, named=where)
        contents = _verified(new, named=source)
        sync(new)
        kept = _put_aside(where, path) if path.exists() else None
        new.replace(path)
        sync(path.parent)
    return replace(contents, kept=kept)


def _put_aside(where: URL, path: Path) -> Path:
    """Give the present file a second name, and what SQLite has put beside it the names that go with that."""
    kept = next(name for number in range(1, 10_000) if not (name := Path(f"{path}.replaced-{number}")).exists())
    try:
        with opened(where) as connection:
            driver_of(connection).execute("PRAGMA journal_mode=DELETE").fetchall()  # everything into the one file
    except StateError:
        pass  # damaged, which may be why it is replaced: it is put aside as it is
    for suffix in ("-wal", "-shm", "-journal"):
        beside = Path(f"{path}{suffix}")
        if beside.exists():
            beside.replace(f"{kept}{suffix}")
    kept.hardlink_to(path)
    sync(path.parent)
    return kept


def _restore_tables(where: URL, source: URL, *, replacing: bool) -> Contents:
    contents = _contents_of(source)
    with ExitStack() as leaving:
        database = Database(where)
        leaving.callback(database.close)
        with database.writing() as connection:
            found = schema.version(connection)
            if found is None:
                schema.create(connection)
            elif found < schema.VERSION:
                raise StateError(f"{databases.place(where)} holds an older version's state; name an empty database")
            else:
                schema.refuse_newer(found, databases.place(where))
        claim = Claim(database)
        leaving.callback(claim.release)
        with database.writing() as connection:
            if not replacing and _is_used(connection):
                raise _occupied(where)
            for table in schema.KEPT:
                connection.execute(delete(table))
            _write(connection, source, claim)
            schema.number_after_rows(connection)
    return contents


def _occupied(where: URL) -> StateError:
    return StateError(f"{databases.place(where)} holds a state already; --replace puts the backup in its place")


def _is_used(connection: Connection) -> bool:
    return any(
        connection.execute(select(table).limit(1)).first() is not None for table in (schema.autoscaler, schema.steering)
    )


def _write(target: Connection, source: URL, claim: Claim | None = None) -> None:
    """Copy every row of every table; `claim` is renewed all the while. Raises StateError."""
    with closing(_rows(source)) as parts:
        for number, (table, rows) in enumerate(parts):
            target.execute(insert(table), rows)
            if claim is not None and number % _ROWS == 0:
                claim.renew()


def _rows(url: URL) -> Generator[tuple[Table, list[dict[str, Any]]]]:
    """Every row as it is at one moment, some at a time. Raises StateError."""
    with opened(url, read_only=True) as connection:
        for table in schema.KEPT:
            found = connection.execute(select(table).execution_options(stream_results=True, yield_per=_ROWS))
            for part in found.mappings().partitions():
                yield table, [dict(row) for row in part]


def _copy_file(source: URL, target: Path, *, named: URL) -> None:
    """Copy an SQLite database, as it is at one moment, into a new file. Raises StateError."""
    with opened(_file_url(target), named=named) as copy, databases.state_errors(source):
        driver = sqlite3.connect(f"{Path(str(source.database)).as_uri()}?mode=ro", uri=True)
        try:
            driver.backup(driver_of(copy))
        finally:
            driver.close()


def _verified(file: Path, *, named: URL) -> Contents:
    """Bring everything into the one file, and look at it. Raises StateError where it is damaged."""
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
        last = None
        if schema.version(connection) == schema.VERSION:
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
