"""A fake server that answers each request with a function of the test."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.message import Message
from http.server import BaseHTTPRequestHandler
from typing import Any, NamedTuple

import pytest

from autoscaler.config import PrometheusSource
from autoscaler.errors import MetricError
from autoscaler.observe.prometheus import Prometheus
from tests.observe.build import CLOCK, NOW, call
from tests.servers.web import serving

ONE = {
    "status": "success",
    "data": {"resultType": "vector", "result": [{"metric": {}, "value": [NOW.timestamp(), "1"]}]},
}


class Seen(NamedTuple):
    """A received request."""

    method: str
    path: str
    headers: Message
    form: str
    client: object


class Request(BaseHTTPRequestHandler):
    """A request to the fake server, answered by `reply` and `trickle`."""

    protocol_version = "HTTP/1.1"
    answer: Callable[["Request"], None]
    seen: list[Seen]
    stop: threading.Event

    def do_GET(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        form = self.rfile.read(length).decode()
        self.seen.append(Seen(self.command, self.path, self.headers, form, self.client_address))
        type(self).answer(self)

    def do_POST(self) -> None:
        self.do_GET()

    def reply(self, body: bytes | dict[str, Any], status: int = 200, **headers: str) -> None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content_Type": "application/json", **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def trickle(self, head: bytes, again: bytes) -> None:
        """Send `head`, then `again` every 20 ms until the test ends."""
        self.wfile.write(head)
        while not self.stop.wait(0.02):
            self.wfile.write(again)

    def log_message(self, *_: Any) -> None:
        """Log nothing: pytest shows failures."""


class Fake:
    """A fake server's URL and its received requests."""

    def __init__(self, url: str, seen: list[Seen]) -> None:
        self.url = url
        self.seen = seen

    def ask(self, expr: str = "q", seconds: float = 10.0, **source: Any) -> Any:
        client = Prometheus("main", PrometheusSource(self.url, **source), CLOCK)
        try:
            return client.query(expr, NOW, call(seconds).deadline)
        finally:
            client.close()

    def refusal(self, **how: Any) -> str:
        with pytest.raises(MetricError) as caught:
            self.ask(**how)
        return str(caught.value)


@contextmanager
def answering(answer: Callable[[Request], None]) -> Iterator[Fake]:
    stop, seen = threading.Event(), list[Seen]()
    handler = type("Handler", (Request,), {"answer": answer, "seen": seen, "stop": stop})
    with serving(handler) as url:
        try:
            yield Fake(url, seen)
        finally:
            stop.set()
