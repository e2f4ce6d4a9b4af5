"""Answers of a Prometheus without a value that may be used. No target is made smaller for one."""

import gzip
import json
from collections.abc import Callable, Sequence
from typing import Any, Final

from tests.faults.hostile.case import Case, Day
from tests.faults.hostile.prometheus import Asked, Reply, samples, vector
from tests.servers.scripted import Wire


def unusable(reply: Reply) -> Callable[[Day], None]:
    """Give this answer while the loads ask for a smaller size. No bad autoscaler's target may be written."""

    def happens(day: Day) -> None:
        day.hostile.values |= {"bad_load": 1, "joined_each": 0.1, "vast_load": 0.001}
        day.hostile.reply = reply
        day.lasts()
        for name in ("bad", "joined", "vast"):
            sizes = day.world.shared.sizes(name, day.meter.began)
            day.expect(not sizes, f"the target of {name!r} was written {sizes} from an answer without a value")

    return happens


def _plausible(day: Day) -> None:
    """Answer with the smaller loads themselves: the other days could have scaled in."""
    day.hostile.values |= {"bad_load": 1}
    day.lasts()
    sizes = day.world.shared.sizes("bad", day.meter.began)
    day.expect(sizes[-1:] == [1], f"a right answer scaled in to {sizes}, so the other days prove nothing")


def _value(value: Any) -> Callable[[Day], None]:
    return unusable(lambda wire, asked: wire.answer(vector(samples(asked, value=[asked.at, value]))))


def _body(content: bytes, status: str = "200 OK", headers: bytes = b"") -> Callable[[Day], None]:
    return unusable(lambda wire, _: wire.answer(content, status, headers))


def _error(status: str, kind: str, error: str) -> Callable[[Day], None]:
    """Answer as Prometheus reports an error."""
    return _body(json.dumps({"status": "error", "errorType": kind, "error": error}).encode(), status)


def _in_part(wire: Wire, asked: Asked) -> None:
    """Answer as a proxy of several stores, one of which did not answer."""
    wire.answer(vector(samples(asked, value=[asked.at, "0.1"]), warnings=["store 10.0.0.7 did not answer"]))


def _cut_short(wire: Wire, asked: Asked) -> None:
    body = vector(samples(asked))
    wire.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body[: len(body) // 2]))
    raise ConnectionError


def _broken_gzip(wire: Wire, asked: Asked) -> None:
    packed = bytearray(gzip.compress(vector(samples(asked))))
    packed[len(packed) // 2] ^= 0xFF
    wire.answer(bytes(packed), headers=b"Content-Encoding: gzip\r\n")


def _redirects(wire: Wire, asked: Asked) -> None:
    wire.answer(b"", "302 Found", b"Location: %b\r\n" % asked.head.split(b" ")[1])


def _closes(wire: Wire, _: Asked) -> None:
    raise ConnectionError


CASES: Final[Sequence[Case]] = (
    Case("a smaller load", _plausible, short=True),
    Case("NaN", _value("NaN")),
    Case("an infinite value", _value("+Inf")),
    Case("a negative value", _value("-1")),
    Case("a value that is a text", _value("many")),
    Case("a value that is null", _value(None)),
    Case("no series", _body(vector([])), short=True),
    Case("partial data with a warning", unusable(_in_part)),
    Case("a string", _body(b'{"status": "success", "data": {"resultType": "string", "result": [1.0, "1"]}}')),
    Case("an error with HTTP 503", _error("503 Service Unavailable", "unavailable", "Service Unavailable"), short=True),
    Case("an error with HTTP 422", _error("422 Unprocessable Entity", "execution", "found duplicate series")),
    Case("an error with HTTP 200", _error("200 OK", "execution", "expanding series")),
    Case("HTTP 500", _body(b"", "500 Internal Server Error")),
    Case("HTTP 429", _body(b"", "429 Too Many Requests")),
    Case("HTTP 401", _body(b"", "401 Unauthorized")),
    Case("HTML", _body(b"<!DOCTYPE html><html><body><form>Log in</form></body></html>")),
    Case("an empty body", _body(b"")),
    Case("no data", _body(b'{"status": "success"}')),
    Case("a body that is cut short", unusable(_cut_short)),
    Case("broken gzip", unusable(_broken_gzip)),
    Case("a redirect to itself", unusable(_redirects)),
    Case("a closed connection", unusable(_closes)),
    Case("no answer in time", unusable(lambda wire, _: wire.hang()), short=True),
)
