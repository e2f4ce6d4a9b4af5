"""Hostile users of the daemon's HTTP server."""

import socket
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from typing import Any, Final

import requests

from rehearse.hostile.case import Case, Day
from rehearse.hostile.cases.sockets import closed, connected, expect_an_answer
from rehearse.hostile.guarded import OPERATOR

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
"""Headers that a proxy may add, one at a time."""
_PAUSE: Final = "/api/v1/autoscalers/bad/pause"
_RESUME: Final = "/api/v1/autoscalers/bad/resume"


def _post(day: Day, path: str, **more: Any) -> int:
    """Send a POST request. Returns the status of the answer."""
    return day.world.daemon.ask(path, "POST", day.world.bounds.answers_seconds, json={}, **more).status_code


def _both_lengths(day: Day) -> None:
    """Hide a request in the body of another one by two lengths. It is not answered."""
    inner = b"GET /-/healthy HTTP/1.1\r\nHost: localhost\r\n\r\n"
    body = b"0\r\n\r\n" + inner
    head = b"GET /-/ready HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n"
    with connected(day, 1) as (connection,):
        connection.settimeout(day.world.bounds.answers_seconds)
        answers = b""
        with suppress(OSError):
            connection.sendall(head % len(body) + body)
            while received := connection.recv(65_536):
                answers += received
        count = answers.count(b"HTTP/1.1 ")
        day.expect(count <= 1, f"{count} answers to a request with Content-Length and Transfer-Encoding")
        day.expect(closed([connection]) == 1, "its connection is not ended")
    day.lasts()


def _no_operator(day: Day) -> None:
    """Only operators change something over TCP, whatever a proxy adds. The control socket may change something."""
    for header in ("", *_PROXIED):
        name, _, value = header.partition(": ")
        status = _post(day, _PAUSE, headers={name: value} if name else {})
        day.expect(status == 403, f"a change over TCP with {header or 'no further header'} is answered {status}")
    for path in (_PAUSE, _RESUME):
        status = day.world.daemon.post(path, {}).status_code
        day.expect(status == 200, f"a change over the control socket is answered {status}")
    day.lasts()


def _held_control_sockets(day: Day) -> None:
    """Open 500 idle connections. An operator is still served."""
    with ExitStack() as held:
        for _ in range(500):
            client = held.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            client.setblocking(False)
            with suppress(BlockingIOError):
                client.connect(str(day.world.daemon.control_socket))
        status = day.world.daemon.post(_RESUME, {}).status_code
        day.expect(status == 200, f"a change beside held connections is answered {status}")
        day.lasts()


def _wrong_passwords(day: Day) -> None:
    """Send 200 wrong passwords. A user who is logged in does not wait for them."""
    day.expect(day.world.daemon.ask("/-/healthy").status_code == 200, "the right password is refused")
    threads = [threading.Thread(target=_guess, args=(day, number), daemon=True) for number in range(200)]
    for thread in threads:
        thread.start()
    time.sleep(1)
    expect_an_answer(day, "among 200 wrong passwords")
    day.lasts()
    for thread in threads:
        thread.join()


def _guess(day: Day, number: int) -> None:
    with suppress(requests.RequestException):
        day.world.daemon.ask("/-/healthy", timeout=1, auth=(OPERATOR[0], f"guess-{number}"))


CASES: Final[Sequence[Case]] = (
    Case("Content-Length and Transfer-Encoding", _both_lengths, short=True),
    Case("changes over TCP without an operator, with each header that a proxy adds", _no_operator, short=True),
    Case("500 connections to the control socket that say nothing", _held_control_sockets, short=True),
    Case("200 wrong passwords beside a user who is logged in", _wrong_passwords, guarded=True, short=True),
)
