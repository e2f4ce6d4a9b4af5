"""Backups of an SQLite state: writes the whole state into one file, and restores such a file.

PostgreSQL is backed up with its own tools; `end_copied` ends what a restored database believes.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Final

from sqlalchemy import URL, Connection, delete, func, select

from autoscaler.errors import StateError
from autoscaler.net.files import sync
from autoscaler.record import database as databases
from autoscaler.record import schema, versions
from autoscaler.record.daemons import read_leader
from autoscaler.record.database import Database, driver_of, lock_file, opened
from autoscaler.record.fence import begin_generation
from autoscaler.record.folder import open_private, remove_database
from autoscaler.record.lease import free, new_token
from autoscaler.record.times import from_micros

_PARTIAL: Final = ".partial"
"""Suffix of a backup's name until the backup is complete: a killed command leaves nothing that looks like one."""
_NEW: Final = ".new"
"""Suffix of a restored state's name until the state is complete."""
_NO_LINKS: Final = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS)
"""Errors of link(2) on file systems without hard links: memory sticks and many network shares."""


@dataclass(frozen=True, slots=True)
class Contents:
    """The contents of a backup or of a restored state."""

    autoscalers: int
    last: datetime | None
    """Time of the newest decision; None if there is none."""
    kept: Path | None = None
    """The file of the replaced state; None if nothing was replaced."""


def back_up(url: str | None, state_dir: Path, file: Path, *, empty: bool = True) -> Contents:
    """Write the state of one moment into a new SQLite file. A running daemon is not disturbed.

    Raises StateError, also on PostgreSQL, and unless `empty` for a state without autoscalers; then there is no file.
    """
    where = databases.locate(url, state_dir)
    if where.get_backend_name() != "sqlite":
        raise StateError(
            f"{databases.place(where)} is backed up with PostgreSQL's own tools: pg_dump, and after pg_restore "
            "`autoscaler restore` without a file"
        )
    with opened(where, read_only=True) as connection:
        versions.require_state(connection, databases.place(where))
    with ExitStack() as leaving, _os_errors(f"{file} cannot be written"):
        if file.exists():  # so have `/` and `.`, which have no name to add to
            raise _existing(file)
        partial = file.with_name(file.name + _PARTIAL)
        remove_database(partial)
        leaving.callback(remove_database, partial)
        os.close(open_private(partial))
        contents = _copy(where, partial)
        if not contents.autoscalers and not empty:
            raise StateError(
                f"{databases.place(where)} has no autoscaler; name the right state with --config.file or "
                "$STATE_DIRECTORY, or write this one with --empty"
            )
        _put_in_place(partial, file)
        sync(file.parent)
    return contents


def _put_in_place(partial: Path, file: Path) -> None:
    """Give a complete file its name. Raises StateError if a file has it by now: the copy may have taken minutes."""
    try:
        try:
            file.hardlink_to(partial)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
            partial.replace(file)
    except FileExistsError:
        raise _existing(file) from None


def _existing(file: Path) -> StateError:
    return StateError(f"{file} already exists; name another file")


def restore(url: str | None, state_dir: Path, file: Path, *, replacing: bool = False) -> Contents:
    """Restore a backup while no daemon uses the state.

    An existing state is refused unless `replacing`. Then it is kept under another name. Raises StateError; then nothing
    has changed.
    """
    where, source = databases.locate(url, state_dir), _file_url(file)
    if where.get_backend_name() != "sqlite":
        raise StateError(
            f"{databases.place(where)} is restored with pg_restore, and then with `autoscaler restore` without a file"
        )
    with _os_errors(f"{file} cannot be read", "name a file that `autoscaler backup` wrote"):
        if not file.is_file():
            what = "is not a regular file" if file.exists() else "does not exist"
            raise StateError(f"{file} {what}; name a file that `autoscaler backup` wrote")
    with opened(source, read_only=True) as connection:
        if not versions.holds_state(connection, f"backup {file}", remedy="restore it with that version"):
            raise StateError(f"{file} does not hold a state; name a file that `autoscaler backup` wrote")
    path = Path(os.path.realpath(str(where.database)))  # of a symbolic link: the file on the other disk
    new = path.with_name(path.name + _NEW)
    with ExitStack() as leaving, _os_errors(f"{databases.place(where)} cannot be written"):
        leaving.callback(lock_file(where).release)
        if path.exists() and not replacing:
            raise StateError(f"{databases.place(where)} already holds a state; replace it with --replace")
        remove_database(new)
        leaving.callback(remove_database, new)
        os.close(open_private(new))
        contents = _copy(source, new)
        kept = _put_aside(where, path)
        new.replace(path)
        sync(path.parent)
    return replace(contents, kept=kept)


def end_copied(url: str | None, state_dir: Path) -> Contents:
    """End what a PostgreSQL database believes that was restored from a copy: its lease, epochs and notices.

    Raises StateError if a daemon uses the state; then nothing has changed.
    """
    where = databases.locate(url, state_dir)
    place = databases.place(where)
    if where.get_backend_name() == "sqlite":
        raise StateError(f"{place} is an SQLite file; name the backup to restore, as in `autoscaler restore FILE`")
    with ExitStack() as leaving:
        database = Database(where)
        leaving.callback(database.close)
        with database.writing() as connection:
            versions.require_state(connection, place)
            connection.execute(select(schema.lease).with_for_update())  # no daemon can take it meanwhile
            if (leader := read_leader(connection)) is not None:
                raise StateError(
                    f"{place} is in use by the daemon {leader.name}; first stop it, and those that stand by. The "
                    "lease of a killed daemon ends by itself"
                )
            connection.execute(delete(schema.notice))
            free(connection)
            begin_generation(connection, new_token())
            return _contents_of(connection)


def place_of(url: str | None, state_dir: Path) -> str:
    """Return the state's name in messages. Raises StateError."""
    return databases.place(databases.locate(url, state_dir))


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


def _copy(source: URL, target: Path) -> Contents:
    """Copy an SQLite database, as of one moment, into an empty file, and check the copy. Raises StateError."""
    with opened(source, read_only=True) as connection:
        driver_of(connection).execute("VACUUM INTO ?", (str(target.absolute()),))
    with opened(_file_url(target), named=source) as copy:
        driver = driver_of(copy)
        found = driver.execute("PRAGMA quick_check(1)").fetchall()
        if found != [("ok",)]:
            raise StateError(f"{databases.place(source)} is damaged ({found[0][0]}); take an earlier backup")
        with copy.begin():
            versions.migrate(copy, databases.place(source))
            contents = _contents_of(copy)
        driver.execute("PRAGMA journal_mode=DELETE").fetchall()  # everything is in one file
    sync(target)
    return contents


def _contents_of(connection: Connection) -> Contents:
    autoscalers = connection.execute(select(func.count()).select_from(schema.autoscaler)).scalar_one()
    last = connection.execute(select(func.max(schema.known.c.at))).scalar_one()
    return Contents(autoscalers, None if last is None else from_micros(last))


def _file_url(file: Path) -> URL:
    return URL.create("sqlite", database=str(file.absolute()))


@contextmanager
def _os_errors(
    what: str, remedy: str = "check that the folder exists and that this user may write there"
) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StateError(f"{what}: {error.strerror}; {remedy}") from None
