"""A scrape target whose values the test sets."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.servers.web import serving


@dataclass(slots=True)
class Exporter:
    """A scrape target. `values` are those of the next scrape: series in exposition format -> value."""

    url: str
    values: dict[str, float] = field(default_factory=dict)

    @property
    def address(self) -> str:
        """Return `host:port`, as in a scrape config."""
        return self.url.removeprefix("http://")


@contextmanager
def running_exporter(values: dict[str, float] | None = None) -> Iterator[Exporter]:
    """Run an exporter on a free port, e.g. of `{'load{worker="a"}': 3.5}`."""
    exporter = Exporter("", dict(values or {}))

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = "".join(f"{series} {value}\n" for series, value in exporter.values.items()).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    with serving(Handler) as exporter.url:
        yield exporter
