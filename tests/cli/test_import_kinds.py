"""`import` accepts or refuses by name each kind of manifest that Kubernetes, kubectl and Helm write."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from autoscaler.cli.app import app
from tests.cli.hpa import CPU, hpa, metric
from tests.cli.importing import V1, V2, convert


def sources(out: str) -> list[Any]:
    """Return the metrics of the only autoscaler, without their queries."""
    (scaler,) = yaml.safe_load(out)["autoscalers"]
    metrics = [next(value for key, value in metric.items() if key != "type") for metric in scaler["metrics"]]
    return [{key: value for key, value in metric.items() if key not in ("query", "request")} for metric in metrics]


def written(file: Path, *objects: Any) -> str:
    file.write_text(yaml.safe_dump_all(objects))
    code, out, err = convert(file)
    assert code == 0, err
    return out


# lists, headers and several documents


@pytest.mark.parametrize("kind", ["List", "HorizontalPodAutoscalerList"])
def test_both_kinds_of_lists_are_imported(file: Path, kind: str) -> None:
    """Kubectl writes one kind, the API the other."""
    out = written(file, {"apiVersion": "autoscaling/v2", "kind": kind, "items": [hpa(CPU, name="a"), hpa(name="b")]})
    assert [each["name"] for each in yaml.safe_load(out)["autoscalers"]] == ["a", "b"]


def test_items_of_a_typed_list_need_no_kind(file: Path) -> None:
    """As in `kubectl get --raw /apis/autoscaling/v2/horizontalpodautoscalers`."""
    item = {key: value for key, value in hpa(CPU).items() if key in ("metadata", "spec")}
    out = written(file, {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscalerList", "items": [item]})
    assert len(sources(out)) == 1


@pytest.mark.parametrize(
    "text",
    [
        f"%YAML 1.1\n---\n{V1}",
        f"# written by a tool\n%YAML 1.2\n---\n{V1}",
        f"%YAML 1.1\r\n---\r\n{V1}",
        f"{V1}...\n",
        f"---\n{V1}...\n%YAML 1.1\n---\nkind: Service\n",
        f"kind: Service\n...\n{V1}",
    ],
    ids=["header", "comment before it", "line ends of Windows", "an end", "header of the second", "an end between"],
)
def test_yaml_directives_and_document_ends_are_accepted(file: Path, text: str) -> None:
    file.write_bytes(text.encode())
    code, out, err = convert(file)
    assert (code, len(sources(out))) == (0, 1), err


# targets and selectors


@pytest.mark.parametrize(
    ("source", "target", "told"),
    [
        ("pods", {"type": "Value", "value": 3}, "'Value' is not allowed here; write 'AverageValue'"),
        ("object", {"type": "Utilization", "value": 4}, "'Utilization' is not allowed here"),
        ("pods", {"type": "Average", "averageValue": 3}, "'Average' is not allowed here"),
        ("resource", {"type": "Utilization", "averageUtilization": 6, "averageValue": 1}, "does not belong to a"),
        ("resource", {"type": "Utilization"}, "averageUtilization: is missing"),
        ("external", {"type": "Value", "value": 3, "averageValue": 4}, "does not belong to a target"),
        ("object", {"type": "Value", "averageValue": 4}, "value: is missing; a target of type Value needs it"),
        ("pods", {"type": "Value", "averageValue": 3, "avarage": 1}, "unknown key"),
    ],
)
def test_a_target_that_kubernetes_refuses_is_refused(file: Path, source: str, target: Any, told: str) -> None:
    """So is one that its HPA cannot read."""
    file.write_text(yaml.safe_dump(hpa(metric(source, target))))
    code, out, err = convert(file)
    assert (code, out) == (1, "")
    assert told in err


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ({"key": "a", "operator": "In"}, "the operator In needs values"),
        ({"key": "a", "operator": "Exists", "values": ["b"]}, "the operator Exists takes no values"),
    ],
)
def test_a_selector_that_kubernetes_refuses_is_refused(file: Path, expression: Any, told: str) -> None:
    """The suggested query would select other series than intended."""
    body = {"metric": {"name": "q", "selector": {"matchExpressions": [expression]}}}
    target = {"type": "Value", "value": 1}
    file.write_text(yaml.safe_dump(hpa({"type": "External", "external": body | {"target": target}})))
    code, _, err = convert(file)
    assert code == 1
    assert told in err


# autoscaling/v1


@pytest.mark.parametrize("name", ["metrics", "behavior"])
def test_an_annotation_with_what_autoscaling_v1_has_no_field_for_is_refused(file: Path, name: str) -> None:
    """The API server writes it. `import` must not lose metrics silently."""
    key = f"autoscaling.alpha.kubernetes.io/{name}"
    file.write_text(yaml.safe_dump(hpa(version="autoscaling/v1", annotations={key: "[]"})))
    code, out, err = convert(file)
    assert (code, out) == (1, "")
    assert f"metadata.annotations.'{key}': autoscaling/v1 has no field for this; use `kubectl get hpa.v2" in err


def test_annotations_about_the_status_are_ignored(file: Path) -> None:
    """Every HPA that has run has them: `kubectl get hpa.v1.autoscaling -o yaml`."""
    noted = {f"autoscaling.alpha.kubernetes.io/{name}": "[]" for name in ("conditions", "current-metrics")}
    out = written(file, hpa(version="autoscaling/v1", annotations=noted))
    assert sources(out) == [{"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}]


# templates of Helm


@pytest.mark.parametrize(
    "text",
    [
        V1.replace("maxReplicas: 5", "maxReplicas: {{ .Values.maxReplicas }}"),
        V1.replace("metadata: {name: api}", 'metadata: {name: {{ include "chart.name" . }}}'),
        V1.replace("metadata: {name: api}", "metadata: {name: '{{ .Release.Name }}'}"),
        f"{{{{- if .Values.autoscaling.enabled }}}}\n{V1}{{{{- end }}}}\n",
        f"{V1}metrics:\n  {{{{- toYaml .Values.metrics | nindent 4 }}}}\n",
    ],
    ids=["a number", "a name", "a name in quotes", "a condition", "an insertion"],
)
def test_a_helm_template_is_reported_as_one(file: Path, text: str) -> None:
    """An error about YAML would not lead the user to Helm."""
    file.write_text(text)
    code, out, err = convert(file)
    line = text[: text.index("{{")].count("\n") + 1
    assert (code, out) == (1, "")
    assert f"{file}:{line}:" in err
    assert "this is a template of Helm (`{{`), not a manifest; render it first: helm template CHART | " in err
    assert "expected" not in err


def test_braces_in_an_annotation_do_not_make_a_helm_template(file: Path) -> None:
    """The error is about the mistake."""
    text = V1.replace("metadata: {name: api}", "metadata:\n  name: api\n  annotations: {link: 'x/{{ y }}'}")
    file.write_text(text.replace("maxReplicas: 5", "maxReplicas: many"))
    err = convert(file)[2]
    assert "expected a whole number" in err
    assert "Helm" not in err


# one bad one of several


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("maxReplicas: ten", "9:68: spec.maxReplicas: expected a whole number"),
        ("maxReplicas: 0", "9:68: spec.maxReplicas: 0 is out of range"),
        ("minReplicas: 3, maxReplicas: 2", "6:1: bad: nothing is written, because `check` would refuse it"),
        ("max: [", "9:61: invalid YAML"),
        ("max: 5", "9:7: spec.maxReplicas: is missing"),
    ],
)
def test_an_invalid_manifest_does_not_prevent_the_others(file: Path, wrong: str, told: str) -> None:
    """The exit code is 1 because one was not imported."""
    bad = V1.replace("name: api}", "name: bad}", 1).replace("maxReplicas: 5", wrong)
    file.write_text(f"{V1}---\n{bad}---\n{V2}")
    code, out, err = convert(file)
    assert code == 1
    assert [each["name"] for each in yaml.safe_load(out)["autoscalers"]] == ["api", "web"]
    assert f"{file}:{told}" in err


def test_a_missing_or_broken_file_does_not_prevent_the_others(file: Path) -> None:
    file.write_text(V1)
    other = file.with_name("broken.yaml")
    other.write_text("a: b: c")
    result = CliRunner().invoke(app, ["import", str(file.with_name("absent.yaml")), str(other), str(file)])
    assert result.exit_code == 1
    assert [each["name"] for each in yaml.safe_load(result.stdout)["autoscalers"]] == ["api"]
    assert "absent.yaml:1:1: the file cannot be read" in result.stderr
    assert "broken.yaml:1:" in result.stderr


@pytest.mark.slow
def test_many_invalid_manifests_take_seconds(file: Path) -> None:
    """`import` finds those that `check` refuses by bisection."""
    refused = V1.replace("maxReplicas: 5", "minReplicas: 3, maxReplicas: 2")
    texts = [refused if number % 50 == 0 else V1 for number in range(400)]
    file.write_text("---\n".join(text.replace("name: api}", f"name: api-{n}}}") for n, text in enumerate(texts)))
    code, out, err = convert(file)
    assert code == 1
    assert len(yaml.safe_load(out)["autoscalers"]) == 392
    assert err.count("is below minReplicas 3") == 8
