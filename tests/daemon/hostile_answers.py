"""A Prometheus that answers each query in another wrong way. Each was seen, or is one that HTTP or JSON allows."""

import gzip
import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qs

from tests.servers.scripted import Wire, scripted

Answer: TypeAlias = Callable[[Wire, float], None]
"""Sends the answer to a query for a time."""

GZIP: Final = b"Content-Encoding: gzip\r\n"
_LONG: Final = "x" * 10**7


def vector(at: float, *samples: tuple[Mapping[str, Any], Any], **more: Any) -> bytes:
    """An instant vector of these labels and values."""
    result = [{"metric": labels, "value": [at, value]} for labels, value in samples]
    return json.dumps({"status": "success", "data": {"resultType": "vector", "result": result}} | more).encode()


@cache
def packed(element: bytes, megabytes: int) -> bytes:
    """A vector of as many of these elements, in gzip."""
    packer = zlib.compressobj(wbits=31)
    block = (element + b",") * (2**20 // (len(element) + 1))
    parts = [packer.compress(b'{"status":"success","data":{"resultType":"vector","result":[')]
    parts += [packer.compress(block) for _ in range(megabytes)]
    return b"".join([*parts, packer.compress(element + b"]}}"), packer.flush()])


def says(body: Callable[[float], bytes], headers: bytes = b"", status: str = "200 OK") -> Answer:
    """An answer of HTTP; `body` is made for the time that is asked for."""
    return lambda wire, at: wire.answer(body(at), status, headers)


def repeats(head: bytes, piece: bytes, every_seconds: float = 0.0) -> Answer:
    """Sends without end."""

    def answer(wire: Wire, _: float) -> None:
        wire.send(head)
        wire.repeat(piece, every_seconds)

    return answer


def _one(value: str, **labels: Any) -> Answer:
    return says(lambda at: vector(at, (labels, value)))


OK: Final = b"HTTP/1.1 200 OK\r\n"

ANSWERS: Final[Mapping[str, Answer]] = {
    "45 MB of empty objects": says(lambda _: packed(b"{}", 43), GZIP),
    "60 MB of empty lists": says(lambda _: packed(b"[]", 57), GZIP),
    "a million of the smallest samples": says(lambda at: packed(b'{"metric":{},"value":[%d,"1"]}' % at, 30), GZIP),
    "more of them than are decoded": says(lambda at: packed(b'{"metric":{},"value":[%d,"1"]}' % at, 60), GZIP),
    "a bomb": says(lambda _: packed(b" " * 1000, 500), GZIP),
    "a bomb of deflate": says(lambda _: zlib.compress(b" " * 2**24), b"Content-Encoding: deflate\r\n"),
    "gzip in parts": says(lambda _: gzip.compress(b"") * 5000, GZIP),
    "brotli": says(lambda _: b"\x8b\x02\x80", b"Content-Encoding: br\r\n"),
    "deep nesting": says(lambda _: b'{"status":"success","data":' + b"[" * 10**6),
    "a label that is a number": says(lambda at: vector(at, ({"instance": 7}, "1"))),
    "a label that is a list": says(lambda at: vector(at, ({"instance": ["a"]}, "1"))),
    "a label of 10 MB": _one("1", note=_LONG),
    "a label's name of 10 MB": says(lambda at: vector(at, ({_LONG: "a"}, "1"))),
    "control characters": _one("-1", note="\x1b[2J\r\n\x9b31m\u202e"),
    "an error of 10 MB": says(
        lambda _: json.dumps({"status": "error", "errorType": "execution", "error": _LONG}).encode(),
        status="422 Unprocessable",
    ),
    "10,000 warnings": says(lambda at: vector(at, ({}, "1"), warnings=["w" * 1000] * 10_000)),
    "a value beyond 63 bits": _one("1e+306"),
    "a value that is infinite": _one("1e400"),
    "not a number": _one("NaN"),
    "a time beyond all": _one("1e+300"),
    "a time before all": _one("-1e+300"),
    "hours ago": says(lambda at: vector(at - 3600, ({}, "1"))),
    "from a cache": says(lambda at: vector(at, ({}, "1")), b"Age: 3600\r\n"),
    "of another clock": says(lambda at: vector(at, ({}, "1")), b"Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"),
    "a cookie": says(lambda at: vector(at, ({}, "1")), b"Set-Cookie: a=%b; Path=/\r\n" % (b"x" * 4000)),
    "large headers": says(lambda at: vector(at, ({}, "1")), b"X: %b\r\n" % (b"y" * 60_000) * 60),
    "many headers": says(lambda at: vector(at, ({}, "1")), b"X: y\r\n" * 10_000),
    "interim answers": repeats(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1000),
    "trickled headers": repeats(OK + b"X-Endless: ", b"a", 0.05),
    "a body without end": repeats(OK + b"\r\n", b" " * 2**18),
    "trailers without end": repeats(OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"X-Trailer: 1\r\n" * 1000),
    "nothing": lambda wire, _: wire.hang(),
}


@dataclass(slots=True)
class Hostile:
    """Its URL, and how many queries it has had."""

    url: str
    turns: Iterator[int] = field(default_factory=count)
    asked: int = 0

    @property
    def rounds(self) -> int:
        """How often each answer has been given."""
        return self.asked // len(ANSWERS)


@contextmanager
def hostile_prometheus() -> Iterator[Hostile]:
    """Gives each of ANSWERS in turn, whatever is asked."""
    answers = tuple(ANSWERS.values())

    def serve(wire: Wire) -> None:
        while True:
            path, _, _ = wire.read().partition(b" HTTP/1.1\r\n")
            asked = parse_qs(path.decode().partition("?")[2])
            hostile.asked = next(hostile.turns)
            answers[hostile.asked % len(answers)](wire, float(asked["time"][0]))

    with scripted(serve) as server:
        hostile = Hostile(server.url)
        yield hostile
