import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from autoscaler.clock import Clock
from autoscaler.record.archive import Archive
from autoscaler.record.housekeeping import Retention
from autoscaler.record.lease import LeaseOptions
from autoscaler.record.ledger import Ledger
from autoscaler.record.state import State
from tests.record.empty import put_empty_state
from tests.record.hosts import Hosts
from tests.record.postgresql import empty_state
from tests.record.samples import FLEET


@pytest.fixture
def hosts(postgresql: str, tmp_path: Path) -> Iterator[Hosts]:
    """Return the hosts of one real PostgreSQL, before any of them is started."""
    hosts = Hosts(postgresql, tmp_path)
    yield hosts
    hosts.close()


each_database = pytest.mark.parametrize(
    "url", ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)], indirect=True
)
"""Runs a test on SQLite and on a real PostgreSQL: one with locks, threads or values that the two treat differently, or
with statements that no other test sends to PostgreSQL. Other tests run on SQLite alone.
"""


@pytest.fixture
def url(request: pytest.FixtureRequest) -> str | None:
    """`state.url` of an empty state: the default, SQLite, unless the test asks for `each_database`."""
    named = getattr(request, "param", "sqlite")
    return None if named == "sqlite" else empty_state(request.getfixturevalue("postgresql"))


_LASTING = LeaseOptions(timedelta(days=20), timedelta(days=10))


class Opener:
    """Opens the state under test, and closes whatever is still open at the end."""

    def __init__(self, url: str | None, folder: Path) -> None:
        self.url, self.folder = url, folder
        self._open: list[State | Archive] = []

    def state(
        self,
        retention: Retention = Retention(),  # noqa: B008 - it is frozen
        clock: Clock | None = None,
        options: LeaseOptions = _LASTING,
    ) -> State:
        """Open the state as the daemon does. On PostgreSQL it leads, unless another daemon does.

        The lease is not renewed while a test advances the `clock`, or a busy machine is slow, so it lasts for days.
        """
        if self.url is None:
            put_empty_state(self.folder)
        state = State.open(self.url, self.folder, retention, clock, options)
        self._open.append(state)
        if state.lease is not None:
            state.lease.turn()
        return state

    def ledger(self, retention: Retention = Retention()) -> Ledger:  # noqa: B008 - it is frozen
        """Return the ledger of a shard whose daemon has just started."""
        return self.state(retention).ledger(FLEET)

    def archive(self) -> Archive:
        """Open the archive as the command line does."""
        archive = Archive.open_archive(self.url, self.folder)
        self._open.append(archive)
        return archive

    def close(self) -> None:
        """Close everything that was opened, as at the daemon's end."""
        while self._open:
            self._open.pop().close()

    def restart(self) -> Ledger:
        """Return the ledger of the next daemon's shard on the same state."""
        self.close()
        return self.ledger()


@pytest.fixture
def opener(url: str | None, tmp_path: Path) -> Iterator[Opener]:
    opener = Opener(url, tmp_path / "state")
    yield opener
    opener.close()


@pytest.fixture
def postgresql_opener(postgresql: str, tmp_path: Path) -> Iterator[Opener]:
    opener = Opener(empty_state(postgresql), tmp_path / "state")
    yield opener
    opener.close()


@pytest.fixture
def short_blocks(monkeypatch: pytest.MonkeyPatch) -> int:
    """Pack pages after only a few of them, instead of an hour of them."""
    pages = 4
    monkeypatch.setattr("autoscaler.record.packing.PAGES_PER_BLOCK", pages)
    return pages


@contextmanager
def in_threads(works: Sequence[Callable[[], None]]) -> Iterator[list[BaseException]]:
    """Run each function in its own thread until the block ends. Yields the errors that they raise."""
    raised: list[BaseException] = []

    def run(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - the test looks at it
            raised.append(error)

    threads = [threading.Thread(target=run, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    yield raised
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()


def kept_for(detail: timedelta = timedelta(days=2), retention: timedelta = timedelta(days=30)) -> Retention:
    """Return a retention of these times, without a limit of bytes."""
    return Retention(detail, retention, 10**12)
