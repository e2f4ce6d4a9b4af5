"""Decodes and validates the HTTP API's answer to a query.

Source: prometheus.io/docs/prometheus/latest/querying/api, "Format overview", "Instant queries" and "Expression query
result formats"; values are written by Prometheus' util/jsonutil, MarshalFloat.
"""

import math
import re
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, Final, Literal, TypeVar

import msgspec

from autoscaler.errors import MetricError
from autoscaler.net.answer import decoded as decoded_data
from autoscaler.observe.failure import NoValue, QueryFailure
from autoscaler.observe.planner.outcome import Outcome, refused
from autoscaler.observe.result import Point, QueryResult, ResultType
from autoscaler.text import plain

_T = TypeVar("_T")

_INFO: Final = "PromQL info:"
"""Prefix of remarks that do not affect the result."""
_WARNING: Final = "PromQL warning:"
"""Prefix of warnings about the expression and its samples. Other warnings concern the server's storage."""
_MAX_WARNINGS: Final = 3
"""Most warnings shown."""
FARTHEST_SECONDS: Final = 60.0
"""Largest difference between the requested time and a sample's, and between two clocks."""
MORE_ROOM: Final = (
    "aggregate in the expression, split a shared query by an expression for each autoscaler that selects the labels of "
    "its match, or raise its maxAnswer"
)
"""The remedy for an answer that is too large."""
REFUSED: Final = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
"""HTTP statuses of a server that does not accept the credentials. Its text may repeat them."""
_NEITHER: Final = "it has neither data nor an error"
_BYTES_PER_QUOTE: Final = 10
"""Every name and value has two quotes, and each quote takes up to 40 bytes once decoded.

An answer with one quote in ten bytes takes four times its size in memory.
"""
_QUOTES_ALWAYS_READ: Final = 2**22
"""Quotes allowed in every answer (150 MB decoded), so that a small maxAnswer does not reject it."""

_NUMBER: Final = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:e[+-][0-9]{2,3})?")
"""Prometheus writes an exponent below 1e-6 and from 1e21 on."""
_is_number: Final = _NUMBER.fullmatch
_NOT_FINITE: Final = {"NaN": math.nan, "+Inf": math.inf, "-Inf": -math.inf}


# Without garbage collection (gc=False): an answer has no reference cycles, and a collection over a million samples
# takes longer than decoding them.
class Value(msgspec.Struct, array_like=True, forbid_unknown_fields=True, gc=False):
    """A float sample."""

    time: float
    text: str


class Histogram(msgspec.Struct, array_like=True, forbid_unknown_fields=True, gc=False):
    """A native histogram's sample."""

    time: float
    buckets: msgspec.Raw


class _Sample(msgspec.Struct, gc=False):
    metric: dict[str, str]
    value: Value | None = None
    histogram: Histogram | None = None


class Data(msgspec.Struct, tag_field="resultType", gc=False):
    """The data of an answer to a query."""


class _Vector(Data, tag=ResultType.VECTOR.value, gc=False):
    result: list[_Sample]


class _Scalar(Data, tag=ResultType.SCALAR.value, gc=False):
    result: Value


class _String(Data, tag=ResultType.STRING.value, gc=False):
    result: Value


class Matrix(Data, tag=ResultType.MATRIX.value, gc=False):
    """The result of a range query. For an instant query, it is ignored."""

    result: msgspec.Raw


class _Answer(msgspec.Struct, rename="camel", gc=False):
    """What all answers have. `data` is decoded only if the answer is no error, whose `data` may have any form."""

    status: Literal["success", "error"]
    warnings: list[str] | None = None
    is_partial: bool | None = None
    """VictoriaMetrics: whether a storage node is missing, so that the data are a part. It adds no warning."""
    data: msgspec.Raw = msgspec.Raw()
    """Empty without any."""


class _Error(msgspec.Struct, rename="camel", gc=False):
    """An error. Servers and proxies leave out keys, or write other types."""

    status: Any = None
    error_type: Any = None
    error: Any = None
    message: Any = None


_ANSWER: Final = msgspec.json.Decoder(_Answer)
_DATA: Final[msgspec.json.Decoder[Data]] = msgspec.json.Decoder(_Vector | _Scalar | _String | Matrix)
_ERROR: Final = msgspec.json.Decoder(_Error)


class NotAnAnswer(Exception):
    """The answer does not follow the HTTP API. The message says how, if that helps."""


def parse_answer(body: bytes, status: int, at: float, largest: int) -> QueryResult:
    """Return the complete result of a query for the time `at`, in seconds since 1970.

    Raises NotAnAnswer. Raises MetricError for an error from Prometheus, partial data, samples of another time, or more
    samples than an answer of `largest` bytes may have. If the query may be the cause, it is a NoValue with a
    QueryFailure.
    """
    match parse_data(body, status, largest):
        case _Vector(result=samples):
            return QueryResult(ResultType.VECTOR, _points(samples, at))
        case _Scalar(result=value):
            point = Point({}, number(value.text))
            _check_time(value.time, at)
            return QueryResult(ResultType.SCALAR, (point,))
        case Matrix():
            return QueryResult(ResultType.MATRIX, ())
    return QueryResult(ResultType.STRING, ())


def parse_look_up(body: bytes, status: int, kind: type[_T], largest: int) -> _T:
    """Return the answer's `data` as `kind`. Raises as `parse_answer` does, and Malformed."""
    return decoded_data(bytes(_raw(body, status, largest)), kind, largest)


def parse_data(body: bytes, status: int, largest: int) -> Data:
    """Return the data of an answer to a query. Raises as `parse_answer` does."""
    return decoded_as(_DATA, _raw(body, status, largest))


def decoded_as(decoder: "msgspec.json.Decoder[_T]", raw: msgspec.Raw) -> _T:
    """Return a part of an answer that the first step left as it came, its texts unread. Raises NotAnAnswer."""
    try:
        return decoder.decode(raw)
    except msgspec.ValidationError as error:  # valid JSON of another form
        raise NotAnAnswer(str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise NotAnAnswer from None


def _raw(body: bytes, status: int, largest: int) -> msgspec.Raw:
    if len(body) > _QUOTES_ALWAYS_READ and body.count(b'"') > max(largest // _BYTES_PER_QUOTE, _QUOTES_ALWAYS_READ):
        more = f"answered with more samples and labels than its maxAnswer has room for; {MORE_ROOM}"
        raise NoValue(QueryFailure(more, Outcome.TOO_LARGE, answered=True))
    if status == HTTPStatus.NOT_FOUND:  # it can come with JSON of the same form, for example from this daemon
        raise NotAnAnswer("it is not a Prometheus, or its API has another path")
    try:
        answer = _ANSWER.decode(body)
    except msgspec.ValidationError as error:
        raise _error(body, status) or NotAnAnswer(str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise NotAnAnswer from None
    if answer.status == "error":
        raise _error(body, status) or NotAnAnswer(_NEITHER)
    if status != HTTPStatus.OK:
        raise NotAnAnswer("only an answer with HTTP 200 is complete")
    _check_whole(answer)
    if bytes(memoryview(answer.data)[:5]) in (b"", b"null"):  # a copy of the whole could be large
        raise NotAnAnswer(_NEITHER)
    return answer.data


def _error(body: bytes, status: int) -> NoValue | None:
    """Return the error in any of the forms that servers and proxies write; None if the answer has no such form."""
    try:
        said = _ERROR.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    kind = str(said.error_type) if isinstance(said.error_type, str | int) else ""
    inner = said.error.get("message") if isinstance(said.error, dict) else said.error  # as Google's APIs write it
    text = next((each for each in (inner, said.message) if isinstance(each, str)), "")
    words = ": ".join(part for part in (kind, text) if part)
    ours = said.status == "error"
    if not words or not (ours or (status >= HTTPStatus.BAD_REQUEST and status not in REFUSED)):
        return None
    outcome = refused(status, kind, text) if ours else Outcome.FAILED
    return NoValue(QueryFailure(f"answered HTTP {status}: {plain(words)}", outcome, answered=True))


def _check_whole(answer: _Answer) -> None:
    """Raise NoValue for an answer that is marked as a part of the data. A part looks like less load."""
    doubts = [line for line in answer.warnings or () if not line.startswith(_INFO)]
    ours = all(line.startswith(_WARNING) for line in doubts) and not answer.is_partial
    if answer.is_partial:
        doubts.insert(0, "isPartial is true, so some of its storage nodes did not answer")
    if doubts:
        outcome = Outcome.REFUSED if ours else Outcome.FAILED
        raise NoValue(QueryFailure(f"answered with partial data: {_listed(doubts)}", outcome, answered=True))


def _points(samples: list[_Sample], at: float) -> tuple[Point, ...]:
    points: list[Point] = []
    samples.reverse()
    checked: float | None = None  # the previous sample's time; nearly all samples have the same
    while samples:  # frees each sample once its point is made: there may be a million
        sample = samples.pop()
        value = sample.value
        if value is not None and sample.histogram is None:
            points.append(Point(sample.metric, number(value.text)))
            if value.time != checked:
                _check_time(value.time, at)
                checked = value.time
        elif sample.histogram is not None and sample.value is None:
            _check_time(sample.histogram.time, at)
            points.append(Point(sample.metric, None))
        else:
            raise NotAnAnswer("a sample has neither a value nor a histogram, or both")
    return tuple(points)


def number(text: str) -> float:
    """Return a sample's value. Accepts only what Go's strconv.FormatFloat writes; Python's float() accepts much more.

    Raises NotAnAnswer.
    """
    value = float(text) if _is_number(text) else _NOT_FINITE.get(text)
    if value is None or (math.isinf(value) and text not in _NOT_FINITE):
        raise NotAnAnswer(f"{plain(text, 64)!r} is not a value as Prometheus writes it")
    return value


def _check_time(time: float, at: float) -> None:
    """Check a sample's time: an instant query's samples carry the requested time of evaluation."""
    if abs(time - at) > FARTHEST_SECONDS:
        side = "before" if time < at else "after"
        raise MetricError(
            f"answered with a sample of {abs(time - at):.6g} s {side} the requested time, as from a cache; "
            "exclude /api/v1/query from caching"
        )


def _listed(lines: Sequence[str]) -> str:
    """Join the first few lines and the number of others, within the length limit."""
    shown = plain("; ".join(plain(line) for line in lines[:_MAX_WARNINGS]))
    more = len(lines) - _MAX_WARNINGS
    return f"{shown} and {more} more" if more > 0 else shown
