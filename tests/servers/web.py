"""HTTP servers inside the test's own process."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

PAGE: Final = "text/plain; version=0.0.4"
"""The Content-Type of metrics in exposition format."""


class _Server(ThreadingHTTPServer):
    block_on_close = False  # does not wait for a handler that hangs on purpose

    def get_request(self) -> tuple[socket.socket, Any]:
        """Return a connection that sends answers at once: headers and body are two writes, and the kernel would hold
        the second until the client acknowledges the first, 40 ms later.
        """
        connection, address = super().get_request()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection, address

    def handle_error(self, *_: Any) -> None:
        """Log nothing: in many tests the client closes the connection."""


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """Run an HTTP server on a free port. Yields its URL without a slash at the end."""
    server = _Server(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@dataclass(slots=True)
class Request:
    """A request, as it arrived."""

    method: str
    target: str
    headers: Any
    body: str

    @property
    def form(self) -> dict[str, str]:
        """The parameters of the URL or the body."""
        text = self.body or urlsplit(self.target).query
        return {name: values[0] for name, values in parse_qs(text, keep_blank_values=True).items()}


@dataclass(slots=True)
class Answer:
    """A status, a body (bytes, or what becomes JSON) and headers."""

    status: int
    body: Any
    headers: dict[str, str] = field(default_factory=dict)


@contextmanager
def answering(answer: Callable[[Request], Answer]) -> Iterator[str]:
    """Run a server that answers each request; yields its URL."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            came = answer(Request(self.command, self.path, self.headers, body))
            text = isinstance(came.body, bytes)
            content = came.body if text else json.dumps(came.body).encode()
            self.send_response_only(came.status)
            for name, value in {"Content-Type": PAGE if text else "application/json", **came.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_POST = do_PUT = do_GET  # noqa: N815 - the names http.server looks for

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    with serving(Handler) as url:
        yield url
