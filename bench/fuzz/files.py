"""Fuzzed readers of files: configurations, those of teams, tests of them, and what `autoscaler import` takes."""
# ruff: noqa: D102 - what `make` and `read` return says Target

import shutil
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from io import BytesIO, TextIOWrapper
from pathlib import Path
from random import Random
from typing import Any, ClassVar, Final

import msgspec
import yaml

from autoscaler.cli.app import app
from autoscaler.cli.output import error_lines
from autoscaler.config.loader import load_text
from autoscaler.config.origins import read_version
from autoscaler.config.outside import read_outside
from autoscaler.convert.discovered import TargetPolicy
from autoscaler.errors import ConfigError
from autoscaler.model import TargetRef
from autoscaler.scenarios.reading import read_tests
from bench.fuzz.damage import damaged
from bench.fuzz.target import Target, check, check_sentence

PROJECT: Final = Path(__file__).resolve().parents[2]


class Configurations(Target):
    """The daemon's configuration file."""

    _EXAMPLES: ClassVar = "config/examples"

    def __init__(self) -> None:
        super().__init__()
        examples = sorted((PROJECT / self._EXAMPLES).glob("*.yaml"))
        self._right = [file.read_text(encoding="utf-8") for file in examples]

    def make(self, random: Random) -> bytes:
        return damaged(random, self._right).encode("utf-8", "replace")

    def read(self, given: bytes) -> bool:
        try:
            self._load(given)
        except ConfigError as error:
            check(bool(error.problems), "refused without a problem")
            for problem in error.problems:
                check(problem.line >= 1 and problem.column >= 1, f"a problem without a place: {problem}")
                check_sentence(problem.message)
            lines = "".join(error_lines(error.problems))
            check(lines.isprintable(), f"a message that steers a terminal: {lines[:200]!r}")
            return False
        return True

    def _load(self, given: bytes) -> None:
        load_text(Path("autoscaler.yaml"), given.decode())


class Tests(Configurations):
    """A file of `autoscaler test`, beside the configuration that it names."""

    _EXAMPLES: ClassVar = "config/examples/tests"

    def __init__(self) -> None:
        super().__init__()
        folder = Path(self._closing.enter_context(tempfile.TemporaryDirectory(dir=_memory())), "examples")
        shutil.copytree(PROJECT / "config/examples", folder)
        self._file = folder / "tests/fuzzed.yaml"

    def _load(self, given: bytes) -> None:
        self._file.write_bytes(given)
        read_tests(self._file)


class TeamFiles(Configurations):
    """A team's file, under its grant."""

    _MAIN: Final = """
prometheus: {default: {url: "http://localhost"}}
adapters: {trial: {type: memory, groups: {web: {}, mail: {}}}, nomad: {type: nomad, discover: {policies: true}}}
queries: {rate: {expr: 'sum by (job) (rate(requests[1m]))'}}
schedules: {office: [{cron: "0 8 * * 1-5", duration: 10h, timezone: Europe/Berlin, minReplicas: 3}]}
autoscalersDir: teams
grants:
  shop: {namePrefix: shop-, adapters: [trial, nomad], namespaces: [shop], targets: ["*"], sources: [default],
         maxReplicas: 20, maxQueries: 9}
autoscalers: []
"""
    _RIGHT: ClassVar = (
        """- name: shop-web
  scaleTargetRef: {adapter: trial, name: web}
  maxReplicas: 30
  schedules: [office, {start: 2026-11-27T00:00, end: 2026-11-30T23:59, timezone: America/New_York, minReplicas: 4}]
  metrics:
    - type: External
      external: {metric: {name: q}, query: {ref: rate, match: {job: web}}, target: {type: Value, value: 3}}
""",
        """- {name: shop-mail, scaleTargetRef: {adapter: trial, name: mail}, maxReplicas: 3, idleReplicas: 0,
   cooldown: 5m, metrics: [&queue {type: External, external: {metric: {name: queue}, query: {expr: sum(queue)},
                     activation: 2, target: {type: AverageValue, averageValue: 3}}}]}
- {name: shop-web, scaleTargetRef: {adapter: trial, name: web}, dryRun: true, maxReplicas: 9, metrics: [*queue]}
""",
    )

    def __init__(self) -> None:
        super().__init__()
        self._main, self._right = load_text(Path("autoscaler.yaml"), self._MAIN), list(self._RIGHT)

    def _load(self, given: bytes) -> None:
        read_outside(given.decode(), "shop.yaml", self._main.grants["shop"], self._main)


class Policies(TeamFiles):
    """A policy that a back end has, as JSON, made an autoscaler under a grant."""

    _RIGHT: ClassVar = (
        """{"ID": "a", "Min": 1, "Max": 9, "Enabled": true, "Policy": {"cooldown": "1m", "evaluation_interval": "10s",
"check": [
{"load": [{"source": "prometheus", "query": "up", "query_window": "1m", "strategy": [
{"target-value": [{"target": 2.5, "threshold": 0.2, "max_scale_up": 3}]}]}]},
{"queue": [{"source": "prometheus", "query": "x", "strategy": [{"pass-through": [{}]}]}]}
]}, "Target": {"Namespace": "shop", "Job": "web", "Group": "app"}}""",
        """{"ID": "b", "Min": 2, "Max": 5, "Enabled": true, "Policy": {"check": [
{"cpu": [{"source": "nomad-apm", "query": "avg_cpu-allocated", "strategy": [{"target-value": [{"target": 70}]}]}]}
]}, "Target": {"Namespace": "shop", "Job": "web", "Group": "app"}}""",
    )

    def read(self, given: bytes) -> bool:
        try:
            policy = msgspec.json.decode(given, type=dict[str, Any])
            read_version(TargetPolicy(TargetRef("nomad", "web/app", "shop"), policy), self._main)
        except msgspec.DecodeError:
            return False
        except ConfigError as error:
            for problem in error.problems:
                check_sentence(problem.message)
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
        check(code in (0, 1), f"exit code {code}")
        check("\x1b" not in printed + said, "an escape reached the terminal")
        if printed:
            sections = yaml.safe_load(printed).keys()
            check(sections == {"autoscalers"}, f"it printed the sections {sorted(sections)}")
        return code == 0


def _taken(stream: TextIOWrapper) -> str:
    """Return what was written to the stream, and remove it from there."""
    stream.seek(0)
    text = stream.read()
    stream.seek(0)
    stream.truncate()
    return text


def _memory() -> str | None:
    """Return a folder in memory; None: there is none."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None
