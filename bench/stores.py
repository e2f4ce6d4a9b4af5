"""The two databases of `bench.state`: what a state keeps and writes in each."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Protocol

import psycopg

from autoscaler.clock import SystemClock
from autoscaler.record.housekeeping import Retention
from autoscaler.record.lease import LeaseOptions
from autoscaler.record.state import State
from tests.record.postgresql import empty_state, running_server

DETAIL: Final = timedelta(days=7)
"""More than a bench records."""
_LASTS: Final = timedelta(hours=1)
"""A lease that does not end while VACUUM runs on a busy machine."""
_RENEWAL_SECONDS: Final = 2.0
"""`ha.retryPeriod`."""


class Store(Protocol):
    """A new state, and the bytes that it costs."""

    state: State

    def written(self) -> int:
        """Return the bytes written so far."""

    def kept(self) -> int:
        """Return the bytes of what is kept now."""

    def checkpoint(self) -> None:
        """Do what PostgreSQL does every five minutes (`checkpoint_timeout`)."""

    def keep_lease(self) -> None:
        """Renew the lease when it is due."""


class _Sqlite:
    def __init__(self, folder: Path) -> None:
        self._file = folder / "state.db"
        self.state = State.open(None, folder, Retention(detail=DETAIL))

    def written(self) -> int:
        """Return what this process made the kernel send to the device, in pages of 4 KiB (man 5 proc_pid_io)."""
        lines = Path("/proc/self/io").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("write_bytes")).split()[1])

    def kept(self) -> int:
        """Return the bytes of the file's pages that hold something."""
        connection = sqlite3.connect(self._file)
        pages, free, size = (
            connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
        )
        connection.close()
        return int((pages - free) * size)

    def checkpoint(self) -> None:
        """Do nothing: SQLite has its own after 1,000 pages."""

    def keep_lease(self) -> None:
        """Do nothing: it has none."""


class _Postgresql:
    def __init__(self, address: str, folder: Path) -> None:
        url = empty_state(address)
        self._connection = psycopg.connect(f"{address}/postgres", autocommit=True)
        self._schema = psycopg.conninfo.conninfo_to_dict(url)["user"]
        self.state = State.open(url, folder, Retention(detail=DETAIL), SystemClock(), LeaseOptions(*[_LASTS] * 3))
        self._renewed = -_RENEWAL_SECONDS
        self.keep_lease()

    def written(self) -> int:
        """Return the bytes of the log (WAL), which is written before the tables' own files."""
        return int(self._ask("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')"))

    def kept(self) -> int:
        """Return the bytes of all tables with their indexes, after the rows that are dead were removed."""
        self._connection.execute("VACUUM FULL")
        sizes = "SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace"
        return int(self._ask(f"{sizes} WHERE relkind = 'r' AND nspname = '{self._schema}'"))

    def checkpoint(self) -> None:
        """Let the next change of each page write the whole page."""
        self._connection.execute("CHECKPOINT")

    def keep_lease(self) -> None:
        """Renew the lease every two seconds, as a leader does."""
        if time.monotonic() - self._renewed >= _RENEWAL_SECONDS:
            assert self.state.lease is not None
            self.state.lease.turn()
            self._renewed = time.monotonic()

    def close(self) -> None:
        self._connection.close()

    def _ask(self, query: str) -> Any:
        found = self._connection.execute(query.encode()).fetchone()
        assert found is not None
        return found[0]


@contextmanager
def sqlite() -> Iterator[Store]:
    """Yield an SQLite state in a folder of its own, which is removed."""
    with TemporaryDirectory() as folder:
        store = _Sqlite(Path(folder))
        yield store
        store.state.close()


@contextmanager
def postgresql() -> Iterator[Store]:
    """Yield a state on a PostgreSQL of its own, which this process leads. Skips as tests do if there is no server."""
    with running_server("full_page_writes=on") as server, TemporaryDirectory() as folder:
        store = _Postgresql(server.address, Path(folder))
        yield store
        store.state.close()
        store.close()
