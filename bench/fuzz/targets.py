"""The fuzzed readers: how an input is made, and which results are right. Any other exception is a defect."""
# ruff: noqa: D102 - what `make` and `read` return says Target

import json
import math
import re
import socket
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from io import BytesIO, TextIOWrapper
from pathlib import Path
from random import Random
from typing import Final, Self, TypeVar
from urllib.parse import urlsplit

import yaml

from autoscaler.cli.app import app
from autoscaler.cli.output import error_lines
from autoscaler.config import promql
from autoscaler.config.loader import load_text
from autoscaler.errors import ConfigError, MetricError, QuantityError
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
from bench.fuzz.damage import damaged, noise
from tests.browser.world import served, shop

_Value = TypeVar("_Value")
PROJECT: Final = Path(__file__).resolve().parents[2]


class Target(ABC):
    """One reader of foreign input, opened for a run."""

    def __init__(self) -> None:
        self._closing = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()

    @abstractmethod
    def make(self, random: Random) -> bytes:
        """Return an input."""

    @abstractmethod
    def read(self, given: bytes) -> bool:
        """Return whether the input was accepted; False: it was refused with a message. Raises for a defect."""


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
            _check(parse_quantity(format_quantity(quantity)) == quantity, f"{quantity} is written as another quantity")
        if duration is not None:
            _check(parse_duration(format_duration(duration)) == duration, f"{duration} is written as another duration")
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
            _check_sentence(str(error))
            return False
        _check(found.text == text, "the expression that is sent is another one")
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
            _check_sentence(str(error))
            return False
        for point in found.points:
            try:
                value = milli(point)
            except MetricError as error:
                _check_sentence(str(error))
                continue
            _check(value is None or 0 <= value < 2**63, f"a sample became {value} thousandths")
            _check(point.value is None or not math.isinf(point.value), "an infinity is a value")
        return True


class Configurations(Target):
    """The daemon's configuration file."""

    def __init__(self) -> None:
        super().__init__()
        examples = sorted((PROJECT / "config/examples").glob("*.yaml"))
        self._right = [file.read_text(encoding="utf-8") for file in examples]

    def make(self, random: Random) -> bytes:
        return damaged(random, self._right).encode("utf-8", "replace")

    def read(self, given: bytes) -> bool:
        try:
            load_text(Path("autoscaler.yaml"), given.decode())
        except ConfigError as error:
            _check(bool(error.problems), "refused without a problem")
            for problem in error.problems:
                _check(problem.line >= 1 and problem.column >= 1, f"a problem without a place: {problem}")
                _check_sentence(problem.message)
            lines = "".join(error_lines(error.problems))
            _check(lines.isprintable(), f"a message that steers a terminal: {lines[:200]!r}")
            return False
        return True


class Manifests(Target):
    """Autoscalers of other systems, through `autoscaler import`; what it prints is YAML that loads."""

    _RIGHT: Final = (
        """apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, labels: {team: shop}}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 2
  maxReplicas: 10
  metrics:
    - type: Resource
      resource: {name: cpu, target: {type: Utilization, averageUtilization: 60}}
    - type: Pods
      pods:
        metric: {name: requests-per.second, selector: {matchExpressions: [{key: a/b, operator: In, values: [x.y]}]}}
        target: {type: AverageValue, averageValue: 1k}
    - type: External
      external: {metric: {name: queue, selector: {matchLabels: {q: main}}}, target: {type: Value, value: "30"}}
  behavior:
    scaleDown: {stabilizationWindowSeconds: 60, policies: [{type: Percent, value: 10, periodSeconds: 60}]}
---
apiVersion: v1
kind: Service
metadata: {name: web}
""",
        """apiVersion: autoscaling/v1
kind: HorizontalPodAutoscaler
metadata:
  name: api
spec:
  scaleTargetRef:
    kind: Deployment
    name: api
  maxReplicas: 4
  targetCPUUtilizationPercentage: 70
""",
        """apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: mail, annotations: {autoscaling.keda.sh/paused-replicas: "4"}}
spec:
  scaleTargetRef: {name: worker}
  fallback: {failureThreshold: 3, replicas: 6}
  triggers:
    - type: prometheus
      metadata: {serverAddress: http://prom:9090, query: sum(queue), threshold: "20", activationThreshold: "5"}
    - type: cron
      metadata: {timezone: Europe/Berlin, start: 0 8 * * 1-5, end: 0 18 * * 1-5, desiredReplicas: "10"}
""",
        """{"ID": "cache", "TaskGroups": [{"Name": "app", "Scaling": {"Min": 1, "Max": 9, "Policy": {"cooldown": "1m",
"check": [{"a": [{"source": "prometheus", "query": "up", "strategy": [{"target-value": [{"target": 2.5}]}]}]},
{"b": [{"schedule": [{"start": "0 8 * * *", "end": "0 9 * * *"}], "strategy": [{"fixed-value": [{"value": 4}]}]}]}]
}}}]}
""",
        """apiVersion: v1
kind: List
items:
  - apiVersion: autoscaling/v2
    kind: HorizontalPodAutoscaler
    metadata: {name: jobs}
    spec:
      scaleTargetRef: {kind: Deployment, name: jobs}
      maxReplicas: 3
      metrics:
        - type: Object
          object:
            metric: {name: depth}
            describedObject: {kind: Service, name: jobs}
            target: {type: AverageValue, averageValue: 500m}
""",
    )

    def __init__(self) -> None:
        super().__init__()
        # typer's own runner makes new streams for each call, and click remembers every stream for ever
        self._stdout, self._stderr = (TextIOWrapper(BytesIO(), "utf-8", write_through=True) for _ in range(2))
        self._file = Path(self._closing.enter_context(tempfile.TemporaryDirectory(dir=_memory()))) / "hpa.yaml"

    def make(self, random: Random) -> bytes:
        return damaged(random, self._RIGHT).encode("utf-8", "replace")

    def read(self, given: bytes) -> bool:
        self._file.write_bytes(given)
        with redirect_stdout(self._stdout), redirect_stderr(self._stderr):
            try:
                app(["import", str(self._file)], prog_name="autoscaler")
            except SystemExit as ended:
                code = ended.code
        printed, said = _taken(self._stdout), _taken(self._stderr)
        _check(code in (0, 1), f"exit code {code}")
        _check("\x1b" not in printed + said, "an escape reached the terminal")
        if printed:
            sections = yaml.safe_load(printed).keys()
            _check(sections == {"autoscalers"}, f"it printed the sections {sorted(sections)}")
        return code == 0


class Requests(Target):
    """The HTTP server, on a real socket: no answer is a 500, and it goes on."""

    _RIGHT: Final = (
        "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /?q=web&sort=load&page=2&state=steady HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept-Encoding: gzip\r\n\r\n",
        "GET /autoscalers/search HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: a=b; c\r\n\r\n",
        "GET /api/v1/autoscalers?offset=10&limit=5&labelSelector=team%3Dshop HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        "GET /api/v1/autoscalers/search/history?since=2026-01-01T00:00:00Z&points=10 HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /api/v1/events?since=0&limit=3 HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Basic YTpi\r\n\r\n",
        (
            "POST /api/v1/autoscalers/search/pause HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            'Content-Length: 30\r\n\r\n{"direction":"in","for":60.5} '
        ),
        "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: keep-alive\r\n\r\n",
        "HEAD /-/healthy HTTP/1.0\r\n\r\n",
    )

    def __enter__(self) -> Self:
        folder = Path(self._closing.enter_context(tempfile.TemporaryDirectory()))
        site = self._closing.enter_context(served(folder, shop))
        address = urlsplit(site.url)
        self._place = str(address.hostname), int(address.port or 0)
        self._control_socket = str(site.control_socket)
        return self

    def make(self, random: Random) -> bytes:
        request = damaged(random, self._RIGHT).encode("utf-8", "surrogatepass")
        if random.random() < 0.1:
            at = random.randint(0, len(request))
            request = request[:at] + random.randbytes(random.randint(1, 8)) + request[at:]
        return request

    def read(self, given: bytes) -> bool:
        with self._connected(given) as connection:
            answer = b""
            try:
                connection.sendall(given)
                connection.shutdown(socket.SHUT_WR)  # so that half a request is not waited for
                while part := connection.recv(65536):
                    answer += part
            except (ConnectionResetError, BrokenPipeError):
                pass  # it may refuse to read on
        if not answer:
            return False
        status = re.match(rb"HTTP/1\.[01] (\d{3}) ", answer)
        _check(status is not None, f"not an HTTP answer: {answer[:80]!r}")
        assert status is not None
        _check(int(status[1]) not in (500, 502, 504), f"HTTP {status[1].decode()}")
        return int(status[1]) < 400

    def _connected(self, given: bytes) -> socket.socket:
        """Connect to TCP, or to the control socket for a change, which TCP refuses before it reads the body."""
        if not given.startswith(b"POST"):
            return socket.create_connection(self._place, timeout=30)
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(30)
        connection.connect(self._control_socket)
        return connection


def _taken(stream: TextIOWrapper) -> str:
    """Return what was written to the stream, and remove it from there."""
    stream.seek(0)
    text = stream.read()
    stream.seek(0)
    stream.truncate()
    return text


def _parsed(parse: Callable[[str], _Value], text: str) -> _Value | None:
    try:
        return parse(text)
    except QuantityError as error:
        _check_sentence(str(error))
        return None


def _memory() -> str | None:
    """Return a folder in memory; None: there is none."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def _check(fine: bool, otherwise: str) -> None:
    if not fine:
        raise AssertionError(otherwise)


def _check_sentence(text: str) -> None:
    _check(bool(text) and len(text) < 10_000, f"not a message: {text[:100]!r}")


TARGETS: Final[dict[str, tuple[Callable[[], Target], float]]] = {
    "quantities": (Quantities, 0.30),
    "expressions": (Expressions, 0.25),
    "answers": (Answers, 0.30),
    "configuration": (Configurations, 0.05),
    "manifests": (Manifests, 0.05),
    "http": (Requests, 0.05),
}
"""Name -> what opens it, and its share of the inputs, which is smaller for slow readers."""


def names() -> Sequence[str]:
    """The names of all targets."""
    return list(TARGETS)
