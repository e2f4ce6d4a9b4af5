"""Examines the state as `check --live` does: whether the daemon could open it. It creates and changes nothing."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Final

from sqlalchemy import URL, Connection, create_engine

from autoscaler.record import versions
from autoscaler.record.database import connect, locate, place, state_errors, unusable_folder
from autoscaler.record.schema import VERSION

_ANSWER: Final = timedelta(seconds=10)
"""How long a statement of PostgreSQL may take."""
_ELSEWHERE: Final = "not examined: this user may not use it; run the check as root, or as the daemon's user"


def examine_state(url: str | None, state_dir: Path) -> str:
    """Return what is at `url`, or of SQLite in `state_dir`. A state that a daemon uses, or that is absent, is fine.

    So is one that this user may not open: the daemon may run as another user. Raises StateError for a state with which
    the daemon could not begin.
    """
    where = locate(url, state_dir)
    name = place(where).removeprefix("state ")
    if where.get_backend_name() == "sqlite":
        path = Path(str(where.database))
        try:
            os.close(os.open(path, os.O_RDWR | os.O_NONBLOCK))
        except PermissionError:
            return f"{name}, {_ELSEWHERE}"
        except FileNotFoundError:
            return f"{name}, which the daemon creates"
        except OSError as error:
            raise unusable_folder(where, path, str(error.strerror)) from None
    with _reading(where) as connection:
        number = versions.version_of(connection, place(where))
        if number is None:
            versions.require_unused(connection, place(where))
            return f"{name}, read: the daemon creates its tables"
        versions.require_known(number, place(where))
    return f"{name}, read" + ("" if number == VERSION else "; the daemon migrates it to this version")


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
