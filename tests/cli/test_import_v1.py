"""`import` reads the annotations of autoscaling/v1 as Kubernetes does."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.test_import import convert
from tests.cli.test_import_kinds import hpa, sources, written

PREFIX = "autoscaling.alpha.kubernetes.io/"


def version1(**annotations: Any) -> dict[str, Any]:
    """Return an HPA with these annotations of Kubernetes, as JSON."""
    noted = {PREFIX + key.replace("_", "-"): json.dumps(value) for key, value in annotations.items()}
    return hpa(version="autoscaling/v1", annotations=noted)


def test_annotations_about_the_status_are_ignored(file: Path) -> None:
    """Every HPA that has run has them: `kubectl get hpa.v1.autoscaling -o yaml`."""
    out = written(file, version1(conditions=[{"type": "AbleToScale"}], current_metrics=[{"type": "Resource"}]))
    assert sources(out) == [{"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            {"type": "Pods", "pods": {"metricName": "inflight", "targetAverageValue": "30"}},
            {"metric": {"name": "inflight"}, "target": {"type": "AverageValue", "averageValue": "30"}},
        ),
        (
            {"type": "Resource", "resource": {"name": "memory", "targetAverageUtilization": 60}},
            {"name": "memory", "target": {"type": "Utilization", "averageUtilization": 60}},
        ),
        (
            {
                "type": "ContainerResource",
                "containerResource": {"name": "cpu", "container": "app", "targetAverageValue": "500m"},
            },
            {"name": "cpu", "container": "app", "target": {"type": "AverageValue", "averageValue": "500m"}},
        ),
        (
            {
                "type": "Object",
                "object": {"target": {"kind": "Ingress", "name": "main"}, "metricName": "rps", "targetValue": "2k"},
            },
            {
                "describedObject": {"kind": "Ingress", "name": "main"},
                "metric": {"name": "rps"},
                "target": {"type": "Value", "value": "2k"},
            },
        ),
        (
            {
                "type": "Object",
                "object": {
                    "target": {"kind": "Ingress", "name": "main"},
                    "metricName": "rps",
                    "targetValue": "0",
                    "averageValue": "9",
                },
            },
            {
                "describedObject": {"kind": "Ingress", "name": "main"},
                "metric": {"name": "rps"},
                "target": {"type": "AverageValue", "averageValue": "9"},
            },
        ),
        (
            {
                "type": "External",
                "external": {
                    "metricName": "queue",
                    "metricSelector": {"matchLabels": {"q": "a"}},
                    "targetAverageValue": "5",
                },
            },
            {"metric": {"name": "queue"}, "target": {"type": "AverageValue", "averageValue": "5"}},
        ),
    ],
    ids=["Pods", "Resource", "ContainerResource", "Object by value", "Object by average", "External"],
)
def test_metrics_in_annotations_become_metrics_of_v2(file: Path, given: Any, expected: Any) -> None:
    """Kubernetes converts them because it stores one version only."""
    assert sources(written(file, version1(metrics=[given]))) == [expected]


def test_metrics_in_annotations_come_before_cpu(file: Path) -> None:
    """CPU utilization is the only metric that v1 has a field for."""
    pods = {"type": "Pods", "pods": {"metricName": "inflight", "targetAverageValue": "30"}}
    manifest = version1(metrics=[pods])
    manifest["spec"]["targetCPUUtilizationPercentage"] = 70
    assert [metric.get("name") for metric in sources(written(file, manifest))] == [None, "cpu"]


def test_behavior_in_an_annotation_is_imported(file: Path) -> None:
    """Kubernetes writes its internal, capitalized fields there, with null for omitted ones."""
    policy = {"Type": "Pods", "Value": 1, "PeriodSeconds": 10}
    down = {"StabilizationWindowSeconds": 60, "SelectPolicy": "Max", "Policies": [policy], "Tolerance": None}
    (scaler,) = yaml.safe_load(written(file, version1(behavior={"ScaleUp": None, "ScaleDown": down})))["autoscalers"]
    policies = [{"type": "Pods", "value": 1, "periodSeconds": 10}]
    rules = {"stabilizationWindowSeconds": 60, "selectPolicy": "Max", "policies": policies}
    assert scaler["behavior"] == {"scaleDown": rules}


@pytest.mark.parametrize(
    ("annotation", "value", "told"),
    [
        ("metrics", "[", "is not JSON as Kubernetes writes it; correct it, or write the manifest with `kubectl get"),
        ("metrics", "[" * 100_000, "is not JSON"),
        ("metrics", "[NaN]", "is not JSON"),
        ("behavior", '{"a":' * 900 + "1" + "}" * 900, "; correct it, or write the manifest with"),
        ("metrics", "{}", "is not a list of metrics"),
        ("metrics", '[{"type": "Pods", "pods": {"metricName": "a b/c", "targetAverageValue": "1"}}]', "a valid name"),
        ("metrics", '[{"type": "Pods", "podz": {"metricName": "a"}}]', "did you mean `pods`?"),
        ("metrics", '[{"type": "Pods", "pods": {"metricName": "a", "targetAverageValue": "0"}}]', "is not above 0"),
        ("behavior", "[1]", "is not a behavior"),
        ("behavior", '{"ScaleUp": {"Policies": []}}', "is empty; give at least one"),
    ],
)
def test_invalid_annotations_are_named(file: Path, annotation: str, value: str, told: str) -> None:
    """Kubernetes ignores them and their metrics. `import` must not lose them silently."""
    file.write_text(yaml.safe_dump(hpa(version="autoscaling/v1", annotations={PREFIX + annotation: value})))
    code, out, err = convert(file)
    assert (code, out) == (1, "")
    assert f"metadata.annotations.'{PREFIX}{annotation}'" in err
    assert told in err


def test_a_selector_in_an_annotation_keeps_its_case(file: Path) -> None:
    """Only fields of the behavior are capitalized by Kubernetes."""
    selector = {"matchLabels": {"Zone": "EU"}}
    external = {"metricName": "queue", "metricSelector": selector, "targetValue": "5"}
    file.write_text(yaml.safe_dump(version1(metrics=[{"type": "External", "external": external}])))
    assert 'perhaps queue{Zone="EU"}' in convert(file)[2]
