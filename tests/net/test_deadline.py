"""One deadline applies from connecting to the last byte; after it, the connection is closed."""

import socket
import ssl
import time
from pathlib import Path
from typing import Any

import pytest
from urllib3.connection import HTTPConnection

from autoscaler.net.connection import bounded
from autoscaler.net.errors import Late
from autoscaler.net.limits import Tls
from autoscaler.net.session import Session
from tests.servers.certificates import Authority
from tests.servers.scripted import Ahead, Script, Wire, scripted

pytestmark = pytest.mark.slow  # a third of a second each, and there are many
SECONDS = 0.3
LATE_SECONDS = 30.0
"""Tolerance of the deadline on a busy machine; the scripts last much longer."""


def trickled(begin: bytes, again: bytes) -> Script:
    """Return a script that answers with `begin`, then with `again` without end."""

    def script(wire: Wire) -> None:
        wire.read()
        wire.send(begin)
        wire.repeat(again)

    return script


def silence(wire: Wire) -> None:
    wire.hang()


def half_of_an_answer(wire: Wire) -> None:
    wire.read()
    wire.send(OK + b"Content-Length: 100\r\n\r\n{}")
    wire.hang()


OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
LONG = b"Content-Length: 1000000\r\n\r\n"
SCRIPTS = {
    "status line": trickled(b"HTTP/1.1 200 O", b"K"),
    "headers": trickled(OK + b"X-Endless: ", b"a"),
    "interim answers": trickled(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "body": trickled(OK + LONG, b" "),
    "body without length": trickled(OK + b"\r\n", b" "),
    "chunks": trickled(CHUNKED, b"1\r\n \r\n"),
    "chunk size": trickled(CHUNKED + b"1;", b"x"),
    "trailers": trickled(CHUNKED + b"0\r\n", b"X-Trailer: 1\r\n"),
    "gzip": trickled(OK + b"Content-Encoding: gzip\r\n" + LONG + b"\x1f\x8b\x08\x08" + b"\0" * 6, b"n"),
    "silence": silence,
    "half of an answer": half_of_an_answer,
}


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"))


@pytest.fixture(scope="module")
def server_tls(authority: Authority) -> ssl.SSLContext:
    pair = authority.sign("server", "127.0.0.1")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.cert, pair.key)
    return context


def late(session: Session, url: str, **request: Any) -> None:
    began = time.monotonic()
    with pytest.raises(Late, match=r"^did not answer within 0\.3 s$"):
        session.request("POST" if request else "GET", url, timeout=SECONDS, **request)
    assert time.monotonic() - began < SECONDS + LATE_SECONDS


@pytest.mark.parametrize("encrypted", [False, True])
@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
def test_an_endless_answer_ends_at_the_deadline_and_its_connection_is_closed(
    authority: Authority, server_tls: ssl.SSLContext, script: Script, encrypted: bool
) -> None:
    """Each byte resets a time-out for one wait. Python's TLS waits in other places than its sockets."""
    with scripted(script, server_tls if encrypted else None) as server, Session(Tls(authority.ca)) as session:
        late(session, server.url.replace("http:", "https:" if encrypted else "http:"))
        assert server.client_left()


def trickled_handshake(wire: Wire) -> None:
    """Announce a record of 16 KiB and send it byte by byte."""
    wire.send(b"\x16\x03\x03\x40\x00\x02\x00\x3f\xfc")
    wire.repeat(b"\x00")


@pytest.mark.parametrize("script", [silence, trickled_handshake])
def test_a_tls_handshake_ends_at_the_deadline(authority: Authority, script: Script) -> None:
    """A port forward whose other end is gone accepts and sends nothing."""
    with scripted(script) as server, Session(Tls(authority.ca)) as session:
        late(session, server.url.replace("http:", "https:"))
        assert server.client_left()


@pytest.mark.parametrize("encrypted", [False, True])
def test_a_send_to_a_peer_that_does_not_read_ends_at_the_deadline(
    authority: Authority, server_tls: ssl.SSLContext, encrypted: bool
) -> None:
    """A send waits for the peer once its buffers are full."""

    def sip(wire: Wire) -> None:
        for _ in range(30):
            wire.pause(0.02)
            wire.connection.recv(1024)
        wire.hang()  # reads on to the end

    with scripted(sip, server_tls if encrypted else None) as server, Session(Tls(authority.ca)) as session:
        late(session, server.url.replace("http:", "https:" if encrypted else "http:"), data=b"x" * 2**25)
        assert server.client_left()


def test_the_parts_of_an_exchange_share_one_deadline(session: Session) -> None:
    """Headers and each half of the body arrive within a time-out of 0.3 s each."""

    def slow(wire: Wire) -> None:
        wire.read()
        for part in (b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n", b"\r\n", b"{ ", b" }"):
            wire.pause(SECONDS * 0.6)
            wire.send(part)

    with scripted(slow) as server:
        late(session, server.url)


def test_a_kept_connection_has_each_exchanges_own_deadline(session: Session) -> None:
    """A deadline left on a socket would end the next cycle's exchange."""

    def twice(wire: Wire) -> None:
        wire.read()
        wire.answer(b"1")
        wire.read()
        wire.pause(5)
        wire.answer(b"2")

    with scripted(twice) as server:
        assert session.get(server.url, timeout=4).text == "1"
        assert session.get(server.url, timeout=30).text == "2"
        assert server.accepted == 1


def test_a_late_answer_is_not_taken_for_the_next(session: Session) -> None:
    """It belongs to a request of the previous cycle."""

    def late_once(wire: Wire) -> None:
        wire.read()
        if len(server.requests) == 1:
            wire.pause(SECONDS * 2)
            wire.answer(b"old")
        wire.answer(b"new")

    with scripted(late_once) as server:
        late(session, server.url)
        assert session.get(server.url, timeout=10).text == "new"


def test_a_proxy_that_hangs_before_and_after_its_answer_is_left_at_one_deadline(
    monkeypatch: pytest.MonkeyPatch, authority: Authority
) -> None:
    """The handshake through it must not start its own time-out, of a minute. The proxy answers half a second before."""
    clock = Ahead()
    monkeypatch.setattr("autoscaler.net.session.time", clock)

    def tunnel(wire: Wire) -> None:
        wire.read()
        clock.passed = 59.5
        wire.send(b"HTTP/1.1 200 OK\r\n\r\n")
        wire.hang()

    with scripted(tunnel) as proxy, Session(Tls(authority.ca), environment=True) as session:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        began = time.monotonic()
        with pytest.raises(Late):
            session.get("https://prometheus.example/", timeout=60)
        assert time.monotonic() - began < 40
        assert proxy.client_left()


def test_without_time_left_nothing_is_sent(session: Session, tmp_path: Path) -> None:
    """Nothing is sent."""
    with scripted(silence) as server:
        with pytest.raises(Late):
            session.get(server.url, timeout=-1)
        assert server.accepted == 0


def test_a_connection_that_succeeds_at_the_deadline_is_closed() -> None:
    """It is reached between connecting and the first byte; no caller has the socket yet."""
    ours, theirs = socket.socketpair()
    seconds = iter((1.0, 0.0))
    connection = bounded(HTTPConnection, lambda: next(seconds), dial=lambda _: ours)("host")
    with theirs, pytest.raises(TimeoutError):
        connection.connect()
    assert ours.fileno() == -1
