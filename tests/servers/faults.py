"""An HTTP proxy that counts what passes, and answers wrongly, late or not at all where a test says so."""

import http.client
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any, ClassVar, Final
from urllib.parse import urlsplit

from tests.servers.web import serving

_HOP_BY_HOP: Final = frozenset({"connection", "transfer-encoding", "content-length", "keep-alive"})
_FORWARD_TIMEOUT_SECONDS: Final = 60


@dataclass(slots=True)
class Fault:
    """What to do with requests whose `METHOD /path?query` a pattern is found in."""

    pattern: str
    status: int = 500
    body: str = ""
    content_type: str = "text/plain"
    delay_seconds: float = 0
    """Wait before the answer."""
    trickle_seconds: float = 0
    """Wait before each byte of the body."""
    times: int | None = None
    """For so many requests; None: for all."""
    first: Callable[[], object] | None = None
    """Done before the request is forwarded: what somebody else does in this moment. An OSError drops the request."""
    then: Callable[[], object] | None = None
    """Done when the back end has answered, before the answer is sent."""
    last: Callable[[], object] | None = None
    """Done when the answer was sent."""

    @property
    def forwards(self) -> bool:
        """Whether the request goes to the back end all the same."""
        return (self.first or self.then or self.last) is not None


@dataclass(slots=True)
class Write:
    """A request that was not a GET, in the order of their arrival."""

    request: str
    """As `METHOD /path?query`."""
    body: bytes
    status: int | None = None
    """What the back end answered; None: it has not."""


@dataclass(slots=True)
class Faults:
    """`faults` apply in their order, the first that matches; `requests` are those seen, as `METHOD /path?query`."""

    url: str
    faults: list[Fault] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)
    ending: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, pattern: str = "") -> int:
        """How many requests seen match."""
        return sum(re.search(pattern, request) is not None for request in self.requests)

    def take(self, request: str) -> Fault | None:
        """Note the request; the fault that is its turn, or None: forward it."""
        with self._lock:
            self.requests.append(request)
            for fault in self.faults:
                if fault.times != 0 and re.search(fault.pattern, request):
                    fault.times = None if fault.times is None else fault.times - 1
                    return fault
        return None


class _Handler(BaseHTTPRequestHandler):
    """Subclassed for each proxy with the two attributes."""

    proxy: ClassVar[Faults]
    backend: ClassVar[str | None]
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        if len(body) < length:  # the client has died while it sent this: no server acts on it
            self.close_connection = True
            return
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
        if self.backend is None:
            answer = 404, [("Content-Type", "text/plain")], b"the proxy has nobody behind it"
        else:
            answer = forward(self.backend, self.command, self.path, dict(self.headers), body)
        write.status = answer[0]
        if fault is not None and fault.then is not None:
            fault.then()
        self._answer(*answer)
        if fault is not None and fault.last is not None:
            fault.last()

    do_DELETE = do_HEAD = do_POST = do_PUT = do_GET  # noqa: N815 - the names http.server looks for

    def _misbehave(self, fault: Fault) -> None:
        if self.proxy.ending.wait(fault.delay_seconds):
            return
        content = fault.body.encode()
        if not fault.trickle_seconds:
            self._answer(fault.status, [("Content-Type", fault.content_type)], content)
            return
        self._begin(fault.status, [("Content-Type", fault.content_type)], len(content))
        for byte in content:
            if self.proxy.ending.wait(fault.trickle_seconds):
                return
            self.wfile.write(bytes((byte,)))

    def _answer(self, status: int, headers: list[tuple[str, str]], content: bytes) -> None:
        self._begin(status, headers, len(content))
        self.wfile.write(content)

    def _begin(self, status: int, headers: list[tuple[str, str]], length: int) -> None:
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(length))
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Nothing: pytest shows what matters."""


@contextmanager
def running_faults(backend: str | None = None) -> Iterator[Faults]:
    """A proxy on a free port in front of `backend`; None: what no fault answers is a 404.

    `backend`: an http URL, or `unix://PATH`.
    """
    faults = Faults("")

    class Handler(_Handler):
        proxy = faults

    Handler.backend = backend
    with serving(Handler) as faults.url:
        try:
            yield faults
        finally:
            faults.ending.set()


def forward(
    backend: str, method: str, path: str, headers: dict[str, str], body: bytes
) -> tuple[int, list[tuple[str, str]], bytes]:
    """The back end's own answer, byte for byte."""
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
