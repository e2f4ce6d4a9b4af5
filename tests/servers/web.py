"""HTTP servers inside the test's own process."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


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
