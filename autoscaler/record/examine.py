"""Examines the state as `check --live` does: whether the daemon could open it. It creates and changes nothing."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Final

from sqlalchemy import URL, Connection, create_engine

from autoscaler.errors import StateError
from autoscaler.record import versions
from autoscaler.record.database import connect, locate, place, state_errors, unusable_folder
from autoscaler.record.schema import VERSION

_ANSWER: Final = timedelta(seconds=10)
"""How long a statement of PostgreSQL may take."""
_ELSEWHERE: Final = "not examined: this user may not use it; run the check as root, or as the daemon's user"


def examine_state(url: str | None, state_dir: Path) -> str:
    """Return what is at `url`, or of SQLite in `state_dir`. A state that a daemon uses, or that is absent, is fine.

    So is one of another user, unless root owns its folder: the daemon may run as that user. Raises StateError, as the
    daemon would, if it could not use the state.
    """
    where = locate(url, state_dir)
    name = place(where).removeprefix("state ")
    if where.get_backend_name() == "sqlite":
        path = Path(str(where.database))
        try:
            present = _exists(path)
            usable = _is_writable(where, path, present=present)
        except PermissionError:
            usable = False
        except OSError as error:
            raise unusable_folder(where, path.parent, str(error.strerror)) from None
        if not usable:
            return f"{name}, {_ELSEWHERE}"
        if not present:
            return f"{name}, which the daemon creates"
        if path.is_dir():
            raise StateError(f"{place(where)} is a folder; name a file in it (state.url)")
    with _reading(where) as connection:
        number = versions.version_of(connection, place(where))
        if number is None:
            versions.require_unused(connection, place(where))
            return f"{name}, read: the daemon creates its tables"
        versions.require_known(number, place(where))
    return f"{name}, read" + ("" if number == VERSION else "; the daemon migrates it to this version")


def _is_writable(where: URL, path: Path, *, present: bool) -> bool:
    """Return whether this user may write the file and its folder; False: another user, who owns one of them, may.

    Raises StateError if neither may, or if the path leads through a file; OSError.
    """
    folder = path.parent
    while not _exists(folder):  # the daemon creates it
        folder = folder.parent
    if not folder.is_dir():
        raise unusable_folder(where, folder, "Not a directory")
    paths = [folder, path] if present else [folder]
    closed = [each for each in paths if not os.access(each, os.R_OK | os.W_OK | (os.X_OK if each == folder else 0))]
    if not closed:
        return True
    if closed[0].stat().st_uid not in (0, os.geteuid()):
        return False
    if closed[0] == folder:
        raise unusable_folder(where, folder, "this user may not write there")
    raise StateError(f"{place(where)} cannot be written by this user; correct the owner or the mode of the file")


def _exists(path: Path) -> bool:
    """Raises OSError, also where `Path.exists` says False because this user may not look."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


@contextmanager
def _reading(where: URL) -> Iterator[Connection]:
    """Yield a connection that writes nothing. Raises StateError."""
    if where.get_backend_name() == "sqlite":
        path = Path(os.path.realpath(str(where.database)))
        # without a log, no daemon uses it; SQLite would create one to read, unless the file is immutable
        unused = not path.with_name(f"{path.name}-wal").exists()
        query = {"mode": "ro", "uri": "true"} | ({"immutable": "1"} if unused else {})
        engine = create_engine(URL.create("sqlite", database=path.as_uri(), query=query))
    else:
        engine = connect(where, read_only=True, answer=_ANSWER)
    try:
        with state_errors(where), engine.connect() as connection:
            yield connection
    finally:
        engine.dispose()
