"""Slow, numerous and hostile clients of a real server."""

import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client import Gauge

from autoscaler.web.connection import Limits
from tests.servers.certificates import Authority
from tests.waiting import PATIENCE_SECONDS, until
from tests.web.clients import (
    GET,
    LARGE,
    accepted_from,
    answer,
    client,
    everything,
    is_open,
    send_for_ever,
)
from tests.web.operators import tls
from tests.web.serving import Daemon, Served, serving

HASTY = Limits(32, request_seconds=0.3, handshake_seconds=0.3)
"""For clients whose connection the server closes in any case."""
BRISK = Limits(32, request_seconds=4.0)
"""For clients that the server answers, even on a busy machine."""
PATIENT = Limits(32, request_seconds=3600.0)
"""For 32 clients that stay idle longer than a test waits."""
UNFINISHED = b"POST /-/reload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n1"
"""A request whose body is incomplete."""
RELOAD = b"POST /-/reload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"


@pytest.fixture
def certified(tmp_path: Path) -> Path:
    """A web configuration with a certificate. The authority's certificate is ca.pem in the same folder."""
    config = tmp_path / "web.yaml"
    config.write_text(tls(Authority(tmp_path)))
    return config


def test_an_answer_s_body_does_not_wait_until_the_client_has_acknowledged_its_headers(served: Served) -> None:
    """Nagle's algorithm would hold it back for the 40 ms that Linux delays an acknowledgement.

    asyncio switches it off by itself only for a socket that was made with the protocol's number.
    """
    with client(served) as asking:
        answer(asking)
        options = [
            each.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) for each in accepted_from(asking.getsockname())
        ]
    assert len(options) == 1
    assert options[0]


@pytest.mark.parametrize("sent", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: localhost\r\nX-", UNFINISHED])
def test_a_request_has_a_deadline(daemon: Daemon, sent: bytes) -> None:
    """An incomplete request keeps a connection and a file descriptor."""
    with serving(daemon, limits=HASTY) as served, client(served) as slow:
        slow.sendall(sent)
        assert everything(slow).count(b"HTTP/1.1 200") == 0


def test_the_deadline_covers_the_whole_request(daemon: Daemon) -> None:
    """A further byte does not extend it."""
    with serving(daemon, limits=HASTY) as served, client(served) as slow:
        slow.sendall(b"GET / HTTP/1.1\r\n")

        def trickle() -> bool:
            try:
                slow.sendall(b"X-Slow: 1\r\n")
            except ConnectionError:
                return True
            return not is_open(slow)

        until(trickle)


def test_a_tls_handshake_has_a_deadline(daemon: Daemon, certified: Path) -> None:
    """Asyncio's default is a minute."""
    with serving(daemon, certified, limits=HASTY) as served, client(served) as slow:
        slow.sendall(b"\x16\x03\x01")
        assert everything(slow) == b""


@contextmanager
def waiting(daemon: Daemon, limits: Limits, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A server, and an operator whose reload is answered when the block ends."""
    asked, go_on = threading.Event(), threading.Event()

    def slowly() -> tuple[str, ...]:
        asked.set()
        go_on.wait(PATIENCE_SECONDS)
        return ()

    monkeypatch.setattr(daemon, "_reload", slowly)
    with serving(daemon, limits=limits) as served, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as operator:
        operator.settimeout(PATIENCE_SECONDS)
        operator.connect(str(served.control_socket))
        operator.sendall(RELOAD)
        assert asked.wait(PATIENCE_SECONDS)
        yield served
        go_on.set()
        assert operator.recv(4096).startswith(b"HTTP/1.1 200")


@pytest.mark.slow
def test_an_answer_may_take_longer_than_a_request(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server may need long for it: a large state on a slow disk."""
    with waiting(daemon, BRISK, monkeypatch) as served, client(served) as idle:
        assert everything(idle) == b"", "the deadline of both clients has passed"


def large_metrics(daemon: Daemon, mebibytes: int) -> None:
    gauge = Gauge("autoscaler_large", "Of a test.", ["name"], registry=daemon.registry)
    for number in range(mebibytes * 1024):
        gauge.labels(f"{number}-" + "x" * 990).set(1)


@contextmanager
def slow_reader(daemon: Daemon, config: Path | None, limits: Limits) -> Iterator[tuple[Served, socket.socket]]:
    """A client with a small receive buffer that has read the first bytes of an answer of 2 MiB."""
    with ExitStack() as stack:
        served = stack.enter_context(serving(daemon, config, limits=limits))
        large_metrics(daemon, 2)
        slow = stack.enter_context(client(served, receive_bytes=4096))
        if config is not None:
            context = ssl.create_default_context(cafile=str(config.parent / "ca.pem"))
            slow = stack.enter_context(context.wrap_socket(slow, server_hostname="localhost"))
        slow.sendall(LARGE)
        assert slow.recv(10) == b"HTTP/1.1 2"
        yield served, slow


@pytest.mark.slow
@pytest.mark.parametrize("encrypted", [False, True])
def test_a_client_that_does_not_read_loses_its_connection(daemon: Daemon, certified: Path, encrypted: bool) -> None:
    """Each client that requests /metrics and does not read keeps an answer in memory."""
    limits = replace(BRISK, untaken_seconds=1.0)
    with slow_reader(daemon, certified if encrypted else None, limits) as (served, slow):
        until(lambda: not served.server._server.server_state.connections)
        assert len(everything(slow)) < 2**20


@pytest.mark.slow
@pytest.mark.parametrize("encrypted", [False, True])
def test_a_client_that_reads_slowly_gets_the_whole_answer(
    daemon: Daemon, certified: Path, encrypted: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """It may take longer than the deadline of a request, while it reads something all the time."""
    with slow_reader(daemon, certified if encrypted else None, BRISK) as (_, slow):
        found, began = 0, time.monotonic()
        while time.monotonic() - began < 1.5 * BRISK.request_seconds:
            found += len(slow.recv(2048))
            time.sleep(0.01)
        assert found + len(everything(slow)) > 2 * 2**20
    assert caplog.records == []


@pytest.mark.parametrize("sent", [b"", b"GET / HT", UNFINISHED], ids=["nothing", "a line", "a body"])
def test_the_oldest_idle_connections_are_closed_for_new_clients(daemon: Daemon, sent: bytes) -> None:
    """Idle connections must not lock out the operator's command line."""
    with serving(daemon, limits=PATIENT) as served, ExitStack() as stack:
        idle = [stack.enter_context(client(served)) for _ in range(100)]
        for each in idle[:32]:
            each.sendall(sent)
        assert served.get("/-/healthy").status_code == 200
        until(lambda: sum(is_open(each) for each in idle) <= 32)
        assert not any(is_open(each) for each in idle[:60]), "the server closes the oldest first"


def test_a_client_that_waits_for_an_answer_keeps_its_connection(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reload takes seconds. The control socket has a limit of connections too."""
    with waiting(daemon, PATIENT, monkeypatch) as served, ExitStack() as stack:
        for _ in range(200):
            idle = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            idle.settimeout(PATIENCE_SECONDS)
            idle.connect(str(served.control_socket))
        assert served.control.get("http://localhost/-/healthy", timeout=PATIENCE_SECONDS).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 5",
        "Content-Length: 5\r\nContent-Length: 6",
        "Content-Length: 5, 6",
    ],
)
def test_a_request_with_an_ambiguous_end_closes_its_connection(daemon: Daemon, headers: str) -> None:
    """Request smuggling: a proxy that sees another end would treat the rest as another client's request."""
    with serving(daemon) as served, client(served) as smuggler:
        smuggler.sendall(f"POST /-/reload HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n\r\n0\r\n\r\n".encode() + GET)
        found = everything(smuggler)
    assert found.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 403 ")), "it has no right to reload either"
    assert found.count(b"HTTP/1.1") == 1
    assert daemon.reloads == 0


@pytest.mark.slow
def test_an_endless_body_ends_at_the_deadline(daemon: Daemon) -> None:
    with serving(daemon, limits=BRISK) as served, client(served) as endless:
        head = b"GET /-/healthy HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n"
        assert answer(endless, head).startswith(b"HTTP/1.1 200")
        with pytest.raises(ConnectionError):
            send_for_ever(endless, b"x" * 65536)


def test_clients_without_tls_are_not_logged(daemon: Daemon, certified: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A port scanner must not fill the log."""
    with serving(daemon, certified) as served:
        with client(served) as plain:
            plain.sendall(GET)
            assert b"HTTP" not in everything(plain)
        with client(served) as gone, pytest.raises(ssl.SSLError):
            ssl.create_default_context().wrap_socket(gone, server_hostname="localhost")
        assert served.get("/-/healthy", verify=str(certified.parent / "ca.pem")).status_code == 200
    assert caplog.records == []
