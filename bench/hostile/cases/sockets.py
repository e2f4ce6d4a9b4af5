"""What reaches the daemon's own socket."""

import resource
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final
from urllib.parse import urlsplit

import requests

from bench.hostile.case import Case, Day
from bench.hostile.guarded import OPERATOR, SCRAPER

_IDLE: Final = 1_100
"""More than the daemon has descriptors."""
_ANSWERS_SECONDS: Final = 5.0
"""Within which an ordinary request is answered on a bad day, or soon after it."""
_CONNECTS_SECONDS: Final = 0.5
_CLOSES_SECONDS: Final = 60.0
"""Within which a client that does nothing is let go of."""
_PROXIED: Final = (
    "CF-Connecting-IP: 203.0.113.7",
    "Forwarded: for=203.0.113.7",
    "True-Client-IP: 203.0.113.7",
    "Via: 1.1 proxy",
    "X-Client-IP: 203.0.113.7",
    "X-Forwarded-For: 203.0.113.7",
    "X-Forwarded-Host: autoscaler.example",
    "X-Forwarded-Port: 443",
    "X-Forwarded-Prefix: /autoscaler",
    "X-Forwarded-Proto: https",
    "X-Forwarded-Server: proxy",
    "X-Real-IP: 203.0.113.7",
)
"""What a proxy may add, each by itself."""
_PAUSE: Final = "/api/v1/autoscalers/bad/pause"
_RESUME: Final = "/api/v1/autoscalers/bad/resume"


def _place(day: Day) -> tuple[str, int]:
    at = urlsplit(day.world.daemon.url)
    return at.hostname or "", at.port or 0


@contextmanager
def _connected(day: Day, count: int) -> Iterator[list[socket.socket]]:
    """So many connections, of those that the daemon takes."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    connections: list[socket.socket] = []
    try:
        for _ in range(count):
            connection = socket.socket()
            connection.setblocking(False)
            connection.connect_ex(_place(day))  # where the queue is full the kernel tries again
            connections.append(connection)
        time.sleep(_CONNECTS_SECONDS)
        yield connections
    finally:
        for connection in connections:
            connection.close()


def _seconds_of(day: Day, path: str = "/-/healthy") -> float:
    """How long a request takes; infinite: it is not answered."""
    began = time.monotonic()
    try:
        day.world.daemon.ask(path, timeout=4 * _ANSWERS_SECONDS)
    except requests.RequestException:
        return float("inf")
    return time.monotonic() - began


def _expect_an_answer(day: Day, when: str) -> None:
    seconds = _seconds_of(day)
    day.expect(seconds <= _ANSWERS_SECONDS, f"a request took {seconds:.1f} s {when}")


def _idle(day: Day) -> None:
    with _connected(day, _IDLE):
        day.lasts()
    _expect_an_answer(day, "after the flood")


def _slow_heads(day: Day) -> None:
    """Each sends a header line now and then, and never the last one."""
    with _connected(day, _IDLE // 2) as connections:
        for connection in connections:
            with suppress(OSError):
                connection.sendall(b"GET /-/healthy HTTP/1.1\r\nHost: localhost\r\n")
        ending = threading.Event()
        trickle = threading.Thread(target=_trickle, args=(connections, ending), daemon=True)
        trickle.start()
        day.lasts()
        day.until(lambda: _closed(connections) > len(connections) // 2, _CLOSES_SECONDS, "slow headers are not ended")
        ending.set()
        trickle.join()
    _expect_an_answer(day, "after slow headers")


def _trickle(connections: Sequence[socket.socket], ending: threading.Event) -> None:
    while not ending.wait(1.0):
        for connection in connections:
            with suppress(OSError):
                connection.sendall(b"X-Slow: 1\r\n")


def _closed(connections: Sequence[socket.socket]) -> int:
    """How many the daemon has closed."""
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
    """Each asks for /metrics a hundred times and reads nothing."""
    request = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with _connected(day, 50) as connections:
        for connection in connections:
            with suppress(OSError):
                connection.sendall(request * 100)
        day.lasts()
        _expect_an_answer(day, "while others do not read")


def _both_lengths(day: Day) -> None:
    """A request in the body of another one, for whom one header says where it ends, is not answered."""
    inner = b"GET /-/healthy HTTP/1.1\r\nHost: localhost\r\n\r\n"
    body = b"0\r\n\r\n" + inner
    head = b"GET /-/ready HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n"
    with _connected(day, 1) as (connection,):
        connection.settimeout(_ANSWERS_SECONDS)
        answers = b""
        with suppress(OSError):
            connection.sendall(head % len(body) + body)
            while received := connection.recv(65_536):
                answers += received
        count = answers.count(b"HTTP/1.1 ")
        day.expect(count <= 1, f"{count} answers to a request with Content-Length and Transfer-Encoding")
        day.expect(_closed([connection]) == 1, "its connection is not ended")
    day.lasts()


def _post(day: Day, path: str, **more: Any) -> int:
    """The status of the answer."""
    return day.world.daemon.ask(path, "POST", _ANSWERS_SECONDS, json={}, **more).status_code


def _proxies(day: Day) -> None:
    """What each may add tells that the request is not from this machine."""
    plain = _post(day, _PAUSE)
    day.expect(plain == 200, f"a change from this machine is answered {plain}")
    _post(day, _RESUME)
    for header in _PROXIED:
        name, _, value = header.partition(": ")
        status = _post(day, _PAUSE, headers={name: value})
        day.expect(status == 403, f"a change with {name} is answered {status}")
    _post(day, _RESUME)
    day.lasts()


def _redirects(day: Day) -> None:
    """No answer names a host that the request made up."""
    for path in ("/autoscalers/", "/api/v1/autoscalers/", "/metrics/", "//evil.example/-/healthy/"):
        answer = day.world.daemon.ask(path, headers={"Host": "127.0.0.1:1"})
        location = answer.headers.get("Location", "/")
        day.expect(location.startswith("/") and not location.startswith("//"), f"{path} redirects to {location}")
    day.lasts()


def _wrong_passwords(day: Day) -> None:
    """A right one does not wait for 200 wrong ones, whose clients do not wait either."""
    threads = [threading.Thread(target=_guess, args=(day, number), daemon=True) for number in range(200)]
    for thread in threads:
        thread.start()
    time.sleep(1)
    _expect_an_answer(day, "among 200 wrong passwords")
    day.lasts()
    for thread in threads:
        thread.join()


def _guess(day: Day, number: int) -> None:
    with suppress(requests.RequestException):
        day.world.daemon.ask("/-/healthy", timeout=1, auth=(OPERATOR[0], f"guess-{number}"))


def _read_only(day: Day) -> None:
    """A scraper's password reads, and changes nothing."""
    read = day.world.daemon.ask("/metrics", auth=SCRAPER)
    day.expect(read.status_code == 200, f"a read-only user's GET is answered {read.status_code}")
    for path in (_PAUSE, "/-/reload"):
        status = _post(day, path, auth=SCRAPER)
        day.expect(status == 403, f"a read-only user's POST {path} is answered {status}")
    day.expect(_post(day, _RESUME) == 200, "an operator's POST is refused")
    day.lasts()


def _slow_handshakes(day: Day) -> None:
    """Each begins a TLS handshake and sends no more; the daemon lets go of them."""
    hello = _client_hello()[:40]
    with _connected(day, _IDLE // 2) as connections:
        for connection in connections:
            with suppress(OSError):
                connection.sendall(hello)
        day.lasts()
        day.until(lambda: _closed(connections) > len(connections) // 2, 30, "half handshakes are not ended")
    _expect_an_answer(day, "after half handshakes")


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
    Case("Content-Length and Transfer-Encoding", _both_lengths, short=True),
    Case("each header that a proxy adds, alone", _proxies, short=True),
    Case("redirects name a path only", _redirects),
    Case("200 wrong passwords, then a right one", _wrong_passwords, guarded=True, short=True),
    Case("a read-only user tries to pause and to reload", _read_only, guarded=True, short=True),
    Case("550 half TLS handshakes", _slow_handshakes, guarded=True),
)
