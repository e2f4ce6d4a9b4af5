"""The files of an open SQLite state. What is committed to a file that was moved or deleted is lost."""

import os
import sqlite3
from pathlib import Path
from typing import Final

from sqlalchemy import URL

from autoscaler.errors import StateError
from autoscaler.net.file_lock import FileLock, is_at
from autoscaler.record.database import state_errors


class StateFiles:
    """Compares the files at the state's paths with those that the daemon opened. Any thread can use it."""

    def __init__(self, url: URL, lock: FileLock) -> None:
        """Called when the database has been written once. Raises StateError."""
        database = Path(os.path.realpath(str(url.database)))  # SQLite's files are beside the file itself, not its link
        # while a connection is open, SQLite removes neither its log nor the log's index
        with state_errors(url):
            self._open: Final = sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True, check_same_thread=False)
            self._open.execute("SELECT 1 FROM sqlite_master").fetchall()
        self._lock: Final = lock
        paths = (Path(str(url.database)), *[Path(f"{database}{suffix}") for suffix in ("-wal", "-shm")])
        self._known: Final = {path: path.stat() for path in paths if path.exists()}

    def require_same(self) -> None:
        """Raise StateError if a file was moved, deleted or replaced. It works again when the file is put back."""
        gone = [self._lock.path] if not self._lock.in_place else []
        gone += [path for path, known in self._known.items() if not is_at(path, known)]
        if gone:
            raise StateError(
                f"the state's file {gone[0]} was moved, deleted or replaced while the daemon uses it, so nothing is "
                "committed and no size is written; put the file back, or restart the daemon"
            )

    def close(self) -> None:
        """Close the file."""
        self._open.close()
