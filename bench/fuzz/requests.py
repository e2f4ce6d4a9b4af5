"""The fuzzed HTTP server."""
# ruff: noqa: D102 - what `make` and `read` return says Target

import re
import socket
import tempfile
from pathlib import Path
from random import Random
from typing import Final, Self
from urllib.parse import urlsplit

from bench.fuzz.damage import damaged
from bench.fuzz.target import Target, check
from tests.browser.world import served, shop


class Requests(Target):
    """The HTTP server, on a real socket: no answer is a 500, and it goes on."""

    _RIGHT: Final = (
        "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /?q=web&sort=load&page=2&state=steady HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept-Encoding: gzip\r\n\r\n",
        "GET /autoscalers/search HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: a=b; c\r\n\r\n",
        "GET /api/v1/autoscalers?offset=10&limit=5&labelSelector=team%3Dshop HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        "GET /api/v1/autoscalers/search/history?since=2026-01-01T00:00:00Z&points=10 HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /api/v1/events?since=0&limit=3 HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Basic YTpi\r\n\r\n",
        (
            "POST /api/v1/autoscalers/search/pause HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            'Content-Length: 30\r\n\r\n{"direction":"in","for":60.5} '
        ),
        "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: keep-alive\r\n\r\n",
        "HEAD /-/healthy HTTP/1.0\r\n\r\n",
    )

    def __enter__(self) -> Self:
        folder = Path(self._closing.enter_context(tempfile.TemporaryDirectory()))
        site = self._closing.enter_context(served(folder, shop))
        address = urlsplit(site.url)
        self._place = str(address.hostname), int(address.port or 0)
        self._control_socket = str(site.control_socket)
        return self

    def make(self, random: Random) -> bytes:
        request = damaged(random, self._RIGHT).encode("utf-8", "surrogatepass")
        if random.random() < 0.1:
            at = random.randint(0, len(request))
            request = request[:at] + random.randbytes(random.randint(1, 8)) + request[at:]
        return request

    def read(self, given: bytes) -> bool:
        with self._connected(given) as connection:
            answer = b""
            try:
                connection.sendall(given)
                connection.shutdown(socket.SHUT_WR)  # so that half a request is not waited for
                while part := connection.recv(65536):
                    answer += part
            except (ConnectionResetError, BrokenPipeError):
                pass  # it may refuse to read on
        if not answer:
            return False
        status = re.match(rb"HTTP/1\.[01] (\d{3}) ", answer)
        check(status is not None, f"not an HTTP answer: {answer[:80]!r}")
        assert status is not None
        check(int(status[1]) not in (500, 502, 504), f"HTTP {status[1].decode()}")
        return int(status[1]) < 400

    def _connected(self, given: bytes) -> socket.socket:
        """Connect to TCP, or to the control socket for a change, which TCP refuses before it reads the body."""
        if not given.startswith(b"POST"):
            return socket.create_connection(self._place, timeout=30)
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(30)
        connection.connect(self._control_socket)
        return connection
