"""A state of schema version 1 becomes one of this version, beside which the old one stays.

On SQLite the new state is made in a file of its own and then takes the old one's name, in one step of the file system:
whenever the process is killed, the next start finds either the old state or the finished new one under that name. On
PostgreSQL one transaction does it all.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sqlalchemy import URL, Connection, text

from autoscaler.errors import StateError
from autoscaler.record import database as databases
from autoscaler.record import versions
from autoscaler.record.database import driver_of, opened
from autoscaler.record.folder import remove_database, sync
from autoscaler.record.values import Takeover

if TYPE_CHECKING:
    from autoscaler.record.conversion import Converted

_SUFFIX: Final = ".v1"
"""Of the old file's name from then on."""
_UNFINISHED: Final = ".new"
"""Of the new file's name until then."""


def take_over(url: URL) -> Takeover | None:
    """Take over the SQLite file, if it is of version 1, while no other daemon can open it. Raises StateError.

    None: there was nothing to take over.
    """
    begin = time.monotonic()
    path = Path(str(url.database))
    if not path.exists() or _version(url) != 1:
        return None
    kept, new = path.with_name(path.name + _SUFFIX), path.with_name(path.name + _UNFINISHED)
    if kept.exists() and not kept.samefile(path):
        raise StateError(
            f"{databases.place(url)} was written by an older version, and {kept}, where it would be kept, is there "
            "already; move that file away"
        )
    _checkpoint(url)
    with _os_errors(url):
        remove_database(new)
    try:
        converted = _convert(url, url.set(database=str(new)))
        with _os_errors(url):
            sync(new)
            if not kept.exists():
                os.link(path, kept)
            sync(path.parent)  # the old file has its second name before it loses its first
            new.replace(path)
            sync(path.parent)
    except BaseException:
        remove_database(new)
        raise
    return _report(converted, str(kept), begin)


def take_over_tables(connection: Connection, place: str) -> Takeover:
    """Take over a PostgreSQL database of version 1, within the caller's transaction. Raises StateError."""
    from autoscaler.record import conversion, version1  # noqa: PLC0415 - a megabyte that other starts need not have

    begin = time.monotonic()
    connection.execute(text(f"CREATE SCHEMA {version1.SCHEMA}"))
    for table in version1.metadata.tables.values():
        connection.execute(text(f"ALTER TABLE {table.name} SET SCHEMA {version1.SCHEMA}"))
    versions.create(connection, place)
    return _report(conversion.convert(connection), f"schema {version1.SCHEMA}", begin)


def _version(url: URL) -> int | None:
    with opened(url) as connection:
        return versions.version(connection, databases.place(url))


def _checkpoint(url: URL) -> None:
    """Bring everything into the one file: its log goes."""
    with opened(url) as connection:
        driver_of(connection).execute("PRAGMA journal_mode=DELETE").fetchall()


def _convert(old: URL, new: URL) -> "Converted":
    from autoscaler.record import conversion, version1  # noqa: PLC0415 - as above

    with opened(new, named=old) as connection:
        driver = driver_of(connection)
        driver.execute("PRAGMA journal_mode=DELETE").fetchall()  # no second file whose loss would matter
        driver.execute(f"ATTACH ? AS {version1.SCHEMA}", (old.database,))
        with connection.begin():
            versions.create(connection, databases.place(old))
            return conversion.convert(connection)


@contextmanager
def _os_errors(url: URL) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StateError(
            f"{databases.place(url)} was written by an older version and cannot be taken over: {error.strerror}; check "
            "its folder, or move it away to start without a memory"
        ) from error


def _report(converted: "Converted", kept: str, begin: float) -> Takeover:
    return Takeover(
        kept=kept,
        autoscalers=converted.autoscalers,
        decisions=converted.decisions,
        events=converted.events,
        seconds=time.monotonic() - begin,
        problems=tuple(converted.problems),
    )
