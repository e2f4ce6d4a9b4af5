"""Valid answers of the HTTP API are read. Invalid ones are rejected at the first wrong element."""

import json
import math
import tracemalloc
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

import pytest

from autoscaler.errors import MetricError
from autoscaler.observe.answer import NotAnAnswer, parse_answer, parse_look_up
from autoscaler.observe.failure import NoValue, QueryFailure
from autoscaler.observe.planner.outcome import Outcome
from autoscaler.observe.ranges import Grid, parse_range
from autoscaler.observe.result import Point, QueryResult, ResultType

AT = 1763802498.5
MAX_BYTES = 2**26
VALUE = [AT, "1"]


def body(kind: str = "vector", result: Any = (), **more: Any) -> bytes:
    return json.dumps({"status": "success", "data": {"resultType": kind, "result": result}} | more).encode()


def vector(*samples: Any) -> bytes:
    return body("vector", samples)


def parse(content: bytes) -> QueryResult:
    return parse_answer(content, 200, AT, MAX_BYTES)


def refusal(content: bytes) -> str:
    with pytest.raises((NotAnAnswer, MetricError)) as caught:
        parse(content)
    return str(caught.value)


def test_a_vector_is_read() -> None:
    """Labels, values and native histograms."""
    samples = (
        {"metric": {"job": "a"}, "value": [AT, "1.5"]},
        {"metric": {}, "histogram": [AT, {"count": "1", "sum": "2", "buckets": []}]},
    )
    assert parse(vector(*samples)) == QueryResult(ResultType.VECTOR, (Point({"job": "a"}, 1.5), Point({}, None)))


@pytest.mark.parametrize("kind", ["scalar", "string", "matrix"])
def test_other_result_types_are_read(kind: str) -> None:
    """The metric decides what they mean."""
    result = [{"metric": {}, "values": [VALUE]}] if kind == "matrix" else VALUE
    assert parse(body(kind, result)) == QueryResult(ResultType(kind), (Point({}, 1.0),) if kind == "scalar" else ())


def test_keys_of_an_object_come_in_any_order() -> None:
    """JSON objects have no order."""
    content = b'{"data": {"result": [{"value": [%f, "2"], "metric": {}}], "resultType": "vector"}, "status": "success"}'
    assert parse(content % AT).points == (Point({}, 2.0),)


@pytest.mark.parametrize(
    "sample",
    [
        {},
        7,
        None,
        [],
        {"metric": {}},
        {"value": VALUE},
        {"metric": {"a": 7}, "value": VALUE},
        {"metric": {"a": ["x"]}, "value": VALUE},
        {"metric": {"a": None}, "value": VALUE},
        {"metric": ["a", "b"], "value": VALUE},
        {"metric": None, "value": VALUE},
        {"metric": {}, "value": None},
        {"metric": {}, "value": [AT]},
        {"metric": {}, "value": [AT, "1", "2"]},
        {"metric": {}, "value": [AT, 1]},
        {"metric": {}, "value": [AT, None]},
        {"metric": {}, "value": [str(AT), "1"]},
        {"metric": {}, "value": [True, "1"]},
        {"metric": {}, "value": {"time": AT, "value": "1"}},
        {"metric": {}, "value": "1"},
        {"metric": {}, "value": VALUE, "histogram": [AT, {}]},
        {"metric": {}, "histogram": {}},
    ],
)
def test_a_malformed_sample_is_rejected(sample: Any) -> None:
    """A label that was a number failed every autoscaler of a connection when sets of labels were compared."""
    with pytest.raises(NotAnAnswer):
        parse(vector({"metric": {}, "value": VALUE}, sample))


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("0", 0.0),
        ("-0", -0.0),
        ("1.5", 1.5),
        ("-12.25", -12.25),
        ("100000000000000000000", 1e20),
        ("1e+21", 1e21),
        ("1.7976931348623157e+308", 1.7976931348623157e308),
        ("5e-07", 5e-7),
        ("5e-324", 5e-324),
        ("+Inf", math.inf),
        ("-Inf", -math.inf),
    ],
)
def test_values_are_read_as_prometheus_writes_them(written: str, value: float) -> None:
    """MarshalFloat uses FormatFloat's `f` with the shortest digits, and `e` below 1e-6 and from 1e21 on."""
    assert parse(vector({"metric": {}, "value": [AT, written]})).points == (Point({}, value),)


def test_nan_is_a_value() -> None:
    """0/0; the metric decides what it means."""
    (point,) = parse(body("scalar", [AT, "NaN"])).points
    assert point.value is not None
    assert math.isnan(point.value)


@pytest.mark.parametrize(
    "written",
    [
        "",
        " 5 ",
        "5\n",
        "1_000",
        "0x10",
        "1e400",
        "-1e400",
        "infinity",
        "Inf",
        "nan",
        "+5",
        "1.",
        ".5",
        "1E5",
        "٣",
        "1,5",
    ],
)
def test_other_number_formats_are_rejected(written: str) -> None:
    """Python's float() accepts most of them, but Prometheus does not write them, and 1e400 is no infinite load."""
    assert "is not a value as Prometheus writes it" in refusal(vector({"metric": {}, "value": [AT, written]}))
    assert "is not a value as Prometheus writes it" in refusal(body("scalar", [AT, written]))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b'{"status": "weird"}',
        b'{"status": "success"}',
        b'{"status": "success", "data": null}',
        b'{"status": "success", "data": {"resultType": "nonsense", "result": []}}',
        b'{"status": "success", "data": {"resultType": ["vector"], "result": []}}',
        b'{"status": "success", "data": {"resultType": "vector", "result": null}}',
        b'{"status": "success", "data": {"resultType": "vector", "result": {}}}',
        b'{"status": "success", "data": {"resultType": "scalar", "result": []}}',
        b'{"status": "error"}',
        vector().replace(b"success", b"error"),
        b'{"status": "success", "warnings": "text"}',
        body(isPartial="true"),
        body(isPartial=1),
        b'{"status": "success", "warnings": [1]}',
        vector() + b"x",
        vector()[:-1],
        b"\xff\xfe",
        vector({"metric": {"a": "?"}, "value": VALUE}).replace(b"?", b"\xff"),
        b'{"status": "error", "errorType": "a", "error": "\xff"}',
        b'{"status": "error", "errorType": "a", "error": "\\ud800"}',
        b"[" * 1_000_000,
        b'{"status": "success", "stats": ' + b"[" * 1_000_000,
        b'{"status": "success", "data": {"resultType": "matrix", "result": ' + b'{"a":' * 1_000_000,
    ],
)
def test_an_invalid_answer_is_rejected(content: bytes) -> None:
    """However deep or wrong, the result is the same error."""
    with pytest.raises(NotAnAnswer):
        parse(content)


def test_an_error_gives_its_position() -> None:
    """The message helps an operator to find it."""
    message = refusal(vector({"metric": {}, "value": VALUE}, {"metric": {"a": 7}, "value": VALUE}))
    assert message == "Expected `str`, got `int` - at `$.result[1].metric[...]`"


@pytest.mark.parametrize("wrong", [b"{}", b"[]", b'{"metric":{},"value":[1,2]}', b"7"])
def test_a_long_list_is_rejected_at_its_first_wrong_element(wrong: bytes) -> None:
    """45 MB of them made the daemon use 7.9 GB permanently."""
    content = b'{"status":"success","data":{"resultType":"vector","result":[' + wrong + (b"," + wrong) * 2**20 + b"]}}"
    tracemalloc.start()
    try:
        refusal(content)
        assert tracemalloc.get_traced_memory()[1] < 2**16
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_an_answer_with_too_many_samples_is_not_decoded() -> None:
    """A valid answer takes up to ten times its size when decoded. 64 MiB of the smallest samples would take 550."""
    samples = b'{"metric":{},"value":[1763802498.5,"1"]}' + b',{"metric":{},"value":[1763802498.5,"1"]}' * 750_000
    content = b'{"status":"success","data":{"resultType":"vector","result":[' + samples + b"]}}"
    with pytest.raises(MetricError, match=r"more samples and labels than its maxAnswer has room for; .* or raise"):
        parse_answer(content, 200, AT, 2**25)
    assert len(parse_answer(content, 200, AT, 2**26).points) == 750_001


def test_prometheus_own_errors_are_shown_in_one_short_line() -> None:
    """A 10 MB text would be logged, stored and shown in each cycle."""
    content = json.dumps({"status": "error", "errorType": "execution", "error": "a\x1b[31m\n" + "x" * 10**7})
    message = refusal(content.encode())
    assert message.startswith(r"answered HTTP 200: execution: a\x1b[31m xxx")
    assert len(message.encode()) < 1100


def test_warnings_are_few_and_short() -> None:
    """A failing store may warn once for each of its series."""
    message = refusal(body(warnings=["PromQL info: fine"] + [f"{number}{'w' * 10**4}" for number in range(1000)]))
    assert message.startswith("answered with partial data: 0www")
    assert message.endswith(" and 997 more")
    assert len(message.encode()) < 1100


@pytest.mark.parametrize(
    ("marks", "partial"),
    [
        ({"isPartial": True}, "isPartial is true"),
        ({"isPartial": True, "warnings": ["PromQL warning: x"]}, "isPartial is true"),
        ({"isPartial": False, "warnings": ["store 3: down"]}, "store 3: down"),
        ({"isPartial": False}, None),
        ({"isPartial": None, "warnings": None}, None),
        ({"isPartial": False, "warnings": ["PromQL info: fine"], "infos": ["PromQL info: fine"]}, None),
    ],
)
def test_every_mark_of_a_part_is_an_error_in_every_reader(marks: Mapping[str, Any], partial: str | None) -> None:
    """VictoriaMetrics without a storage node sums the others, and a queue of 8 that looks like 1 scaled in."""
    series = [{"metric": {}, "values": [VALUE]}]
    grid = Grid(timedelta(seconds=1), int(AT), 1, timedelta(seconds=AT - int(AT)))
    readers: list[Callable[[], object]] = [
        lambda: parse(body(result=[{"metric": {}, "value": VALUE}], **marks)),
        lambda: parse_range(body("matrix", series, **marks), 200, grid, MAX_BYTES),
        lambda: parse_look_up(json.dumps({"status": "success", "data": ["a"], **marks}).encode(), 200, list, MAX_BYTES),
    ]
    for read in readers:
        if partial is None:
            assert read()
            continue
        with pytest.raises(NoValue, match=rf"answered with partial data: {partial}") as caught:
            read()
        said = QueryFailure(
            str(caught.value), Outcome.FAILED, answered=True
        )  # no member of a merged query is the cause
        assert caught.value.failure == said


@pytest.mark.parametrize("status", [201, 203, 206, 226, 299, 302, 500, 503, 599])
def test_a_result_counts_only_with_http_200(status: int) -> None:
    """A proxy marks what it changed or cut as 203 or 206; an error's body may be a cached result."""
    with pytest.raises(NotAnAnswer, match="only an answer with HTTP 200 is complete"):
        parse_answer(vector({"metric": {}, "value": VALUE}), status, AT, MAX_BYTES)


@pytest.mark.parametrize(
    ("status", "said", "message", "outcome"),
    [
        (400, {"status": "error", "error": "parse error"}, "parse error", Outcome.REFUSED),
        (422, {"status": "error", "error": "duplicate series"}, "duplicate series", Outcome.REFUSED),
        (422, {"status": "error", "error": "too many samples"}, "too many samples", Outcome.TOO_LARGE),
        (500, {"status": "error", "error": "ingester down"}, "ingester down", Outcome.FAILED),
        (500, {"status": "error", "errorType": None, "error": "e"}, "e", Outcome.FAILED),
        (422, {"status": "error", "errorType": 422, "error": "e"}, "422: e", Outcome.REFUSED),
        (200, {"status": "error", "errorType": "execution"}, "execution", Outcome.FAILED),
        (500, {"status": "error", "data": {"resultType": "", "result": None}, "error": "e"}, "e", Outcome.FAILED),
        (422, {"status": "error", "data": [], "errorType": "execution", "error": "e"}, "execution: e", Outcome.REFUSED),
        (500, {"status": "error", "warnings": {}, "error": "e"}, "e", Outcome.FAILED),
        (502, {"error": "no upstream"}, "no upstream", Outcome.FAILED),
        (429, {"message": "limit reached"}, "limit reached", Outcome.FAILED),
        (500, {"status": 500, "error": "Internal Server Error"}, "Internal Server Error", Outcome.FAILED),
    ],
)
def test_a_server_s_words_are_kept_in_whatever_form_it_has_errors(
    status: int, said: Mapping[str, Any], message: str, outcome: Outcome
) -> None:
    """Grafana Cloud leaves out errorType, and others write an empty result beside the error."""
    with pytest.raises(NoValue) as caught:
        parse_answer(json.dumps(said).encode(), status, AT, MAX_BYTES)
    assert caught.value.failure == QueryFailure(f"answered HTTP {status}: {message}", outcome, answered=True)


@pytest.mark.parametrize("seconds", [-3600.0, -61.0, 61.0, 1e300])
@pytest.mark.parametrize("form", ["value", "histogram", "scalar"])
def test_samples_of_another_time_are_rejected(seconds: float, form: str) -> None:
    """An hour-old answer from a cache scaled a job from 5 to 1."""
    old = [AT + seconds, {} if form == "histogram" else "1"]
    content = body("scalar", old) if form == "scalar" else vector({"metric": {}, form: old})
    message = refusal(content)
    assert f"of {abs(seconds):g} s {'before' if seconds < 0 else 'after'} the requested time" in message


@pytest.mark.parametrize("seconds", [-59.0, -0.0005, 59.0])
def test_a_rounded_time_is_accepted(seconds: float) -> None:
    """Prometheus uses milliseconds, other servers whole seconds or their own steps."""
    assert parse(vector({"metric": {}, "value": [AT + seconds, "1"]})).points


def test_a_sample_shows_its_first_labels_shortened() -> None:
    """A label value of 10 MB, or a 10,000th label, would appear in a log line."""
    long = Point({"a": "x" * 10**7, "b\x1b" * 10**6: "y", "c": "z"}, 1.0)
    assert str(long).startswith('{a="xxx')
    assert 'c="z"' in str(long)
    assert len(str(long).encode()) <= 300
    assert len(str(Point({f"l{number:05}": "x" * 20 for number in range(10_000)}, 1.0)).encode()) <= 300
