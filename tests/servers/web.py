"""HTTP servers inside the test's own process."""

import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
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
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.socket.shutdown(
            socket.SHUT_RDWR
        )  # wakes the thread, which else would notice the end half a second later
        server.shutdown()
        server.server_close()
        thread.join()


@dataclass(slots=True)
class Answer:
    """A status, a body (bytes, or what becomes JSON) and headers."""

    status: int
    body: Any
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Request:
    """A request, as it arrived. A test answers it by returning an Answer, or by one of the methods."""

    method: str
    target: str
    headers: Any
    body: str
    client: object
    """The address and the port that it came from."""
    _handler: BaseHTTPRequestHandler
    _ending: threading.Event

    @property
    def form(self) -> dict[str, str]:
        """The parameters of the URL or the body."""
        text = self.body or urlsplit(self.target).query
        return {name: values[0] for name, values in parse_qs(text, keep_blank_values=True).items()}

    def reply(self, body: bytes | dict[str, Any], status: int = 200, **headers: str) -> None:
        """Answer with the server's date. A header's name is written with underscores."""
        named = {
            name.replace("_", "-"): value for name, value in {"Content_Type": "application/json", **headers}.items()
        }
        self._handler.send_response(status)
        self._send(body if isinstance(body, bytes) else json.dumps(body).encode(), named)

    def answer(self, given: Answer) -> None:
        """Answer without a date."""
        text = isinstance(given.body, bytes)
        self._handler.send_response_only(given.status)
        kind = {"Content-Type": PAGE if text else "application/json"}
        self._send(given.body if text else json.dumps(given.body).encode(), kind | given.headers)

    def trickle(self, head: bytes, again: bytes) -> None:
        """Send `head`, then `again` every 20 ms until the test ends."""
        self._handler.wfile.write(head)
        while not self._ending.wait(0.02):
            self._handler.wfile.write(again)

    def hang(self) -> None:
        """Send nothing until the test ends."""
        self._ending.wait()
        self.drop()

    def drop(self) -> None:
        """Close the connection without an answer."""
        self._handler.close_connection = True

    def _send(self, content: bytes, headers: Mapping[str, str]) -> None:
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self._handler.send_header(name, value)
        self._handler.end_headers()
        self._handler.wfile.write(content)


@contextmanager
def answering(answer: Callable[[Request], Answer | None]) -> Iterator[str]:
    """Run a server that answers each request; yields its URL."""
    ending = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            request = Request(self.command, self.path, self.headers, body, self.client_address, self, ending)
            if (given := answer(request)) is not None:
                request.answer(given)

        do_POST = do_PUT = do_GET  # noqa: N815 - the names http.server looks for

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    with serving(Handler) as url:
        try:
            yield url
        finally:
            ending.set()
