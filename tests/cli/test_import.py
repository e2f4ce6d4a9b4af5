"""`autoscaler import` converts Kubernetes manifests to configuration."""

from datetime import timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from autoscaler.cli.app import app
from autoscaler.config.loader import load
from autoscaler.model import MetricType, TargetType
from autoscaler.rules.fallback import Fallbacks
from autoscaler.rules.fallback.keys import MetricFallback
from tests.cli.importing import V1, V2, convert


def test_the_output_is_valid_once_queries_are_filled_in(file: Path, tmp_path: Path) -> None:
    """It has the bounds, targets and behavior of the manifest."""
    file.write_text(f"{V2}---\n{V1}")
    code, out, _ = convert(file, "--adapter", "swarm")
    assert code == 0
    config = tmp_path / "autoscaler.yaml"
    config.write_text(out.replace("expr: ''", "expr: up") + "adapters: {swarm: {type: docker-swarm}}\n")
    web, api = load(config).autoscalers
    assert (web.name, web.target.name, web.min_replicas, web.max_replicas) == ("web", "web", 2, 10)
    assert web.labels == (("app.kubernetes.io/name", "1"), ("team", "shop"))
    assert [metric.type for metric in web.metrics] == list(MetricType)
    targets = [(metric.target.type, metric.target.value) for metric in web.metrics]
    assert targets == [
        (TargetType.UTILIZATION, 60),
        (TargetType.AVERAGE_VALUE, 500 * 2**20 * 1000),
        (TargetType.AVERAGE_VALUE, 30_000),
        (TargetType.VALUE, 2_000_000),
        (TargetType.AVERAGE_VALUE, 15_000),
    ]
    assert web.metrics[1].container == "app"
    assert web.metrics[3].described_object == "Ingress/main"
    assert web.behavior is not None
    assert web.behavior.scale_down.policies[0].value == 1
    assert (api.name, api.min_replicas, api.metrics[0].target.value, api.behavior) == ("api", 1, 70, None)


@pytest.mark.parametrize(
    ("given", "seconds"), [("{replicas: 8}", 180), ("{failureDurationSeconds: 60, replicas: 8}", 60)]
)
def test_a_fallback_is_imported(file: Path, tmp_path: Path, given: str, seconds: int) -> None:
    """The form is KEP-5679's. The output mentions allowScaleIn, which differs here."""
    target = "target: {type: AverageValue, averageValue: 15}"
    file.write_text(V2.replace(target, f"{target}\n      fallback: {given}"))
    code, out, _ = convert(file, "--adapter", "swarm")
    assert code == 0
    assert "allowScaleIn: true" in out
    config = tmp_path / "autoscaler.yaml"
    config.write_text(out.replace("expr: ''", "expr: up") + "adapters: {swarm: {type: docker-swarm}}\n")
    (web,) = load(config).autoscalers
    assert web.rules.find(Fallbacks) == Fallbacks(
        (None, None, None, None, MetricFallback(timedelta(seconds=seconds), 8))
    )


def test_metrics_that_need_a_query_are_listed_with_their_positions(file: Path) -> None:
    """Each line suggests a query; the selector is translated to PromQL."""
    file.write_text(V2)
    _, _, err = convert(file, "--adapter", "swarm")
    web = f"{file}:5:1: web: metrics"
    selector = r'queue{"app.shop/queue"="a.b",zone=~"x|y\\.1",old=""}'
    per_instance = "needs a query: one sample for each instance"
    assert err.splitlines() == [
        f"{file}:1:1: Service is skipped",
        f"{web}[0], Resource cpu: check its query",
        f"{web}[1], ContainerResource memory: {per_instance}, with app as its label task or container",
        f"{web}[2], Pods inflight: {per_instance}; perhaps sum by (instance) (inflight)",
        f"{web}[3], Object rps: needs a query: exactly one sample; perhaps sum(rps)",
        f"{web}[4], External queue: needs a query: its samples are summed; perhaps {selector}",
        f"{web}[0], Resource cpu: write request, the capacity of one instance",
    ]


def test_a_metric_selector_accepts_any_value(file: Path) -> None:
    """Kubernetes does not validate them: they are labels of series, such as a URL's path."""
    values = V2.replace("app.shop/queue: a.b", "app.shop/queue: /v1/a b").replace("[x, y.1]", "[eu/1, 'eu 2']")
    file.write_text(values)
    code, _, err = convert(file, "--adapter", "swarm")
    assert code == 0
    assert r'queue{"app.shop/queue"="/v1/a b",zone=~"eu/1|eu 2",old=""}' in err


def test_check_names_every_missing_query(file: Path, tmp_path: Path) -> None:
    """An empty query would look like no load, so the daemon must refuse the file."""
    file.write_text(V2)
    config = tmp_path / "autoscaler.yaml"
    config.write_text(convert(file)[1])
    result = CliRunner().invoke(app, ["check", str(config)])
    assert result.exit_code == 1
    assert result.stdout.count("query.expr: ") == 4
    assert "no connection 'CHANGE-ME'" in result.stdout


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("maxReplicas: 10", "maxReplicas: ten", ":11:16: spec.maxReplicas: expected a whole number"),
        ("maxReplicas: 10", "maxReplica: 10", "spec.maxReplicas: is missing; it has no default"),
        ("maxReplicas: 10", "maxReplica: 10", ":11:3: spec.maxReplica: unknown key; did you mean `maxReplicas`?"),
        ("  - type: Pods\n    pods", "  - type: Pods\n    podz", "spec.metrics[2].podz: unknown key"),
        ("  - type: Pods\n    pods", "  - type: Pods\n    external", "pods is missing; a metric of type Pods needs it"),
        ("averageUtilization: 60", "averageUtilization: 0", "averageUtilization: 0 is out of range"),
        ("value: 1,", "value: 0,", "spec.behavior.scaleDown.policies[0].value: 0 is out of range"),
        ("name: web, ", "", "metadata.name: is missing; it has no default"),
        ("autoscaling/v2", "autoscaling/v2beta1", ":5:13: apiVersion: is not one of autoscaling/v1, "),
        ("container: app", "container: App", "containerResource.container: 'App' is not a valid name"),
        ("name: cpu,", "name: 'c p',", "resource.name: 'c p' is not a valid key"),
        ("app.shop/queue: a.b", "'a/b/c': d", "'a/b/c' is not a valid key"),
        ("name: web,", f"name: {'w' * 254},", "is not a valid name; use at most 253"),
        ("name: web,", "name: 1e3,", "metadata.name: expected a text, found a number; write it in quotes"),
        ("name: web,", "name: null,", "metadata.name: is missing; it has no default"),
        ("name: web,", "name: [web],", "metadata.name: expected a text, found a list"),
        ("kind: Ingress", "kind: a/b", "describedObject.kind: 'a/b' is not a valid name"),
        ("maxReplicas: 10", "maxReplicas: 1", "maxReplicas: 1 is below minReplicas 2"),
        ("maxReplicas: 10", f"maxReplicas: {'9' * 300}", "out of range"),
        (V2, "kind: HorizontalPodAutoscaler\napiVersion: autoscaling/v2\nmetadata: {name: x}\nspec: []", "is missing"),
        (V2, "a: !!python/object:os.system x", "hpa.yaml:1:4: "),
        (V2, "a: b: c", "hpa.yaml:1:"),
        (V2, "---\n---\n\n\tx: 1", "hpa.yaml:4:1: "),
    ],
)
def test_each_error_has_its_position_and_remedy(file: Path, old: str, new: str, told: str) -> None:
    """The output is empty. This includes all that Kubernetes refuses."""
    file.write_text(V2.replace(old, new))
    code, out, err = convert(file)
    assert (code, out) == (1, "")
    assert told in err


@pytest.mark.parametrize("text", ["", "---\n", "kind: Service\n", "- 1\n- 2\n", "just text\n"])
def test_a_file_without_an_autoscaler_is_an_error(file: Path, text: str) -> None:
    file.write_text(text)
    code, out, err = convert(file)
    assert (code, out) == (1, "")
    assert "no autoscaler was found" in err
