"""Bad answers of a Prometheus: a proxy before a real one forwards answers, or changes each one as its case says.

A source's URL ends in the name of its case, so that one proxy has all of them at once.
"""

import gzip
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qs, quote, unquote, urlsplit

from tests.servers.faults import forward
from tests.servers.ports import free_port
from tests.servers.scripted import Wire, scripted

SERIES: Final = 200_000
SLOW: Final = "slow past the deadline"
DOWN: Final = "down"
"""No process listens. It is not an answer, so it has its own port."""


@dataclass(frozen=True, slots=True)
class Right:
    """The answer of the real server."""

    path: str
    """The path that was requested at the proxy."""
    at: float
    """The requested time, in seconds since 1970."""
    body: bytes

    @property
    def result(self) -> list[dict[str, Any]]:
        """Return the samples of its vector."""
        found: list[dict[str, Any]] = json.loads(self.body)["data"]["result"]
        return found


Answer: TypeAlias = Callable[[Wire, Right], None]


def _says(change: Callable[[dict[str, Any]], Any], **more: Any) -> Answer:
    """Return an answer with the `value` that `change` returns for each sample."""
    return lambda wire, right: wire.answer(_vector([each | {"value": change(each)} for each in right.result], **more))


def _value(value: Any) -> Answer:
    """Return an answer with this value in each sample."""
    return _says(lambda sample: [sample["value"][0], value])


def _body(content: Any) -> Answer:
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    return lambda wire, _: wire.answer(body)


def _status(status: str, **error: str) -> Answer:
    """Return an error as Prometheus reports it; without a message, as a proxy before it does."""
    body = json.dumps({"status": "error", **error}).encode() if error else status.encode()
    return lambda wire, _: wire.answer(body, status)


def _vector(result: list[dict[str, Any]], **more: Any) -> bytes:
    return json.dumps({"status": "success", "data": {"resultType": "vector", "result": result}, **more}).encode()


def _twice(wire: Wire, right: Right) -> None:
    copies = [each | {"metric": each["metric"] | {"replica": "b"}} for each in right.result]
    wire.answer(_vector([*right.result, *copies]))


def _part(sample: dict[str, Any]) -> Any:
    """Return the partial data of some stores behind it."""
    at, value = sample["value"]
    return [at, str(float(value) / 4)]


def _truncated(wire: Wire, right: Right) -> None:
    wire.send(
        b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(right.body), right.body[: len(right.body) // 2])
    )
    raise ConnectionError


def _broken_gzip(wire: Wire, right: Right) -> None:
    packed = bytearray(gzip.compress(right.body))
    packed[len(packed) // 2] ^= 0xFF
    wire.answer(bytes(packed), headers=b"Content-Encoding: gzip\r\n")


def _redirects(wire: Wire, right: Right) -> None:
    wire.answer(b"", "302 Found", b"Location: %b\r\n" % right.path.encode())


def _closed(wire: Wire, right: Right) -> None:
    raise ConnectionError


@cache
def _many_results(at: float) -> bytes:
    return _vector([{"metric": {"path": f"/item/{number}"}, "value": [at, "1"]} for number in range(SERIES)])


def _very_many(wire: Wire, right: Right) -> None:
    wire.answer(_many_results(0.5).replace(b"[0.5, ", b"[%r, " % right.at))


ANSWERS: Final[Mapping[str, Answer]] = {
    "NaN": _value("NaN"),
    "+Inf": _value("+Inf"),
    "-Inf": _value("-Inf"),
    "negative": _value("-1"),
    "1e308": _value("1e308"),
    "text": _value("many"),
    "empty text": _value(""),
    "null": _value(None),
    "no series": lambda wire, _: wire.answer(_vector([])),
    "two series": _twice,
    "an hour old": _says(lambda sample: [sample["value"][0] - 3600, sample["value"][1]]),
    "partial with warnings": _says(_part, warnings=["store 10.0.0.7 did not answer"]),
    "a string": _body({"status": "success", "data": {"resultType": "string", "result": [1.0, "6"]}}),
    "500": _status("500 Internal Server Error"),
    "503": _status("503 Service Unavailable", errorType="unavailable", error="Service Unavailable"),
    "422": _status("422 Unprocessable Entity", errorType="execution", error="found duplicate series"),
    "429": _status("429 Too Many Requests"),
    "401": _status("401 Unauthorized"),
    "200 with an error": _body({"status": "error", "errorType": "execution", "error": "expanding series"}),
    "HTML": _body(b"<!DOCTYPE html><html><body><form>Log in</form></body></html>"),
    "empty": _body(b""),
    "without data": _body({"status": "success"}),
    "truncated": _truncated,
    "broken gzip": _broken_gzip,
    "a redirect loop": _redirects,
    "closed": _closed,
    SLOW: lambda wire, _: wire.hang(),
    f"{SERIES:,} series": _very_many,
    DOWN: _closed,
}


CONTROL: Final = "plausible"
"""This answer does not look wrong, so its autoscaler scales in. It shows that the others could have done so, too."""
_GIVEN: Final = {**ANSWERS, CONTROL: _value("0")}


@dataclass(slots=True)
class Proxy:
    """A proxy that forwards answers until `fault` is called."""

    backend: str
    asked: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_GIVEN, 0))
    """Case -> number of queries with a bad answer."""
    _port: int = 0
    _down_port: int = 0
    _bad: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _listening: ExitStack = field(default_factory=ExitStack)

    def url(self, case: str) -> str:
        """Return the URL of the source of this case."""
        return f"http://127.0.0.1:{self._down_port if case == DOWN else self._port}/{quote(case)}"

    def fault(self) -> None:
        """Make every answer bad from now on."""
        self._bad = True
        self._listening.close()

    def heal(self) -> None:
        """Forward every answer from now on."""
        self._bad = False
        self._listening.enter_context(scripted(self._serve, port=self._down_port))

    def _serve(self, wire: Wire) -> None:
        while True:
            head, _, body = wire.read().partition(b"\r\n\r\n")
            first, *headers = head.decode().split("\r\n")
            method, path, _ = first.split(" ")
            _, case, at_backend = path.split("/", 2)
            case = unquote(case)
            kept = dict(header.split(": ", 1) for header in headers)
            kept.pop("Accept-Encoding", None)  # it is decoded here
            status, _, content = forward(self.backend, method, f"/{at_backend}", kept, body)
            if not self._bad or status != 200:
                wire.answer(content, str(status), b"Content-Type: application/json\r\n")
                continue
            with self._lock:
                self.asked[case] += 1
            (at,) = parse_qs(body.decode() or urlsplit(path).query)["time"]
            _GIVEN[case](wire, Right(path, float(at), content))


@contextmanager
def running_proxy(backend: str) -> Iterator[Proxy]:
    """Run a proxy before the Prometheus of this URL."""
    proxy = Proxy(backend, _down_port=free_port())
    with scripted(proxy._serve) as server, proxy._listening:
        proxy._port = server.port
        proxy.heal()
        yield proxy
