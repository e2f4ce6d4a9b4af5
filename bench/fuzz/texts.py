"""Fuzzed readers of one text: numbers, PromQL, the answers of a Prometheus and of programs."""
# ruff: noqa: D102 - what `make` and `read` return says Target

import json
import math
from collections.abc import Callable
from random import Random
from typing import Final, TypeVar

from adapters.command.answers import states
from autoscaler.config import promql
from autoscaler.errors import MetricError, QuantityError
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
from bench.fuzz.damage import damaged, noise
from bench.fuzz.target import Target, check, check_sentence

_Value = TypeVar("_Value")


class Quantities(Target):
    """Kubernetes' quantities, Prometheus' durations and sizes. An accepted value is formatted and parsed again."""

    _RIGHT: Final = (
        *("1", "500m", "1.5", "1Gi", "100Mi", "1e3", "2E2", "+5", "0.001k", "12Ei"),
        *("5m", "1h30m", "90s", "100ms", "2d", "1w", "64MiB", "5GB"),
    )

    def make(self, random: Random) -> bytes:
        if random.random() < 0.5:
            return noise(random, "0123456789.eE+-numkMGTPEi smhdwyB", 14).encode("utf-8", "surrogatepass")
        return damaged(random, self._RIGHT).encode("utf-8", "surrogatepass")

    def read(self, given: bytes) -> bool:
        text = given.decode("utf-8", "surrogatepass")
        quantity, duration = _parsed(parse_quantity, text), _parsed(parse_duration, text)
        if quantity is not None:
            check(parse_quantity(format_quantity(quantity)) == quantity, f"{quantity} is written as another quantity")
        if duration is not None:
            check(parse_duration(format_duration(duration)) == duration, f"{duration} is written as another duration")
        values = (quantity, duration, _parsed(parse_exact, text), _parsed(parse_size, text))
        return any(value is not None for value in values)


class Expressions(Target):
    """PromQL, checked offline."""

    _RIGHT: Final = (
        "up",
        'sum by (instance) (rate(http_requests_total{job="api",code!~"5.."}[5m]))',
        "histogram_quantile(0.9, sum by (le, instance) (rate(latency_bucket[2m]))) > bool 1",
        "max_over_time(queue_length[30m:1m] offset 5m) / on (job) group_left (team) info * 2 ^ -1",
        "clamp_min(a - b, 0) or vector(0) unless absent(c)",
        'label_replace(x, "a", "$1", "b", "(.*)") @ end()',
        "topk without (instance) (3, -x) and ignoring (a) y",
    )

    def make(self, random: Random) -> bytes:
        if random.random() < 0.2:
            alphabet = "xy{}[]()=~\"'`\\,:@+-*/^% \n#0159mshdby_sumrateofftignorlp"
            return noise(random, alphabet, 80).encode("utf-8", "replace")
        return damaged(random, self._RIGHT).encode("utf-8", "replace")

    def read(self, given: bytes) -> bool:
        text = given.decode()
        try:
            found = promql.parse(text)
        except ValueError as error:
            check_sentence(str(error))
            return False
        check(found.text == text, "the expression that is sent is another one")
        return True


class Answers(Target):
    """A Prometheus' answer to a query."""

    _AT: Final = 1_700_000_000.0
    _RIGHT: Final = tuple(
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

    def make(self, random: Random) -> bytes:
        body = damaged(random, self._RIGHT).encode("utf-8", "surrogatepass")
        if random.random() < 0.2:
            at = random.randint(0, len(body))
            body = body[:at] + random.randbytes(random.randint(1, 4)) + body[at:]
        return body

    def read(self, given: bytes) -> bool:
        try:
            found = parse_answer(given, 200, self._AT, 2**20)
        except NotAnAnswer:
            return False
        except MetricError as error:
            check_sentence(str(error))
            return False
        for point in found.points:
            try:
                value = milli(point)
            except MetricError as error:
                check_sentence(str(error))
                continue
            check(value is None or 0 <= value < 2**63, f"a sample became {value} thousandths")
            check(point.value is None or not math.isinf(point.value), "an infinity is a value")
        return True


class Programs(Target):
    """What a program of the adapter `command` prints. Most damage costs one target."""

    _TARGETS: Final = (TargetRef("trial", "web"), TargetRef("trial", "shop"))
    _RIGHT: Final = (
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

    def make(self, random: Random) -> bytes:
        return damaged(random, self._RIGHT).encode("utf-8", "surrogatepass")

    def read(self, given: bytes) -> bool:
        try:
            found = states(given, self._TARGETS, "/bin/program")
        except TargetUnavailable as error:
            check(bool(str(error)), "refused without a message")
            return False
        check(found.keys() == set(self._TARGETS), f"it answered for {found.keys()}")
        check(all(isinstance(each, TargetState | TargetError) for each in found.values()), "neither state nor error")
        return any(isinstance(each, TargetState) for each in found.values())


def _parsed(parse: Callable[[str], _Value], text: str) -> _Value | None:
    try:
        return parse(text)
    except QuantityError as error:
        check_sentence(str(error))
        return None
