"""A client without rights is refused before the daemon reads what it sends, on every route and over both sockets."""

import re
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import bcrypt
import pytest
from starlette.routing import Route

from autoscaler.config.settings import WebSettings
from autoscaler.web.control import ControlSocket
from tests.waiting import PATIENCE_SECONDS
from tests.web.conftest import lived
from tests.web.operators import basic
from tests.web.serving import Served, serving

CHANGES = ("POST", "PUT", "PATCH", "DELETE", "TRACE", "PURGE")
READS = ("GET", "HEAD", "OPTIONS")
JSON = "Content-Type: application/json\r\n"
CHUNKED = f"{JSON}Transfer-Encoding: chunked\r\n\r\n"
BODIES = {
    "empty": "Content-Length: 0\r\n\r\n",
    "malformed": f"{JSON}Content-Length: 1\r\n\r\n{{",
    "unfinished": f"{JSON}Content-Length: 9\r\n\r\n{{",
    "huge": f"{JSON}Content-Length: 999999999999\r\n\r\n" + "[" * 300_000,
    "a form": "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 3\r\n\r\na=b",
    "awaited": f"{JSON}Expect: 100-continue\r\nContent-Length: 9\r\n\r\n",
    "no chunk": f"{CHUNKED}zz\r\nhello\r\n",
    "a chunk of a negative size": f"{CHUNKED}-5\r\nx",
    "a broken second chunk": f"{CHUNKED}5\r\nhello\r\nzz\r\n",
    "a chunk without its end": f"{CHUNKED}5\r\nhelloXX\r\n",
    "two lengths": "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
}

some_bodies = pytest.mark.parametrize(
    "body",
    [pytest.param(each, marks=() if each in ("empty", "huge", "no chunk") else pytest.mark.slow) for each in BODIES],
)


@pytest.fixture(scope="module")
def with_users(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server whose user `ann` is an operator, and whose user `scraper` only reads."""
    folder = tmp_path_factory.mktemp("users")
    hashed = bcrypt.hashpw(b"word", bcrypt.gensalt(4)).decode()
    (folder / "web.yaml").write_text(f"basic_auth_users:\n  ann: {hashed}\n  scraper: {hashed}\n")
    with lived(folder / "state") as daemon:
        daemon.web = WebSettings(operators=("ann",))
        with serving(daemon, folder / "web.yaml") as served:
            yield served


def paths(served: Served) -> list[str]:
    """A path of each route, and one that there is not."""
    routes = [each for each in served.server.app.routes if isinstance(each, Route)]
    known = {re.sub(r"{path:path}", "page.css", each.path).replace("{name}", "web") for each in routes}
    assert {"/", "/metrics", "/-/reload", "/api/v1/autoscalers/web/pause", "/api/v1/openapi.json"} <= known
    return [*sorted(known), "/nothing"]


def status_of(served: Served, request: str, *, control: bool = False) -> int:
    """The status that the server answers over a connection of its own."""
    place = urlsplit(served.url)
    with socket.socket(socket.AF_UNIX if control else socket.AF_INET) as client:
        client.settimeout(PATIENCE_SECONDS)
        client.connect(str(served.control_socket) if control else (place.hostname, place.port))
        client.setblocking(False)
        try:
            client.send(request.encode())  # as much as the server takes at once
        finally:
            client.settimeout(PATIENCE_SECONDS)
        answer = client.recv(4096)
    assert answer.startswith(b"HTTP/1.1 "), f"no answer to {request[:80]!r}"
    return int(answer[9:12])


def statuses(served: Served, methods: tuple[str, ...], rest: str, *, control: bool = False) -> dict[str, int]:
    """The status of every method on every path."""
    return {
        f"{method} {path}": status_of(served, f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{rest}", control=control)
        for path in paths(served)
        for method in methods
    }


def untouched(served: Served) -> bool:
    """Return whether nothing was changed, and no error logged: 300 requests in a second must not fill the log."""
    daemon, logged = served.daemon, {line["event"] for line in served.log.lines}
    errors = logged & {"request_failed", "web_error", "library_log"}
    return not errors and not daemon.state.archive.steering() and daemon.reloads == daemon.resignations == 0


@some_bodies
def test_without_users_every_change_over_tcp_is_forbidden(served: Served, body: str) -> None:
    assert set(statuses(served, CHANGES, BODIES[body]).values()) == {403}
    assert untouched(served)


@some_bodies
def test_without_a_password_every_request_is_unauthorized(with_users: Served, body: str) -> None:
    assert set(statuses(with_users, CHANGES + READS, BODIES[body]).values()) == {401}
    assert untouched(with_users)


@some_bodies
def test_every_change_of_a_user_who_is_no_operator_is_forbidden(with_users: Served, body: str) -> None:
    """The password is hashed once, by the first request."""
    authorized = f"Authorization: {basic(b'scraper:word')}\r\n{BODIES[body]}"
    assert set(statuses(with_users, CHANGES, authorized).values()) == {403}
    assert untouched(with_users)


@some_bodies
def test_every_request_of_a_worker_over_the_control_socket_is_forbidden(
    served: Served, body: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ControlSocket, "refuses", lambda self, uid: True)
    assert set(statuses(served, CHANGES + READS, BODIES[body], control=True).values()) == {403}
    assert untouched(served)


def test_an_operator_s_body_that_is_not_http_is_bad_data(served: Served) -> None:
    """It is answered too, whether it comes with the request or later, and changes nothing."""
    for body in ("no chunk", "a chunk of a negative size", "a broken second chunk"):
        request = f"POST /api/v1/autoscalers/web/pause HTTP/1.1\r\nHost: localhost\r\n{BODIES[body]}"
        assert status_of(served, request, control=True) == 400
    with socket.socket(socket.AF_UNIX) as late:
        late.settimeout(PATIENCE_SECONDS)
        late.connect(str(served.control_socket))
        late.sendall(f"POST /api/v1/pause HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n{CHUNKED}".encode())
        assert late.recv(4096).startswith(b"HTTP/1.1 100")
        late.sendall(b"zz\r\n")
        assert late.recv(4096).startswith(b"HTTP/1.1 400")
    assert untouched(served)
