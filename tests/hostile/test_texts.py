"""Numbers, PromQL, and the answers of a Prometheus and of programs are accepted or refused with a message."""

import json
import math
from collections.abc import Callable
from typing import Any, Final

from hypothesis import given

from adapters.command.answers import states
from autoscaler.errors import MetricError, QuantityError
from autoscaler.fields import promql
from autoscaler.observe.answer import NotAnAnswer, parse_answer
from autoscaler.observe.result import milli
from autoscaler.quantity import (
    format_duration,
    format_quantity,
    parse_duration,
    parse_exact,
    parse_quantity,
    parse_size,
)
from autoscaler.target import TargetError, TargetRef, TargetState, TargetUnavailable
from tests.hostile.damage import check_message, damaged, noise, with_bytes

_AT: Final = 1_700_000_000.0
_TARGETS: Final = (TargetRef("trial", "web"), TargetRef("trial", "shop"))
_QUANTITIES: Final = (
    *("1", "500m", "1.5", "1Gi", "100Mi", "1e3", "2E2", "+5", "0.001k", "12Ei"),
    *("5m", "1h30m", "90s", "100ms", "2d", "1w", "64MiB", "5GB"),
)

_EXPRESSIONS: Final = (
    "up",
    'sum by (instance) (rate(http_requests_total{job="api",code!~"5.."}[5m]))',
    "histogram_quantile(0.9, sum by (le, instance) (rate(latency_bucket[2m]))) > bool 1",
    "max_over_time(queue_length[30m:1m] offset 5m) / on (job) group_left (team) info * 2 ^ -1",
    "clamp_min(a - b, 0) or vector(0) unless absent(c)",
    'label_replace(x, "a", "$1", "b", "(.*)") @ end()',
    "topk without (instance) (3, -x) and ignoring (a) y",
)

_ANSWERS: Final = tuple(
    json.dumps(answer)
    for answer in (
        {"status": "success", "data": {"resultType": "scalar", "result": [1_700_000_000, "1.5"]}},
        {"status": "success", "data": {"resultType": "string", "result": [1_700_000_000.5, "x"]}},
        {"status": "success", "data": {"resultType": "matrix", "result": [{"metric": {}, "values": [[1, "1"]]}]}},
        {"status": "error", "errorType": "execution", "error": "multiple matches for labels"},
        {"status": "success", "warnings": ["PromQL info: x", "y"], "data": {"resultType": "vector", "result": []}},
        {
            "status": "success",
            "data": {
                "resultType": "vector",
                "result": [
                    {"metric": {"__name__": "up", "instance": "a:1"}, "value": [1_700_000_000.25, "0"]},
                    {"metric": {"instance": "b:1"}, "value": [1_700_000_000.25, "NaN"]},
                    {"metric": {"le": "+Inf"}, "value": [1_700_000_000.25, "1e308"]},
                    {"metric": {}, "histogram": [1_700_000_000.25, {"count": "1", "sum": "2", "buckets": []}]},
                ],
            },
        },
    )
)

_PROGRAMS: Final = (
    """{"targets": [
{"target": {"name": "web"}, "replicas": 3, "revision": "7", "warnings": ["old"],
"instances": [{"name": "web-1", "ready": true, "startedAt": "2026-01-01T00:00:00Z", "identities": ["10.0.0.1"]}]},
{"target": {"name": "shop"}, "error": "NotFound", "message": "create it"}
]}""",
    """{"targets": [
{"target": {"name": "web", "region": "east"}, "replicas": 0, "limits": {"minimum": 0},
"hold": {"scaleIn": {"reason": "Rolling", "message": "wait"}}},
{"target": {"name": "shop"}, "replicas": 2}
]}""",
)


@given(noise("0123456789.eE+-numkMGTPEi smhdwyB", 14) | damaged(_QUANTITIES))
def test_an_accepted_quantity_or_duration_is_written_as_itself(text: str) -> None:
    quantity, duration = _parsed(parse_quantity, text), _parsed(parse_duration, text)
    assert quantity is None or parse_quantity(format_quantity(quantity)) == quantity
    assert duration is None or parse_duration(format_duration(duration)) == duration
    _parsed(parse_exact, text)
    _parsed(parse_size, text)


@given(damaged(_EXPRESSIONS))
def test_an_accepted_expression_is_sent_as_it_is(text: str) -> None:
    text = text.encode("utf-8", "replace").decode()
    try:
        assert promql.parse(text).text == text
    except ValueError as error:
        check_message(error)


@given(with_bytes(damaged(_ANSWERS)))
def test_an_answer_gives_values_in_range_or_an_error(body: bytes) -> None:
    """No answer is an infinite or a negative load."""
    try:
        found = parse_answer(body, 200, _AT, 2**20)
    except NotAnAnswer:
        return
    except MetricError as error:
        check_message(error)
        return
    for point in found.points:
        assert point.value is None or not math.isinf(point.value)
        try:
            value = milli(point)
        except MetricError as error:
            check_message(error)
        else:
            assert value is None or 0 <= value < 2**63


@given(damaged(_PROGRAMS))
def test_a_program_answers_for_each_target_or_for_none(text: str) -> None:
    """Most damage costs one target."""
    try:
        found = states(text.encode("utf-8", "surrogatepass"), _TARGETS, "/bin/program")
    except TargetUnavailable as error:
        check_message(error)
        return
    assert found.keys() == set(_TARGETS)
    assert all(isinstance(each, TargetState | TargetError) for each in found.values())


def _parsed(parse: Callable[[str], Any], text: str) -> Any:
    try:
        return parse(text)
    except QuantityError as error:
        check_message(error)
        return None
