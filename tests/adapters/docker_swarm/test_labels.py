"""The autoscaler that stands in the labels of a service, read as the daemon reads it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from adapters.docker_swarm.labels import OF_METRIC, OF_SERVICE, body_of
from autoscaler.config.loader import load
from autoscaler.config.origins import Reading, read_version
from autoscaler.config.settings import Settings
from autoscaler.convert.discovered import TargetPolicy
from autoscaler.errors import ConfigError
from autoscaler.model import Autoscaler, TargetRef, TargetType
from autoscaler.target import Discovery
from autoscaler.target.answers import checked_discovery

SHOP: Final = TargetRef("swarm", "shop_web")
GRANT: Final[Mapping[str, Any]] = {
    "namePrefix": "shop-",
    "maxReplicas": 10,
    "adapters": ["swarm"],
    "targets": ["shop_*"],
    "sources": ["default"],
    "maxQueries": 9,
}
FLAT: Final = {
    "autoscaler.max": "8",
    "autoscaler.metrics.0.expr": 'sum(rate(jobs_total{state=~"new$"}[1m]))',
    "autoscaler.metrics.0.target": "15",
}
BODY: Final = """
maxReplicas: 8
metrics:
  - type: External
    external:
      metric: {name: metric-0}
      query: {expr: 'sum(rate(jobs_total{state=~"new$"}[1m]))'}
      target: {type: AverageValue, averageValue: 15}
"""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return configured(tmp_path)


def configured(folder: Path, *, live: bool = True, **grant: Any) -> Settings:
    file = folder / "autoscaler.yaml"
    content = {
        "prometheus": {"default": {"url": "http://ours:9090"}, "other": {"url": "http://other:9090"}},
        "adapters": {"swarm": {"type": "docker-swarm", "discover": {"labels": True, "live": live}}},
        "grants": {"shop": {**GRANT, **grant}},
        "autoscalers": [],
    }
    file.write_text(yaml.safe_dump(content))
    return load(file)


def reading(labels: Mapping[str, str], given: Settings, target: TargetRef = SHOP) -> Reading:
    body = body_of(labels)
    assert body is not None
    found = checked_discovery(Discovery({target: body}, {}), "swarm", []).policies[target]
    return read_version(TargetPolicy(target, found), given)  # type: ignore[arg-type]  # no error came back


def scaler_of(labels: Mapping[str, str], given: Settings) -> Autoscaler:
    (one,) = reading(labels, given).granted
    return one.scaler


def refusal(labels: Mapping[str, str], given: Settings) -> str:
    with pytest.raises(ConfigError) as caught:
        reading(labels, given)
    return "\n".join(map(str, caught.value.problems))


def test_flat_labels_are_an_autoscaler(settings: Settings) -> None:
    """Named after its service, and within its grant. A number may be in quotes, as each label is."""
    scaler = scaler_of(FLAT, settings)
    assert (scaler.name, scaler.target, scaler.dry_run) == ("shop-web", SHOP, False)
    assert (scaler.min_replicas, scaler.max_replicas) == (1, 8)
    assert [query.expr for query in scaler.queries] == ['sum(rate(jobs_total{state=~"new$"}[1m]))']


def test_one_label_has_the_whole_body(settings: Settings) -> None:
    """Each key of the configuration may stand in it. It is the same autoscaler as with flat labels."""
    assert scaler_of({"autoscaler": BODY}, settings) == scaler_of(FLAT, settings)


def test_a_discovered_service_is_a_dry_run_until_live(tmp_path: Path) -> None:
    """Also where the label says so itself. A label cannot end the dry run."""
    for labels in (FLAT, {"autoscaler": BODY}):
        assert scaler_of(labels, configured(tmp_path, live=False)).dry_run
    assert scaler_of({**FLAT, "autoscaler.dryRun": "true"}, configured(tmp_path)).dry_run
    said = refusal({**FLAT, "autoscaler.dryRun": "false"}, configured(tmp_path, live=False))
    assert "only the main file makes an autoscaler scale" in said


def test_a_metric_of_each_type(settings: Settings) -> None:
    """With `utilization` a metric is a resource; else a total, unless the label says that each task has a sample."""
    labels = {
        "autoscaler.min": "+2",
        "autoscaler.max": "8",
        "autoscaler.scaleDown.window": "60",
        "autoscaler.scaleUp.window": "0",
        "autoscaler.metrics.0.name": "cpu",
        "autoscaler.metrics.0.expr": "cpu",
        "autoscaler.metrics.0.utilization": "60",
        "autoscaler.metrics.0.request": "500m",
        "autoscaler.metrics.1.type": "Pods",
        "autoscaler.metrics.1.name": "requests",
        "autoscaler.metrics.1.expr": "requests",
        "autoscaler.metrics.1.target": "7500m",
        "autoscaler.metrics.1.instanceLabel": "task",
        "autoscaler.metrics.2.expr": "1",
        "autoscaler.metrics.2.target": "1",
    }
    scaler = scaler_of(labels, settings)
    cpu, requests, constant = scaler.metrics
    assert (cpu.type.value, cpu.name, cpu.request) == ("Resource", "cpu", 500)
    assert (cpu.target.type, cpu.target.value) == (TargetType.UTILIZATION, 60)
    assert (requests.type.value, requests.name, requests.query.instance_label) == ("Pods", "requests", "task")
    assert (requests.target.type, requests.target.value) == (TargetType.AVERAGE_VALUE, 7500)
    assert (constant.type.value, constant.name, constant.query.expr) == ("External", "metric-2", "1")
    assert scaler.min_replicas == 2


def test_other_labels_are_none_of_ours() -> None:
    """Also those of other scalers, and words that begin alike."""
    assert body_of({"swarm.autoscaler": "true", "autoscalers": "3", "com.docker.stack.namespace": "shop"}) is None


WRONG: Final = {
    "both forms": ({**FLAT, "autoscaler": BODY}, "given beside `autoscaler.max`; keep one of the two forms"),
    "unknown": ({**FLAT, "autoscaler.mx": "3"}, "autoscaler.mx: unknown; known are autoscaler.min, autoscaler.max"),
    "unknown of a metric": (
        {**FLAT, "autoscaler.metrics.0.exp": "up"},
        "and after autoscaler.metrics.N. name, type, expr",
    ),
    "no number": ({**FLAT, "autoscaler.metrics.expr": "up"}, "autoscaler.metrics.expr: unknown;"),
    "leading zero": ({**FLAT, "autoscaler.metrics.00.expr": "up"}, "autoscaler.metrics.00.expr: unknown;"),
    "digits of another script": ({**FLAT, "autoscaler.metrics.\u0661.expr": "up"}, ": unknown;"),
    "a gap": (
        {**FLAT, "autoscaler.metrics.2.expr": "up", "autoscaler.metrics.2.target": "1"},
        "autoscaler.metrics.2: there is no metric 1; number the metrics from 0 without a gap",
    ),
    "a large gap": ({**FLAT, "autoscaler.metrics.99999999.expr": "up"}, "metrics.99999999.expr: unknown;"),
    "no maximum": ({key: FLAT[key] for key in FLAT if key != "autoscaler.max"}, "autoscaler.max: is missing"),
    "no metric": ({"autoscaler.max": "3"}, "autoscaler.metrics.0.expr: is missing"),
    "no query": ({**FLAT, "autoscaler.metrics.1.target": "3"}, "autoscaler.metrics.1.expr: is missing"),
    "no target": ({**FLAT, "autoscaler.metrics.1.expr": "up"}, "autoscaler.metrics.1.target: write it, or"),
    "two targets": ({**FLAT, "autoscaler.metrics.0.utilization": "3"}, "autoscaler.metrics.0.target: write it, or"),
    "another type": (
        {**FLAT, "autoscaler.metrics.0.type": "Object"},
        "'Object' is not one of External, Pods, Resource",
    ),
    "no whole number": (
        {**FLAT, "autoscaler.max": "many"},
        "maxReplicas: expected a whole number, found the text 'many'",
    ),
    "a number with a leading zero": (
        {**FLAT, "autoscaler.max": "010"},
        "maxReplicas: expected a whole number, found the text '010'; write it as 10",
    ),
    "no quantity": ({**FLAT, "autoscaler.metrics.0.target": "x"}, "metrics[0].external.target.averageValue: 'x'"),
    "no query of one kind": ({**FLAT, "autoscaler.metrics.0.expr": "sum("}, "metrics[0].external.query.expr: "),
    "no duration": ({**FLAT, "autoscaler.scaleUp.window": "5m"}, "behavior.scaleUp.stabilizationWindowSeconds: "),
    "no mapping": ({"autoscaler": "true"}, "expected a mapping with the keys of an autoscaler"),
    "an empty label": ({"autoscaler": ""}, "expected a mapping with the keys of an autoscaler"),
    "a list": ({"autoscaler": "[{maxReplicas: 3}]"}, "expected a mapping with the keys of an autoscaler"),
    "its own name": ({"autoscaler": f"{BODY}name: mine\n"}, ":9:1: name: is made of the target's name; remove it"),
    "another target": ({"autoscaler": f"{BODY}scaleTargetRef: {{}}"}, "scaleTargetRef: is made of the target's name"),
    "an unknown key": ({"autoscaler": f"{BODY}maxReplica: 3"}, ":9:1: autoscalers[0].maxReplica: unknown key; did you"),
    "half a character in a flat label": ({**FLAT, "autoscaler.metrics.0.name": "\ud800"}, "invalid YAML"),
    "NUL in a flat label": ({**FLAT, "autoscaler.metrics.0.expr": "up\0"}, "holds a NUL character"),
    "a drain": ({"autoscaler": f"{BODY}drain: {{command: {{argv: [/bin/sh]}}}}"}, "drain: only the main file"),
    "a megabyte": ({"autoscaler": BODY + "#" * 2**20}, "characters, and at most 65,536 are read; shorten it"),
    "a megabyte of flat": ({**FLAT, "autoscaler.metrics.0.name": "x" * 2**20}, "at most 65,536 are read; shorten it"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_labels_are_refused_with_the_remedy(settings: Settings, case: str) -> None:
    """Labels are foreign. Whatever they are, their service alone is refused."""
    labels, message = WRONG[case]
    assert message in refusal(labels, settings)


def test_every_wrong_label_is_named_at_once_up_to_a_limit(settings: Settings) -> None:
    """A thousand of them make no message of a thousand lines, and a long one is cut."""
    few = refusal({"autoscaler.mx": "3", "autoscaler.metrics.0.target": "1"}, settings)
    assert [each in few for each in ("autoscaler.mx:", "autoscaler.max:", "metrics.0.expr:")] == [True] * 3
    gaps = {f"autoscaler.metrics.{number * 2}.name": "" for number in range(1_000)}
    assert refusal(gaps, settings).count("\n") == 19
    many = refusal({f"autoscaler.{number}{'x' * 2**16}": "" for number in range(1_000)}, settings)
    assert "xx and 995 more: unknown; known are autoscaler.min" in many
    assert len(many) < 2_000


def test_a_message_has_no_value_beyond_its_beginning(settings: Settings) -> None:
    """A label may hold a secret by mistake, and messages are logged."""
    said = refusal({**FLAT, "autoscaler.password": "hunter2"}, settings)
    assert "hunter2" not in said


def test_the_page_lists_every_flat_label() -> None:
    """With the one key that it is."""
    page = Path(__file__).resolve().parents[3] / "docs/docker-swarm.md"
    rows = [line.split("|")[1:3] for line in page.read_text().splitlines() if line.startswith("| `autoscaler.")]
    listed = {label.strip().strip("`"): key.strip().split("`")[1] for label, key in rows}
    keys = {f"autoscaler.{label}": ".".join(key) for label, key in OF_SERVICE.items()}
    keys |= {f"autoscaler.metrics.N.{label}": ".".join(key) for label, key in OF_METRIC.items()}
    assert listed == keys | {"autoscaler.metrics.N.name": "name", "autoscaler.metrics.N.type": "type"}


def test_flat_labels_become_one_line_of_json() -> None:
    """So that no label can reach another key, whatever characters it has."""
    body = body_of({**FLAT, "autoscaler.metrics.0.name": '"}]}\n- name: evil'})
    assert body is not None
    assert json.loads(body.text)["metrics"][0]["external"]["metric"] == {"name": '"}]}\n- name: evil'}
