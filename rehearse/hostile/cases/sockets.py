"""Hostile clients of the daemon's own socket."""

import resource
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Final

import requests

from rehearse.hostile.case import Case, Day
from tests.daemon import flooding

_IDLE: Final = 1_100
"""A number that exceeds the daemon's descriptors."""
_CONNECTS_SECONDS: Final = 0.5
_CLOSES_SECONDS: Final = 60.0
"""Within this time the daemon closes the connection of an idle client."""


@contextmanager
def connected(day: Day, count: int) -> Iterator[list[socket.socket]]:
    """Open so many connections, as far as the daemon accepts them. If its queue is full, the kernel tries again."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with ExitStack() as held:
        connections = [held.enter_context(flooding.connected(day.world.daemon.url)) for _ in range(count)]
        time.sleep(_CONNECTS_SECONDS)
        yield connections


def _seconds_of(day: Day, path: str = "/-/healthy") -> float:
    """Return the duration of a request; infinite: it is not answered."""
    began = time.monotonic()
    try:
        day.world.daemon.ask(path, timeout=4 * day.world.bounds.answers_seconds)
    except requests.RequestException:
        return float("inf")
    return time.monotonic() - began


def expect_an_answer(day: Day, when: str) -> None:
    """Note a problem unless an ordinary request is answered soon."""
    seconds = _seconds_of(day)
    day.expect(seconds <= day.world.bounds.answers_seconds, f"a request took {seconds:.1f} s {when}")


def _idle(day: Day) -> None:
    with connected(day, _IDLE):
        day.lasts()
    expect_an_answer(day, "after the flood")


def _slow_heads(day: Day) -> None:
    """Send a header line from time to time, and never the last one."""
    with connected(day, _IDLE // 2) as connections:
        for connection in connections:
            with suppress(OSError):
                connection.sendall(b"GET /-/healthy HTTP/1.1\r\nHost: localhost\r\n")
        ending = threading.Event()
        trickle = threading.Thread(target=_trickle, args=(connections, ending), daemon=True)
        trickle.start()
        day.lasts()
        day.until(lambda: closed(connections) > len(connections) // 2, _CLOSES_SECONDS, "slow headers are not ended")
        ending.set()
        trickle.join()
    expect_an_answer(day, "after slow headers")


def _trickle(connections: Sequence[socket.socket], ending: threading.Event) -> None:
    while not ending.wait(1.0):
        for connection in connections:
            with suppress(OSError):
                connection.sendall(b"X-Slow: 1\r\n")


def closed(connections: Sequence[socket.socket]) -> int:
    """Return how many of them the daemon has closed."""
    count = 0
    for connection in connections:
        try:
            connection.setblocking(False)
            count += connection.recv(4096, socket.MSG_PEEK) == b""
        except BlockingIOError:
            continue
        except OSError:
            count += 1
    return count


def _slow_readers(day: Day) -> None:
    """Request /metrics a hundred times on each connection and read nothing."""
    request = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with connected(day, 50) as connections:
        for connection in connections:
            with suppress(OSError):
                connection.sendall(request * 100)
        day.lasts()
        expect_an_answer(day, "while others do not read")


def _slow_handshakes(day: Day) -> None:
    """Begin TLS handshakes and send nothing more. The daemon closes the connections."""
    hello = _client_hello()[:40]
    with connected(day, _IDLE // 2) as connections:
        for connection in connections:
            with suppress(OSError):
                connection.sendall(hello)
        day.lasts()
        day.until(lambda: closed(connections) > len(connections) // 2, _CLOSES_SECONDS, "half handshakes are not ended")
    expect_an_answer(day, "after half handshakes")


def _client_hello() -> bytes:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with suppress(ssl.SSLWantReadError):
        context.wrap_bio(incoming, outgoing).do_handshake()
    return outgoing.read()


CASES: Final[Sequence[Case]] = (
    Case(f"{_IDLE:,} idle connections, 1,024 descriptors", _idle, short=True),
    Case("550 connections with slow headers", _slow_heads),
    Case("50 readers of /metrics that do not read", _slow_readers),
    Case("550 half TLS handshakes", _slow_handshakes, guarded=True),
)
