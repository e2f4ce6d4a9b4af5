"""The HTTP server on a real socket: no answer is an internal error, and the server goes on."""

import re
import socket
from collections.abc import Iterator
from contextlib import suppress
from typing import Final
from urllib.parse import urlsplit

import pytest
from hypothesis import given

from tests.browser.world import Site, served, shop
from tests.hostile.damage import damaged, with_bytes

pytestmark = pytest.mark.slow
_REQUESTS: Final = (
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


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with served(tmp_path_factory.mktemp("site"), shop) as site:
        yield site


@given(request=with_bytes(damaged(_REQUESTS)))
def test_no_request_is_an_internal_error(site: Site, request: bytes) -> None:
    answer = b""
    with _connected(site, request) as connection, suppress(ConnectionResetError, BrokenPipeError):  # it may not read on
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)  # so that half a request is not waited for
        while part := connection.recv(65536):
            answer += part
    if answer:
        status = re.match(rb"HTTP/1\.[01] (\d{3}) ", answer)
        assert status is not None, answer[:80]
        assert status[1] not in (b"500", b"502", b"504")


def _connected(site: Site, request: bytes) -> socket.socket:
    """Connect to TCP, or to the control socket for a change, which TCP refuses before it reads the body."""
    if not request.startswith(b"POST"):
        address = urlsplit(site.url)
        return socket.create_connection((str(address.hostname), int(address.port or 0)), timeout=30)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(30)
    connection.connect(str(site.control_socket))
    return connection
