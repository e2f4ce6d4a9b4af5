"""Answers of a Prometheus and of an adapter that no documentation promises."""

import json
import time
import zlib
from collections.abc import Callable, Sequence
from typing import Any, Final

from rehearse.hostile.case import Case, Day
from rehearse.hostile.prometheus import Asked, Reply, samples, vector, with_headers
from tests.servers.scripted import Wire

_HUGE: Final = 10 * 2**20
_CHUNK: Final = 10**6
_GZIP: Final = 31
"""For zlib: a window of 32 KiB, and gzip's header."""
_HEAD: Final = b'{"status":"success","data":{"resultType":"vector","result":['


def _answers(reply: Reply) -> Callable[[Day], None]:
    """Return a day on which the hostile Prometheus gives this answer."""

    def happens(day: Day) -> None:
        day.hostile.reply = reply
        day.lasts()

    return happens


def _ages(text: str) -> Reply:
    """Return a reply with this text as the time of each sample, if it is requested."""

    def reply(wire: Wire, asked: Asked) -> None:
        wire.answer(vector(samples(asked, **({"value": [asked.at, text]} if asked.is_age else {}))))

    return reply


def _labels(value: Any) -> Reply:
    """Return a reply in which every sample has a label with this value."""
    return lambda wire, asked: wire.answer(vector(samples(asked, metric={"instance": value})))


def _three_vast(wire: Wire, asked: Asked) -> None:
    wire.answer(vector([{"metric": {"n": str(n)}, "value": [asked.at, "9.2e15"]} for n in range(3)]))


def _sends(body: Callable[[], bytes], status: str = "200 OK", headers: bytes = b"") -> Callable[[Day], None]:
    """Return a day on which every query has this body as its answer, which is built once."""

    def happens(day: Day) -> None:
        made = body()
        _answers(lambda wire, asked: wire.answer(made, status, headers))(day)

    return happens


def _huge_error() -> bytes:
    return json.dumps({"status": "error", "errorType": "bad_data", "error": "x" * _HUGE}).encode()


def _huge_label(wire: Wire, asked: Asked) -> None:
    """Send a huge label of an unusable sample, which the message would name."""
    wire.answer(vector([{"metric": {"instance": "x" * _HUGE}, "value": [asked.at, "-1"]}]))


def _huge_warning(wire: Wire, asked: Asked) -> None:
    wire.answer(vector(samples(asked), warnings=["x" * _HUGE]))


def _in_gzip(head: bytes, piece: bytes, size: int, tail: bytes) -> Callable[[Day], None]:
    """Return a compressed body of `size` bytes: one piece repeated between head and tail."""

    def body() -> bytes:
        many = piece * (_CHUNK // len(piece))
        squeeze = zlib.compressobj(wbits=_GZIP)
        chunks = [head, *[many] * (size // len(many)), tail]
        return b"".join([*map(squeeze.compress, chunks), squeeze.flush()])

    return _sends(body, headers=b"Content-Encoding: gzip\r\n")


def _vector_of(element: bytes, size: int) -> Callable[[Day], None]:
    """Return a compressed vector of `size` bytes that repeats this element."""
    return _in_gzip(_HEAD, element + b",", size, element + b"]}}")


def _good_samples(size: int) -> Callable[[Day], None]:
    """Return very many correct samples of the present."""

    def happens(day: Day) -> None:
        element = json.dumps({"metric": {"instance": "a"}, "value": [round(time.time(), 3), "1"]})
        _vector_of(element.encode(), size)(day)

    return happens


def _trickled_headers(wire: Wire, asked: Asked) -> None:
    """Send headers without an end. A client gives up after a hundred."""
    wire.send(b"HTTP/1.1 200 OK\r\nX-Header: ")
    wire.repeat(b"x", every_seconds=0.2)


def _interim(wire: Wire, asked: Asked) -> None:
    """Send interim responses again and again."""
    wire.repeat(b"HTTP/1.1 100 Continue\r\n\r\n", every_seconds=0.1)


def _trickled_body(wire: Wire, asked: Asked) -> None:
    wire.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    wire.repeat(b" ", every_seconds=0.1)


def _cookies(day: Day) -> None:
    """Set another cookie of 2,000 bytes with each answer. The server refuses requests with more than 8 KiB."""
    number = iter(range(10**9))

    def reply(wire: Wire, asked: Asked) -> None:
        if len(asked.head) > 8_192:
            wire.answer(b"too many cookies", "431 Request Header Fields Too Large")
        else:
            with_headers(f"Set-Cookie: c{next(number)}={'x' * 2_000}; Path=/")(wire, asked)

    day.hostile.reply = reply
    day.lasts()
    day.expect(not day.log.failed["bad"], f"{day.log.failed['bad']} decisions failed for cookies that were sent back")


def _old(change: Callable[[Wire, Asked], None]) -> Callable[[Day], None]:
    """Answer 1 with another time than requested. No autoscaler may use it."""

    def happens(day: Day) -> None:
        day.hostile.values["bad_load"] = 1
        day.hostile.reply = change
        day.lasts()
        sizes = day.world.shared.sizes("bad", day.meter.began)
        day.expect(not sizes, f"the bad autoscaler's target was written {sizes} from an answer of another time")

    return happens


def _an_hour_old(wire: Wire, asked: Asked) -> None:
    wire.answer(vector(samples(asked, value=[asked.at - 3_600, "1"])))


def _date(seconds: float) -> Reply:
    def reply(wire: Wire, asked: Asked) -> None:
        when = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(asked.at + seconds))
        with_headers(f"Date: {when}")(wire, asked)

    return reply


def _adapter(word: str, *, valid: bool = False) -> Callable[[Day], None]:
    """Return a day on which the adapter's answer for a target is odd, while its load asks for another size."""

    def happens(day: Day) -> None:
        day.odd(joined=word)
        day.hostile.values["joined_each"] = 2
        day.lasts()
        sizes = day.world.shared.sizes("joined", day.meter.began)
        day.expect(valid or not sizes, f"the target was written {sizes} from a state that is not one")

    return happens


CASES: Final[Sequence[Case]] = (
    Case("an ordinary day", lambda day: day.lasts()),
    Case("timestamp() is 1e300, with maxAge", _answers(_ages("1e300")), short=True),
    Case("timestamp() is NaN, with maxAge", _answers(_ages("NaN"))),
    Case("a label is a number", _answers(_labels(5))),
    Case("a label is a list", _answers(_labels(["a"])), short=True),
    Case("three samples of 9.2e15 against a target of 1m", _answers(_three_vast), short=True),
    Case("10 MB of error", _sends(_huge_error, "400 Bad Request")),
    Case("10 MB of label", _answers(_huge_label), short=True),
    Case("10 MB of warning", _answers(_huge_warning)),
    Case("45 MB of [{},{},…] in gzip", _vector_of(b"{}", 45 * 10**6), short=True),
    Case("60 MB of [[],[],…] in 60 KB, every query", _vector_of(b"[]", 60 * 10**6)),
    Case("60 MB of [[[[… in 60 KB, every query", _in_gzip(_HEAD, b"[", 60 * 10**6, b"")),
    Case("1.1 million good samples in 64 MB", _good_samples(64 * 10**6)),
    Case("200 MB of good samples", _good_samples(200 * 10**6)),
    Case("trickled headers", _answers(_trickled_headers)),
    Case("interim answers without end", _answers(_interim), short=True),
    Case("a trickled body", _answers(_trickled_body)),
    Case("cookies until 431", _cookies, short=True),
    Case("samples are an hour old", _old(_an_hour_old), short=True),
    Case("an Age of an hour", _old(with_headers("Age: 3600"))),
    Case("a Date 20 minutes ahead", _old(_date(1_200))),
    Case("a Date 20 minutes back", _old(_date(-1_200))),
    Case("an identity of an instance is None", _adapter("an identity is None"), short=True),
    Case("a size is a text", _adapter("a size is a text")),
    Case("a size is beyond 32 bits", _adapter("a size is beyond 32 bits")),
    Case("a target's state is not a state", _adapter("not a state")),
    Case("10 MB of an adapter's error", _adapter("10 MB of error")),
    Case("10 MB of an adapter's warning", _adapter("10 MB of warning", valid=True)),
)
