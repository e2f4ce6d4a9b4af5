"""An HTTP proxy that counts requests, and answers wrongly, late or not at all if a test says so."""

import http.client
import json
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any, ClassVar, Final, TypeAlias
from urllib.parse import urlsplit

from tests.servers import same_clock
from tests.servers.stepped_clock import SteppedClock
from tests.servers.web import serving

_HOP_BY_HOP: Final = frozenset({"connection", "transfer-encoding", "content-length", "keep-alive"})
_FORWARD_TIMEOUT_SECONDS: Final = 60


@dataclass(slots=True)
class Fault:
    """A fault of requests whose `METHOD /path?query` contains a pattern."""

    pattern: str
    status: int = 500
    body: str = ""
    content_type: str = "text/plain"
    delay_seconds: float = 0
    """Wait before the answer."""
    trickle_seconds: float = 0
    """Wait before each byte of the body."""
    times: int | None = None
    """The number of affected requests; None: all."""
    first: Callable[[], object] | None = None
    """Called before the request is forwarded, as for a change by another client. An OSError drops the request."""
    then: Callable[[], object] | None = None
    """Called when the back end has answered, before the answer is sent."""
    last: Callable[[], object] | None = None
    """Called when the answer was sent."""

    @property
    def forwards(self) -> bool:
        """Whether the request is forwarded to the back end anyway."""
        return (self.first or self.then or self.last) is not None


def says(pattern: str, answer: object) -> Fault:
    """Return a fault that answers with JSON."""
    return Fault(pattern, 200, json.dumps(answer), "application/json")


@dataclass(slots=True)
class Write:
    """A request other than a GET."""

    request: str
    """As `METHOD /path?query`."""
    body: bytes
    status: int | None = None
    """The back end's answer; None: none yet."""


@dataclass(slots=True)
class Faults:
    """A running proxy. The first matching one of `faults` applies. `requests` have arrived, as `METHOD /path?query`."""

    url: str
    faults: list[Fault] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)
    ending: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, pattern: str = "") -> int:
        """Return the number of matching requests."""
        return sum(re.search(pattern, request) is not None for request in self.requests)

    def take(self, request: str) -> Fault | None:
        """Note the request. Returns its fault, or None: forward it."""
        with self._lock:
            self.requests.append(request)
            for fault in self.faults:
                if fault.times != 0 and re.search(fault.pattern, request):
                    fault.times = None if fault.times is None else fault.times - 1
                    return fault
        return None


Reply: TypeAlias = tuple[int, list[tuple[str, str]], bytes]
"""A status, headers and a body."""


class Proxying(BaseHTTPRequestHandler):
    """The handler of a proxy. A subclass answers each whole request in `take`."""

    backend: ClassVar[str | None] = None
    """An http URL, or `unix://PATH`; None: nobody is behind the proxy."""
    protocol_version = "HTTP/1.1"

    def take(self, body: bytes) -> None:
        """Answer the request, or close the connection."""
        raise NotImplementedError

    def do_GET(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        if len(body) < length:  # the client died while it sent this: no server acts on it
            self.close_connection = True
            return
        self.take(body)

    do_DELETE = do_HEAD = do_POST = do_PUT = do_GET  # noqa: N815 - the names http.server looks for

    def forwarded(self, body: bytes) -> Reply:
        """Return the back end's answer."""
        if self.backend is None:
            return 404, [("Content-Type", "text/plain")], b"the proxy has nobody behind it"
        return forward(self.backend, self.command, self.path, dict(self.headers), body)

    def answer(self, status: int, headers: list[tuple[str, str]], content: bytes) -> None:
        self.begin(status, headers, len(content))
        self.wfile.write(content)

    def begin(self, status: int, headers: list[tuple[str, str]], length: int) -> None:
        """Send all of an answer but its body."""
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(length))
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Log nothing: pytest shows what matters."""


class _Handler(Proxying):
    """The handler of one proxy, which subclasses it with the three attributes."""

    proxy: ClassVar[Faults]
    clock: ClassVar[SteppedClock | None]

    def take(self, body: bytes) -> None:
        request = f"{self.command} {self.path}"
        fault = self.proxy.take(request)
        write = Write(request, body)
        if self.command != "GET":
            self.proxy.writes.append(write)
        if fault is not None and not fault.forwards:
            self._misbehave(fault)
            return
        if fault is not None and fault.first is not None:
            fault.first()
        answer = self.forwarded(body)
        write.status = answer[0]
        if fault is not None and fault.then is not None:
            fault.then()
        self.answer(*answer)
        if fault is not None and fault.last is not None:
            fault.last()

    def forwarded(self, body: bytes) -> Reply:
        if self.clock is None or self.backend is None:
            return super().forwarded(body)
        path, translated = same_clock.to_server(self.clock, self.path, body)
        passed = {name: value for name, value in self.headers.items() if name.lower() != "content-length"}
        status, headers, content = forward(self.backend, self.command, path, passed, translated)
        kept = [(name, value) for name, value in headers if name.lower() != "date"]  # `date_time_string` says it
        return status, kept, same_clock.to_daemon(same_clock.asked_at(self.path, body), content)

    def date_time_string(self, timestamp: float | None = None) -> str:
        return super().date_time_string(timestamp) if self.clock is None else same_clock.date(self.clock)

    def _misbehave(self, fault: Fault) -> None:
        if self.proxy.ending.wait(fault.delay_seconds):
            return
        content = fault.body.encode()
        headers = [("Content-Type", fault.content_type)]
        if not fault.trickle_seconds:
            self.answer(fault.status, headers, content)
            return
        self.begin(fault.status, headers, len(content))
        for byte in content:
            if self.proxy.ending.wait(fault.trickle_seconds):
                return
            self.wfile.write(bytes((byte,)))


@contextmanager
def running_faults(backend: str | None = None, clock: SteppedClock | None = None) -> Iterator[Faults]:
    """Run a proxy on a free port before `backend`; None: requests without a fault get a 404.

    `backend`: an http URL, or `unix://PATH`. `clock`: the daemon's, which this Prometheus has, too.
    """
    faults = Faults("")

    class Handler(_Handler):
        proxy = faults

    Handler.backend, Handler.clock = backend, clock
    with serving(Handler) as faults.url:
        try:
            yield faults
        finally:
            faults.ending.set()


def forward(backend: str, method: str, path: str, headers: dict[str, str], body: bytes) -> Reply:
    """Return the back end's own answer, byte by byte."""
    connection = _connection(backend)
    try:
        connection.request(method, path, body or None, {**headers, "Connection": "close"})
        reply = connection.getresponse()
        content = reply.read()
        kept = [(name, value) for name, value in reply.getheaders() if name.lower() not in _HOP_BY_HOP]
    finally:
        connection.close()
    return reply.status, kept, content


def _connection(backend: str) -> http.client.HTTPConnection:
    address = urlsplit(backend)
    connection = http.client.HTTPConnection(address.netloc or "localhost", timeout=_FORWARD_TIMEOUT_SECONDS)
    if address.scheme == "unix":
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.settimeout(_FORWARD_TIMEOUT_SECONDS)
        connection.sock.connect(address.path)
    return connection
