"""Connects to the state: its address, its durability, and the causes of its failures.

SQLite runs with a write-ahead log and synchronous=FULL: a commit is on the disk before it returns, so an intent
survives kill -9 and, if the disk honours fsync, a loss of power. This costs at most two flushes a cycle, one for each
commit. NORMAL would also survive kill -9, but could lose the last commits in a loss of power.
"""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from sqlalchemy import URL, Connection, Engine, create_engine, event, func, make_url, select
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError

from autoscaler.errors import StateError
from autoscaler.net.file_lock import FileLock, HeldError
from autoscaler.record.fair_lock import FairLock
from autoscaler.record.folder import make_private, make_private_folder

_FORMS: Final = "expected sqlite:////a/file.db or postgresql://user@host/database"
_BUSY_SECONDS: Final = 5.0
"""How long a write waits for SQLite's lock if another process holds it."""
_TURN_SECONDS: Final = 10.0
_IDLE: Final = timedelta(seconds=30)
"""Default time that a PostgreSQL transaction may be idle, because it may hold row locks."""
ANSWER: Final = timedelta(seconds=60)
"""Default time of a statement of PostgreSQL: more than one of a cycle or of the housekeeping should need."""
_MARK: Final = "autoscaler.session"
"""A session variable of this program."""
_LOG_LIMIT_BYTES: Final = 64 * 2**20
"""Size to which SQLite truncates its write-ahead log after a checkpoint."""
_INCREMENTAL: Final = 2
"""The mode of `PRAGMA auto_vacuum` in which the housekeeping frees the pages (https://www.sqlite.org/pragma.html)."""
_LEAST_BYTES: Final = 32_768
"""Disk space that opening SQLite's write-ahead log takes (https://www.sqlite.org/walformat.html, the WAL-index)."""

_SQLITE_REMEDIES: Final = {
    "SQLITE_FULL": "the disk is full; free some space, or shorten state.retention",
    "SQLITE_BUSY": "another process holds it locked; end that process",
    "SQLITE_LOCKED": "another process holds it locked; end that process",
    "SQLITE_NOTADB": "it is not an SQLite database; move it away, or correct state.url",
    "SQLITE_CORRUPT": "the file is damaged; restore a backup, or move it away to start without a memory",
    "SQLITE_CANTOPEN": "it cannot be opened; check that the folder exists and that this user may write there",
    "SQLITE_PERM": "this user may not access it; correct the owner or the mode of the file and its folder",
    "SQLITE_AUTH": "this user may not access it; correct the owner or the mode of the file and its folder",
    "SQLITE_READONLY": "it is read-only; correct the owner or the mode of the file and its folder",
    "SQLITE_IOERR": "the disk failed to read or write it; check the system's log",
}

_POSTGRESQL_REMEDIES: Final = {
    "25006": "it is a standby, or set read-only; name the primary server (state.url)",
    "42501": "give this user the right to create tables there, or the rights of the user who created them",
    "53100": "free some space on its disk",
    "53300": "raise its max_connections, or end some of them",
    "55P03": "another session holds rows locked; pg_stat_activity there shows which",
}
"""By SQLSTATE (https://www.postgresql.org/docs/current/errcodes-appendix.html). Messages of others name a remedy."""


def locate(url: str | None, state_dir: Path) -> URL:
    """Return the database's address; `state.db` in `state_dir` if `url` is None.

    Raises StateError, whose message never shows a password.
    """
    if url is None:
        return URL.create("sqlite", database=str((state_dir / "state.db").absolute()))
    try:
        found = make_url(url)
    except (ArgumentError, ValueError):
        raise StateError(f"state.url is not a valid database address; {_FORMS}") from None
    kind = found.get_backend_name()
    if kind == "sqlite" and found.database in (None, "", ":memory:"):
        raise StateError("state.url names no file, and the state must outlive the daemon; name a file")
    if kind == "sqlite":
        return URL.create("sqlite", database=str(Path(str(found.database)).absolute()))
    if kind == "postgresql":
        return found.set(drivername="postgresql+psycopg")
    raise StateError(f"state.url is of the kind {kind!r}; {_FORMS}")


def place(url: URL) -> str:
    """Return the state's name in messages: the file, or the address without its password."""
    if url.get_backend_name() == "sqlite":
        return f"state {url.database}"
    return f"state {url.set(drivername='postgresql', query={}).render_as_string(hide_password=True)}"


def connect(
    url: URL,
    *,
    read_only: bool = False,
    idle: timedelta = _IDLE,
    sessions: str | None = None,
    answer: timedelta | None = None,
) -> Engine:
    """Return a pool of connections, which connects at first use. Raises StateError.

    On PostgreSQL, `idle` is how long a transaction may be idle, `sessions` the sessions' application_name (None: as in
    the address), and `answer` how long a statement may take (None: ANSWER).
    """
    try:
        if url.get_backend_name() != "sqlite":
            from autoscaler.record import postgresql  # noqa: PLC0415 - its driver is an extra

            return postgresql.connect(
                url, place(url), read_only=read_only, idle=idle, sessions=sessions, answer=answer or ANSWER
            )
        if not read_only:
            make_private(Path(str(url.database)))
        engine = create_engine(_sqlite_uri(url, read_only=read_only), connect_args={"timeout": _BUSY_SECONDS})
    except (ImportError, NoSuchModuleError):
        raise StateError(
            f"{place(url)} needs the driver psycopg, which is not installed; install the package's extra `postgresql`"
        ) from None

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # otherwise sqlite3 begins transactions by itself, and late
        if not read_only:
            # SQLite writes the mode into the file each time, and takes it only before the first table is created
            if connection.execute("PRAGMA auto_vacuum").fetchone() != (_INCREMENTAL,):
                connection.execute(f"PRAGMA auto_vacuum={_INCREMENTAL}")
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute(f"PRAGMA journal_size_limit={_LOG_LIMIT_BYTES}")
            connection.execute("PRAGMA secure_delete=FAST")  # else Debian's SQLite writes each page that it frees

    @event.listens_for(engine, "begin")
    def begin(connection: Any) -> None:
        # a writer that takes the lock at its first write can find that another process wrote since it began to read
        connection.exec_driver_sql("BEGIN" if read_only else "BEGIN IMMEDIATE")

    return engine


def _sqlite_uri(url: URL, *, read_only: bool) -> URL:
    path = Path(str(url.database))
    if not read_only:
        return url
    try:
        readable = path.stat() and os.access(path, os.R_OK)
    except (FileNotFoundError, NotADirectoryError):
        raise StateError(f"{place(url)} does not exist; has the daemon run with this configuration?") from None
    except OSError:  # a parent folder is not accessible
        readable = False
    if not readable:
        raise StateError(f"{place(url)} cannot be read by this user; run the command as the daemon's own user")
    # as_uri quotes the path; `uri=true` makes sqlite3 read the parameters
    return URL.create("sqlite", database=f"{path.as_uri()}", query={"mode": "ro", "uri": "true"})


class Database:
    """Writes to the state. Any number of threads can use it; on SQLite they write one after another."""

    def __init__(
        self,
        url: URL,
        *,
        idle: timedelta = _IDLE,
        sessions: str | None = None,
        answer: timedelta | None = None,
        turn_seconds: float = _TURN_SECONDS,
    ) -> None:
        """Arguments as of `connect`; connects at first use. Raises StateError.

        `turn_seconds`: how long a thread waits for this process' other threads to write to SQLite.
        """
        self.url: Final = url
        self.sqlite: Final = url.get_backend_name() == "sqlite"
        self.guard: Callable[[], None] = lambda: None
        """Raises StateError if nothing may be committed. Called before each transaction, and after one of SQLite."""
        self._engine = connect(url, idle=idle, sessions=sessions, answer=answer)
        self._turn, self._turn_seconds = FairLock(), turn_seconds

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Begin a transaction, committed at the end of the block. Raises StateError; a commit may have happened."""
        if not self.sqlite:
            self.guard()
            with state_errors(self.url), self._engine.begin() as connection:
                yield connection
            return
        if not self._turn.acquire(self._turn_seconds):
            raise StateError(
                f"{place(self.url)}: another write has taken more than {self._turn_seconds:.0f} s; check its disk"
            )
        try:
            self.guard()
            with state_errors(self.url), self._engine.begin() as connection:
                yield connection
            self.guard()
        finally:
            self._turn.release()

    def require_sessions(self) -> None:
        """Raise StateError if a pooler maps each transaction of a connection to any session of PostgreSQL.

        The daemon relies on limits that belong to its own session, and on the name of the session.
        """
        mark = uuid4().hex
        with state_errors(self.url), self._engine.connect() as one, self._engine.connect() as other:
            one.execute(select(func.set_config(_MARK, mark, False)))
            one.commit()
            other.execute(select(1))  # this transaction occupies the session that a pooler would reuse
            kept = one.execute(select(func.current_setting(_MARK, True))).scalar_one() == mark
        if not kept:
            raise StateError(
                f"{place(self.url)}: a pooler shares sessions between transactions, and the daemon needs sessions of "
                "its own; set pool_mode = session (PgBouncer), or name PostgreSQL itself in state.url"
            )

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()


class Readers:
    """Reads the state on connections of its own, so that readers and writers never wait for each other.

    Any number of threads can use it at once.
    """

    def __init__(self, url: URL, *, answer: timedelta | None = None, guard: Callable[[], None] = lambda: None) -> None:
        """Arguments as of `connect`; connects at first use. `guard`: as of `Database`. Raises StateError."""
        self.url: Final = url
        self._guard = guard
        self._engine = connect(url, read_only=True, answer=answer)

    @contextmanager
    def begin(self, *, of_any_version: bool = False) -> Iterator[Connection]:
        """Begin a transaction. Raises StateError. `of_any_version`: to read only what no version changes."""
        if not of_any_version:
            self._guard()
        with state_errors(self.url), self._engine.begin() as connection:
            yield connection

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()


@contextmanager
def opened(url: URL, *, named: URL | None = None, read_only: bool = False) -> Iterator[Connection]:
    """Open one connection. `named`: the state's address in messages, if not `url`. Raises StateError."""
    engine = connect(url, read_only=read_only)
    try:
        with state_errors(named or url), engine.connect() as connection:
            yield connection
    finally:
        engine.dispose()


def driver_of(connection: Connection) -> sqlite3.Connection:
    """Return the driver's connection, for statements that must not run in a transaction."""
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)  # noqa: S101 - for mypy: it is the driver that SQLite has
    return driver


@contextmanager
def state_errors(url: URL) -> Iterator[None]:
    """Turn a failure of the database into a StateError with the state, the cause and the remedy."""
    try:
        yield
    except DBAPIError as error:
        raise StateError(f"{place(url)}: {_cause(error.orig, url)}") from error
    except sqlite3.Error as error:  # of statements sent without SQLAlchemy
        raise StateError(f"{place(url)}: {_cause(error, url)}") from error
    except SQLAlchemyError as error:
        raise StateError(f"{place(url)}: {type(error).__name__}: {_first_line(error)}") from error


def unusable_folder(url: URL, folder: Path, why: str) -> StateError:
    """Return the error of a folder in which an SQLite state cannot be created."""
    return StateError(
        f"{place(url)}: {folder} cannot be used: {why}; name a folder that this user may write to ($STATE_DIRECTORY or "
        "state.url)"
    )


def _cause(error: BaseException | None, url: URL) -> str:
    name = getattr(error, "sqlite_errorname", None)
    if name is None:
        remedy = _POSTGRESQL_REMEDIES.get(getattr(error, "sqlstate", None) or "")
        return f"the database failed: {_first_line(error)}" + (f"; {remedy}" if remedy else "")
    if name.startswith("SQLITE_IOERR") and _disk_is_full(url):  # SQLite reports a full disk only for some of its files
        name = "SQLITE_FULL"
    known = (remedy for prefix, remedy in _SQLITE_REMEDIES.items() if name.startswith(prefix))
    return next(known, f"the database failed: {_first_line(error)} ({name})")


def _disk_is_full(url: URL) -> bool:
    try:
        left = os.statvfs(Path(str(url.database)).parent)
    except OSError:
        return False
    return left.f_bavail * left.f_frsize < _LEAST_BYTES


def _first_line(error: object) -> str:
    return str(error).strip().partition("\n")[0]


def lock_file(url: URL) -> FileLock:
    """Keep a second daemon from one SQLite file until the lock is released: both would scale the same targets.

    Raises StateError if another one has it. On PostgreSQL several daemons use the state (`lease`).
    """
    path = Path(f"{url.database}.lock")
    try:
        make_private_folder(path.parent)
        return FileLock.take(path, 0o600)
    except HeldError as held:
        raise StateError(
            f"{place(url)} is in use by another daemon (pid {held.holder}); stop that one, or give this one a state "
            "(state.url) and targets of its own, because two daemons do not share a target"
        ) from None
    except OSError as error:
        if error.filename is None:  # the file is there, and cannot be written
            raise StateError(
                f"{place(url)}: {path} cannot be written: {error.strerror}; free some space on its disk"
            ) from None
        raise unusable_folder(url, path.parent, str(error.strerror)) from None
