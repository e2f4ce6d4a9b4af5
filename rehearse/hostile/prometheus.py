"""Prometheus servers with scripted answers: documented ones, or those of a case.

Source of the form: prometheus.io/docs/prometheus/latest/querying/api, "Instant queries".
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import parse_qs, urlsplit

from tests.servers.scripted import Wire, scripted


@dataclass(frozen=True, slots=True)
class Asked:
    """One instant query."""

    expr: str
    at: float
    """The requested time of evaluation, in seconds since 1970."""
    head: bytes
    """The request's first line and headers."""
    values: Mapping[str, float]
    """The present values of the server's series."""

    @property
    def series(self) -> str:
        """Return the series whose value or age is requested."""
        return re.sub(r"^timestamp\((.*)\)$", r"\1", self.expr, flags=re.DOTALL).strip()

    @property
    def is_age(self) -> bool:
        """Return whether the time of the series' samples is requested."""
        return self.expr != self.series

    @property
    def value(self) -> float:
        """Return the right value."""
        return self.at if self.is_age else self.values.get(self.series, 0.0)


Reply: TypeAlias = Callable[[Wire, Asked], None]
Sample: TypeAlias = Mapping[str, Any]


class Prometheus:
    """One server. A case may change `values` and `reply` at any moment."""

    def __init__(self) -> None:
        self.values: dict[str, float] = {}
        """Series -> value. A series whose name ends in `_each` has a sample for each of two instances."""
        self.reply: Reply = well
        self.url = ""

    def serve(self, wire: Wire) -> None:
        """The script of each connection."""
        while True:
            request = wire.read()
            head, _, body = request.partition(b"\r\n\r\n")
            form = parse_qs(body.decode() or urlsplit(head.split(b" ")[1].decode()).query)
            self.reply(wire, Asked(form["query"][0], float(form["time"][0]), head, self.values))


@contextmanager
def running() -> Iterator[Prometheus]:
    """Run a healthy server, until a case changes it."""
    server = Prometheus()
    with scripted(server.serve) as at:
        server.url = at.url
        yield server


def well(wire: Wire, asked: Asked) -> None:
    """Send the documented answer."""
    wire.answer(vector(samples(asked)))


def samples(asked: Asked, **more: Any) -> Sequence[Sample]:
    """Return the right samples, with `more` in place of some fields."""
    names = [f"{asked.series.removesuffix('_each')}-{number}" for number in range(2)]
    each = names if asked.series.endswith("_each") else [""]
    return [
        {"metric": {"instance": name} if name else {}, "value": [asked.at, repr(asked.value)]} | more for name in each
    ]


def vector(found: Sequence[Sample], **more: Any) -> bytes:
    """Return the body of a successful answer, with `more` beside its data."""
    data = {"resultType": "vector", "result": found}
    return json.dumps({"status": "success", "data": data} | more).encode()


def with_headers(*headers: str) -> Reply:
    """Send the right answer with these headers."""

    def reply(wire: Wire, asked: Asked) -> None:
        wire.answer(vector(samples(asked)), headers="".join(f"{header}\r\n" for header in headers).encode())

    return reply
