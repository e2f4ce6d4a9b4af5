"""Configurations, files of teams, policies, tests and manifests are accepted or refused with a message."""

import shutil
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
import yaml
from hypothesis import given
from typer.testing import CliRunner

from autoscaler.cli.app import app
from autoscaler.cli.output import error_lines
from autoscaler.config.loader import load_text
from autoscaler.config.origins import read_version
from autoscaler.config.outside import read_outside
from autoscaler.convert.discovered import TargetPolicy
from autoscaler.errors import ConfigError
from autoscaler.model import TargetRef
from autoscaler.scenarios.reading import read_tests
from tests.hostile.damage import check_message, damaged

pytestmark = pytest.mark.slow

_EXAMPLES: Final = Path(__file__).resolve().parents[2] / "config/examples"
_CONFIGURATIONS: Final = [file.read_text(encoding="utf-8") for file in sorted(_EXAMPLES.glob("*.yaml"))]
_TESTS: Final = [file.read_text(encoding="utf-8") for file in sorted((_EXAMPLES / "tests").glob("*.yaml"))]
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

_TEAM_FILES: Final = (
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

_POLICIES: Final = (
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

_MANIFESTS: Final = (
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


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the examples, which tests of configurations name."""
    return Path(shutil.copytree(_EXAMPLES, tmp_path_factory.mktemp("hostile") / "examples"))


@given(text=damaged(_CONFIGURATIONS))
def test_a_configuration_loads_or_has_problems_with_places(text: str) -> None:
    try:
        load_text(Path("autoscaler.yaml"), _readable(text))
    except ConfigError as error:
        _check_problems(error)


@given(text=damaged(_TESTS))
def test_a_file_of_tests_loads_or_has_problems_with_places(folder: Path, text: str) -> None:
    file = folder / "tests/damaged.yaml"
    file.write_text(_readable(text), encoding="utf-8")
    try:
        read_tests(file)
    except ConfigError as error:
        _check_problems(error)


@given(text=damaged(_TEAM_FILES))
def test_a_file_of_a_team_loads_or_has_problems_with_places(text: str) -> None:
    main = load_text(Path("autoscaler.yaml"), _MAIN)
    try:
        read_outside(_readable(text), "shop.yaml", main.grants["shop"], main)
    except ConfigError as error:
        _check_problems(error)


@given(text=damaged(_POLICIES))
def test_a_policy_that_a_back_end_has_becomes_an_autoscaler_or_a_problem(text: str) -> None:
    try:
        policy = msgspec.json.decode(_readable(text), type=dict[str, Any])
    except msgspec.DecodeError:
        return
    main = load_text(Path("autoscaler.yaml"), _MAIN)
    try:
        read_version(TargetPolicy(TargetRef("nomad", "web/app", "shop"), policy), main)
    except ConfigError as error:
        _check_messages(error)


@given(text=damaged(_MANIFESTS))
def test_a_manifest_becomes_yaml_that_loads_or_an_error(folder: Path, text: str) -> None:
    file = folder / "manifest.yaml"
    file.write_text(_readable(text), encoding="utf-8")
    ended = CliRunner().invoke(app, ["import", str(file)])
    assert ended.exit_code in (0, 1)
    assert ended.exception is None or isinstance(ended.exception, SystemExit)
    assert "\x1b" not in ended.output
    if ended.stdout:
        assert yaml.safe_load(ended.stdout).keys() == {"autoscalers"}


def _readable(text: str) -> str:
    """Return the text as a file in UTF-8 has it."""
    return text.encode("utf-8", "replace").decode()


def _check_problems(error: ConfigError) -> None:
    _check_messages(error)
    assert all(each.line >= 1 and each.column >= 1 for each in error.problems)
    assert "".join(error_lines(error.problems)).isprintable()


def _check_messages(error: ConfigError) -> None:
    assert error.problems
    for problem in error.problems:
        check_message(problem.message)
