"""Connections to the state: where it is, how safely it is kept, and what its failures mean.

SQLite runs with a write-ahead log and synchronous=FULL: a commit is on the disk before it returns, so an intent
survives kill -9 and, where the disk honours fsync, a loss of power. A cycle commits twice at most, so that the price is
two flushes a cycle. NORMAL would survive kill -9 as well, and could forget the last commits when the power fails.
"""

import fcntl
import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final, TextIO
from uuid import uuid4

from sqlalchemy import URL, Connection, Engine, create_engine, event, func, make_url, select
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError

from autoscaler.errors import StateError
from autoscaler.record.fair_lock import FairLock
from autoscaler.record.folder import make_private, make_private_folder, open_private

_FORMS: Final = "expected sqlite:////a/file.db or postgresql://user@host/database"
_BUSY_SECONDS: Final = 5.0
"""How long another process may hold SQLite's write lock before a cycle gives up."""
_TURN_SECONDS: Final = 10.0
"""How long a thread waits for its turn to write to SQLite before its cycle gives up."""
_POSTGRESQL_LIMITS: Final = {"connect_timeout": 5, "tcp_user_timeout": 10_000}
"""Seconds to connect, and milliseconds until a silent server counts as gone."""
_LOCK_SECONDS: Final = 5
"""How long a transaction waits for another's rows: PostgreSQL's default is for ever."""
_OPTION: Final = re.compile(r"(?:-c *|--)([A-Za-z_][\w.-]*)=")
"""A setting's name among the options of an address (https://www.postgresql.org/docs/current/app-postgres.html)."""
_IDLE: Final = timedelta(seconds=30)
"""How long a transaction may leave the server waiting while it holds rows itself, by default."""
_MARK: Final = "autoscaler.session"
"""A variable of a session, which means something to nobody else."""
_LOG_LIMIT_BYTES: Final = 64 * 2**20
"""What SQLite's write-ahead log is cut back to once it has been written into the database."""

_LEAST_BYTES: Final = 32_768
"""What opening SQLite's write-ahead log takes (https://www.sqlite.org/walformat.html, the WAL-index)."""

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
    "25006": "it is a standby, or set read-only; name the server that may be written to (state.url)",
    "42501": "give this user the right to make tables there, or those of the user who made them",
    "53100": "free some space on its disk",
    "53300": "raise its max_connections, or end some of them",
    "55P03": "another session holds rows locked; pg_stat_activity there shows which",
}
"""By SQLSTATE (https://www.postgresql.org/docs/current/errcodes-appendix.html); other messages say what to do."""


def locate(url: str | None, state_dir: Path) -> URL:
    """The database's address; None: `state.db` in `state_dir`. Raises StateError; no message shows a password."""
    if url is None:
        return URL.create("sqlite", database=str((state_dir / "state.db").absolute()))
    try:
        found = make_url(url)
    except (ArgumentError, ValueError):
        raise StateError(f"state.url is not a valid database address; {_FORMS}") from None
    kind = found.get_backend_name()
    if kind == "sqlite" and found.database in (None, "", ":memory:"):
        raise StateError("state.url does not name a file, and what is remembered must outlive the daemon; name a file")
    if kind == "sqlite":
        return URL.create("sqlite", database=str(Path(str(found.database)).absolute()))
    if kind == "postgresql":
        return found.set(drivername="postgresql+psycopg")
    raise StateError(f"state.url is of the kind {kind!r}; {_FORMS}")


def place(url: URL) -> str:
    """How messages call it: the file, or the address without its password."""
    if url.get_backend_name() == "sqlite":
        return f"state {url.database}"
    return f"state {url.set(drivername='postgresql', query={}).render_as_string(hide_password=True)}"


def connect(
    url: URL,
    *,
    read_only: bool = False,
    idle: timedelta = _IDLE,
    sessions: str | None = None,
) -> Engine:
    """A pool of connections; connects at first use. Raises StateError.

    `idle`: how long a transaction may leave PostgreSQL waiting while it holds rows that others wait for. `sessions`:
    how they are called there (application_name); None: as the address says.
    """
    try:
        if url.get_backend_name() != "sqlite":
            limits: dict[str, Any] = {name: seen for name, seen in _POSTGRESQL_LIMITS.items() if name not in url.query}
            if options := _options(url):
                limits["options"] = options
            if sessions is not None:
                limits["application_name"] = sessions
            # a reader's statements see one state, as on SQLite: between two of them rows may move into a block
            level = "REPEATABLE READ" if read_only else "READ COMMITTED"
            engine = create_engine(
                url,
                pool_pre_ping=True,
                connect_args=limits,
                isolation_level=level,
                pool_use_lifo=True,  # one session stays in use: what it has read counts (`member_rows`)
            )
            event.listen(engine, "connect", partial(_limit_session, url, idle))
            return engine
        if not read_only:
            make_private(Path(str(url.database)))
        engine = create_engine(_sqlite_uri(url, read_only=read_only), connect_args={"timeout": _BUSY_SECONDS})
    except (ImportError, NoSuchModuleError):
        raise StateError(
            f"{place(url)} needs a driver that is not installed; pip install 'prometheus-autoscaler[postgresql]'"
        ) from None

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # sqlite3 would begin transactions by itself, and late
        if not read_only:
            connection.execute("PRAGMA auto_vacuum=INCREMENTAL")  # heeded before the first table is made
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute(f"PRAGMA journal_size_limit={_LOG_LIMIT_BYTES}")

    @event.listens_for(engine, "begin")
    def begin(connection: Any) -> None:
        # a writer that took the lock only at its first write could find that another has written since it began to read
        connection.exec_driver_sql("BEGIN" if read_only else "BEGIN IMMEDIATE")

    return engine


def _limit_session(url: URL, idle: timedelta, connection: Any, _record: Any) -> None:
    """Set the limits of a new PostgreSQL session by SQL, apart from those that the address sets. Raises StateError.

    A pooler may drop the options of a connection and say nothing (PgBouncer's ignore_startup_parameters): so ours are
    not sent as such, and the address' own are looked for.
    """
    milliseconds = max(1, idle // timedelta(milliseconds=1))
    ours = {"lock_timeout": f"{_LOCK_SECONDS}s", "idle_in_transaction_session_timeout": str(milliseconds)}
    asked = {name.replace("-", "_").lower() for name in _OPTION.findall(_options(url))}
    here = "SELECT lower(name) FROM pg_settings WHERE lower(name) = ANY(%s) AND source = 'client'"
    if asked and (dropped := asked - {name for (name,) in connection.execute(here, ([*asked],)).fetchall()}):
        connection.close()
        raise StateError(
            f"{place(url)}: {', '.join(sorted(dropped))} of the address' options did not reach PostgreSQL; a pooler in "
            "between drops them: set them with ALTER ROLE … SET, and take them out of state.url"
        )
    for name in ours.keys() - asked:
        connection.execute("SELECT set_config(%s, %s, false)", (name, ours[name]))
    connection.commit()


def _options(url: URL) -> str:
    return " ".join(url.normalized_query.get("options", ()))


def _sqlite_uri(url: URL, *, read_only: bool) -> URL:
    path = Path(str(url.database))
    if not read_only:
        return url
    try:
        readable = path.stat() and os.access(path, os.R_OK)
    except (FileNotFoundError, NotADirectoryError):
        raise StateError(f"{place(url)} does not exist; has the daemon run with this configuration?") from None
    except OSError:  # of a folder above it
        readable = False
    if not readable:
        raise StateError(f"{place(url)} cannot be read by this user; run the command as the daemon's own user")
    # quoted by as_uri; `uri=true` makes sqlite3 read the parameters
    return URL.create("sqlite", database=f"{path.as_uri()}", query={"mode": "ro", "uri": "true"})


class Database:
    """Where the state is, for those who write it: any number of threads, on SQLite one after another."""

    def __init__(self, url: URL, *, idle: timedelta = _IDLE, sessions: str | None = None) -> None:
        """Connects at first use; `idle` and `sessions` as of `connect`. Raises StateError."""
        self.url: Final = url
        self.sqlite: Final = url.get_backend_name() == "sqlite"
        self._engine = connect(url, idle=idle, sessions=sessions)
        self._turn = FairLock()

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that is committed when the block ends. Raises StateError: whether it was is then unknown."""
        if not self.sqlite:
            with state_errors(self.url), self._engine.begin() as connection:
                yield connection
            return
        if not self._turn.acquire(_TURN_SECONDS):
            raise StateError(
                f"{place(self.url)}: another write has been under way for {_TURN_SECONDS:.0f} s; check its disk"
            )
        try:
            with state_errors(self.url), self._engine.begin() as connection:
                yield connection
        finally:
            self._turn.release()

    def require_sessions(self) -> None:
        """Raise StateError where a connection to PostgreSQL is not one session from its begin to its end.

        A pooler of transactions gives each one a session that is free then. Limits of a session would hold for others
        or be lost, and its locks could not be told from theirs.
        """
        mark = uuid4().hex
        with state_errors(self.url), self._engine.connect() as one, self._engine.connect() as other:
            one.execute(select(func.set_config(_MARK, mark, False)))
            one.commit()
            other.execute(select(1))  # its transaction holds the session that a pooler has free
            kept = one.execute(select(func.current_setting(_MARK, True))).scalar_one() == mark
        if not kept:
            raise StateError(
                f"{place(self.url)}: a pooler in between pools transactions, and a daemon needs sessions of its own; "
                "set pool_mode = session there (PgBouncer), or name PostgreSQL itself in state.url"
            )

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()


@contextmanager
def opened(url: URL, *, named: URL | None = None, read_only: bool = False) -> Iterator[Connection]:
    """A connection that nothing else uses. `named`: how messages call the state, if not by `url`. Raises StateError."""
    engine = connect(url, read_only=read_only)
    try:
        with state_errors(named or url), engine.connect() as connection:
            yield connection
    finally:
        engine.dispose()


def driver_of(connection: Connection) -> sqlite3.Connection:
    """For what cannot be done in a transaction: SQLAlchemy begins one with the first statement."""
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)  # noqa: S101 - for mypy: it is the driver that SQLite has
    return driver


@contextmanager
def state_errors(url: URL) -> Iterator[None]:
    """Turn the database's failures into a StateError that names the state, the cause and the remedy."""
    try:
        yield
    except DBAPIError as error:
        raise StateError(f"{place(url)}: {_cause(error.orig, url)}") from error
    except sqlite3.Error as error:  # from what is done without SQLAlchemy
        raise StateError(f"{place(url)}: {_cause(error, url)}") from error
    except SQLAlchemyError as error:
        raise StateError(f"{place(url)}: {type(error).__name__}: {_first_line(error)}") from error


def _cause(error: BaseException | None, url: URL) -> str:
    name = getattr(error, "sqlite_errorname", None)
    if name is None:
        remedy = _POSTGRESQL_REMEDIES.get(getattr(error, "sqlstate", None) or "")
        return f"the database failed: {_first_line(error)}" + (f"; {remedy}" if remedy else "")
    if name.startswith("SQLITE_IOERR") and _disk_is_full(url):  # SQLite says so only of some of its files
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


class FileLock:
    """Keeps a second daemon off one SQLite file: two would each scale the same targets.

    The kernel lets go of it however the process ends. On PostgreSQL daemons share the state (`leases`).
    """

    def __init__(self, url: URL) -> None:
        path = Path(f"{url.database}.lock")
        try:
            make_private_folder(path.parent)
            self._file: TextIO = os.fdopen(open_private(path), "a+", encoding="ascii")
        except OSError as error:
            raise StateError(
                f"{place(url)}: {path.parent} cannot be used: {error.strerror}; name a folder that this user may "
                "write to ($STATE_DIRECTORY or state.url)"
            ) from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.seek(0)
            owner = self._file.read().strip() or "unknown"
            self._file.close()
            raise StateError(
                f"{place(url)} is in use by another daemon (pid {owner}); stop that one, or give this one a state of "
                "its own (state.url)"
            ) from None
        try:
            self._file.truncate(0)
            self._file.write(f"{os.getpid()}\n")
            self._file.flush()
        except OSError as error:
            with suppress(OSError):  # closing tries to write it once more
                self._file.close()
            raise StateError(
                f"{place(url)}: {path} cannot be written: {error.strerror}; free some space on its disk"
            ) from None

    def release(self) -> None:
        """Let another daemon have it."""
        self._file.close()
