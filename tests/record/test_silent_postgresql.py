"""A PostgreSQL that vanishes or sends nothing more ends a call in time, and uses up no connection.

An operating system notices a vanished machine after two hours, and never a proxy that swallows replies.
"""

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import make_url, text

from autoscaler.errors import StateError
from autoscaler.record import database as databases
from autoscaler.record.database import Database, Readers, locate
from autoscaler.record.housekeeping import Retention
from autoscaler.record.state import State
from tests.record.conftest import in_threads
from tests.record.postgresql import empty_state
from tests.record.samples import at
from tests.servers.tcp_proxy import TcpProxy, running_tcp_proxy

pytestmark = pytest.mark.slow
A_WHOLE_POOL = 15


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the waits for lost replies short."""
    monkeypatch.setattr(databases, "ANSWER", timedelta(seconds=1))
    from autoscaler.record import postgresql

    monkeypatch.setattr(postgresql, "_GRACE_SECONDS", 0.5)


@pytest.fixture
def proxied(postgresql: str, tmp_path: Path) -> Iterator[tuple[TcpProxy, str]]:
    """Return a proxy, and the address of an empty state behind it."""
    server = make_url(empty_state(postgresql))
    assert server.port is not None
    with running_tcp_proxy(server.port) as proxy:
        yield proxy, server.set(port=proxy.port).render_as_string(hide_password=False)


def test_lost_replies_end_their_calls_and_use_up_no_connection(
    short: None, proxied: tuple[TcpProxy, str], tmp_path: Path
) -> None:
    """Every connection of a pool waits for a reply that never comes; afterwards the state works again."""
    proxy, address = proxied
    readers = Readers(locate(address, tmp_path), answer=timedelta(seconds=1))
    begun, cut = threading.Barrier(A_WHOLE_POOL + 1), threading.Event()
    failures: list[str] = []

    def read() -> None:
        try:
            with readers.begin() as connection:
                connection.execute(text("SELECT 1"))
                begun.wait(60)
                cut.wait(60)
                connection.execute(text("SELECT 1"))
        except StateError as failure:
            failures.append(str(failure))

    with in_threads([read] * A_WHOLE_POOL) as raised:
        begun.wait(60)
        proxy.cut(silent=True)
        cut.set()
    assert raised == []
    assert len(failures) == A_WHOLE_POOL
    assert [each for each in failures if "it has not answered for" not in each] == []
    proxy.mend()
    with readers.begin() as connection:
        assert connection.execute(text("SELECT 1")).scalar_one() == 1
    readers.close()


def test_a_lost_reply_ends_a_round_of_housekeeping(short: None, proxied: tuple[TcpProxy, str], tmp_path: Path) -> None:
    """The next round works again; before, the thread hung for ever and nothing was packed or deleted any more."""
    proxy, address = proxied
    state = State.open(address, tmp_path, Retention())
    state.tidy(at(0))
    proxy.cut(silent=True)
    with pytest.raises(StateError):
        state.tidy(at(3600))
    proxy.mend()
    with suppress(StateError):  # of the pool's other connections
        state.tidy(at(3600))
    state.tidy(at(7200))
    state.close()


def test_a_slow_statement_is_given_up_by_the_server(postgresql: str, tmp_path: Path) -> None:
    """Otherwise it would go on there, with its locks, after this program has given it up."""
    database = Database(locate(empty_state(postgresql), tmp_path), answer=timedelta(milliseconds=100))
    with pytest.raises(StateError, match="statement timeout"), database.writing() as connection:
        connection.execute(text("SELECT pg_sleep(60)"))
    database.close()


@pytest.mark.parametrize(("query", "idle"), [("", 5), ("?keepalives_idle=60", 60)])
def test_the_kernel_notices_a_vanished_server_in_ten_seconds(
    postgresql: str, tmp_path: Path, query: str, idle: int
) -> None:
    """With a query in flight nothing is sent, so only probes show that the machine is gone. An address may set others,
    behind a firewall that counts packets for example.
    """
    engine = databases.connect(locate(f"{empty_state(postgresql)}{query}", tmp_path))
    with engine.connect() as connection:
        driver = connection.connection.driver_connection
        assert driver is not None
        with socket.socket(fileno=os.dup(driver.fileno())) as seen:
            assert seen.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
            names = ("TCP_KEEPIDLE", "TCP_KEEPINTVL", "TCP_KEEPCNT", "TCP_USER_TIMEOUT")
            limits = [seen.getsockopt(socket.IPPROTO_TCP, getattr(socket, name)) for name in names]
    engine.dispose()
    assert limits == [idle, 2, 3, 10_000]
