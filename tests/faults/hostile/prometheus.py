"""Prometheus servers whose answers are scripted: documented ones, or whatever a case sends instead.

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
    """The time of evaluation that it asks for, in seconds since 1970."""
    head: bytes
    """Of the request: its first line and headers."""
    values: Mapping[str, float]
    """What the server's series come to now."""

    @property
    def series(self) -> str:
        """The series whose value, or whose age, is asked for."""
        return re.sub(r"^timestamp\((.*)\)$", r"\1", self.expr, flags=re.DOTALL).strip()

    @property
    def is_age(self) -> bool:
        """Whether the time of the series' samples is asked for."""
        return self.expr != self.series

    @property
    def value(self) -> float:
        """The right answer."""
        return self.at if self.is_age else self.values.get(self.series, 0.0)


Reply: TypeAlias = Callable[[Wire, Asked], None]
Sample: TypeAlias = Mapping[str, Any]


class Prometheus:
    """One server. `values` and `reply` may be changed at any moment."""

    def __init__(self) -> None:
        self.values: dict[str, float] = {}
        """Series -> what it comes to; one whose name ends in `_each` has a sample for each of two instances."""
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
    """A healthy one, until something is changed."""
    server = Prometheus()
    with scripted(server.serve) as at:
        server.url = at.url
        yield server


def well(wire: Wire, asked: Asked) -> None:
    """As documented."""
    wire.answer(vector(samples(asked)))


def samples(asked: Asked, **more: Any) -> Sequence[Sample]:
    """The right ones, `more` in place of some of their fields."""
    names = [f"{asked.series.removesuffix('_each')}-{number}" for number in range(2)]
    each = names if asked.series.endswith("_each") else [""]
    return [
        {"metric": {"instance": name} if name else {}, "value": [asked.at, repr(asked.value)]} | more for name in each
    ]


def vector(found: Sequence[Sample], **more: Any) -> bytes:
    """The body of a successful answer, with `more` beside its data."""
    data = {"resultType": "vector", "result": found}
    return json.dumps({"status": "success", "data": data} | more).encode()


def with_headers(*headers: str) -> Reply:
    """The right answer under these headers."""

    def reply(wire: Wire, asked: Asked) -> None:
        wire.answer(vector(samples(asked)), headers="".join(f"{header}\r\n" for header in headers).encode())

    return reply
