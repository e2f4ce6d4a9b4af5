from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from sqlalchemy import create_engine, text

from autoscaler.record import Archive, Store
from tests.record.postgresql import running_postgresql


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    with running_postgresql() as server:
        yield server


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def url(request: pytest.FixtureRequest) -> str | None:
    """`state.url` of an empty state: the default, SQLite, and a database of a real PostgreSQL."""
    if request.param == "sqlite":
        return None
    server: str = request.getfixturevalue("postgresql")
    name = f"test_{uuid4().hex}"
    engine = create_engine(f"{server}/postgres".replace("postgresql:", "postgresql+psycopg:"))
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return f"{server}/{name}"


class Opener:
    """Opens the state under test, and closes whatever is still open at the end."""

    def __init__(self, url: str | None, folder: Path) -> None:
        self.url, self.folder = url, folder
        self._open: list[Archive] = []

    def store(self, retention: timedelta = timedelta(days=30)) -> Store:
        """As the daemon opens it."""
        store = Store.open(self.url, self.folder, retention)
        self._open.append(store)
        return store

    def archive(self) -> Archive:
        """As the command line opens it."""
        archive = Archive.open_archive(self.url, self.folder)
        self._open.append(archive)
        return archive

    def close(self) -> None:
        """Everything opened so far, as at the daemon's end."""
        while self._open:
            self._open.pop().close()


@pytest.fixture
def opener(url: str | None, tmp_path: Path) -> Iterator[Opener]:
    opener = Opener(url, tmp_path / "state")
    yield opener
    opener.close()


@pytest.fixture
def sqlite_opener(tmp_path: Path) -> Iterator[Opener]:
    opener = Opener(None, tmp_path / "state")
    yield opener
    opener.close()
