"""Manifests as Kubernetes, kubectl and Helm write them: each kind that is met in the field is taken, or named."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from autoscaler.cli.app import app
from tests.cli.test_import import V1, V2, convert

AVERAGE_OF_4 = {"type": "AverageValue", "averageValue": 4}
CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "hpa.yaml"


def hpa(*metrics: Any, version: str = "autoscaling/v2", name: str = "api", **metadata: Any) -> dict[str, Any]:
    spec = {"scaleTargetRef": {"kind": "Deployment", "name": name}, "maxReplicas": 5}
    return {
        "apiVersion": version,
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name} | metadata,
        "spec": spec | ({"metrics": list(metrics)} if metrics else {}),
    }


def sources(out: str) -> list[Any]:
    """What each metric of the only autoscaler holds, without its query."""
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
def test_a_list_of_either_kind_is_taken(file: Path, kind: str) -> None:
    """Kubectl writes the one, the API the other."""
    out = written(file, {"apiVersion": "autoscaling/v2", "kind": kind, "items": [hpa(CPU, name="a"), hpa(name="b")]})
    assert [each["name"] for each in yaml.safe_load(out)["autoscalers"]] == ["a", "b"]


def test_items_of_a_typed_list_need_not_say_what_they_are(file: Path) -> None:
    """`kubectl get --raw /apis/autoscaling/v2/horizontalpodautoscalers`: the list says it once."""
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
def test_headers_and_ends_of_documents_are_taken(file: Path, text: str) -> None:
    """YAML's own, before and after each document."""
    file.write_bytes(text.encode())
    code, out, err = convert(file)
    assert (code, len(sources(out))) == (0, 1), err


# targets that Kubernetes accepts


@pytest.mark.parametrize(
    ("source", "target", "used"),
    [
        ("pods", {"type": "Value", "averageValue": 3}, {"type": "AverageValue", "averageValue": 3}),
        ("pods", {"type": "Utilization", "averageValue": 3, "value": 9}, {"type": "AverageValue", "averageValue": 3}),
        (
            "resource",
            {"type": "AverageValue", "averageUtilization": 60},
            {"type": "Utilization", "averageUtilization": 60},
        ),
        ("resource", {"type": "Utilization", "averageValue": "1Gi"}, {"type": "AverageValue", "averageValue": "1Gi"}),
        (
            "resource",
            {"type": "Value", "value": 7, "averageUtilization": 60},
            {"type": "Utilization", "averageUtilization": 60},
        ),
        ("external", {"type": "Value", "averageValue": 3}, {"type": "AverageValue", "averageValue": 3}),
        ("external", {"type": "Utilization", "value": 3}, {"type": "Value", "value": 3}),
        ("object", {"type": "Value", "value": 3, "averageValue": 4}, {"type": "Value", "value": 3}),
        ("object", {"type": "AverageValue", "value": 3, "averageValue": 4}, AVERAGE_OF_4),
    ],
)
def test_a_target_is_what_the_controller_makes_of_it(file: Path, source: str, target: Any, used: Any) -> None:
    """Its type says nothing but for Object metrics: the value decides that is given and that the metric can have."""
    assert sources(written(file, hpa(metric(source, target))))[0]["target"] == used


@pytest.mark.parametrize(
    ("source", "target", "told"),
    [
        ("pods", {"type": "Value", "value": 3}, "'Value' is not allowed here; write 'AverageValue'"),
        ("pods", {"type": "Average", "averageValue": 3}, "'Average' is not allowed here"),
        ("resource", {"type": "Utilization", "averageUtilization": 6, "averageValue": 1}, "does not belong to a"),
        ("resource", {"type": "Utilization"}, "averageUtilization: is missing"),
        ("external", {"type": "Value", "value": 3, "averageValue": 4}, "does not belong to a target"),
        ("object", {"type": "Value", "averageValue": 4}, "value: is missing; a target of type Value needs it"),
        ("pods", {"type": "Value", "averageValue": 3, "avarage": 1}, "unknown key"),
    ],
)
def test_a_target_that_kubernetes_refuses_or_cannot_use_is_named(
    file: Path, source: str, target: Any, told: str
) -> None:
    """With an Object metric's type and value apart, the controller fails in each cycle."""
    file.write_text(yaml.safe_dump(hpa(metric(source, target))))
    code, out, err = convert(file)
    assert (code, out) == (1, "")
    assert told in err


def metric(source: str, target: Any) -> dict[str, Any]:
    body: dict[str, Any] = {"name": "memory"} if source == "resource" else {"metric": {"name": "x"}}
    if source == "object":
        body["describedObject"] = {"kind": "Ingress", "name": "main"}
    return {"type": source.capitalize(), source: body | {"target": target}}


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ({"key": "a", "operator": "In"}, "the operator In is missing its values"),
        ({"key": "a", "operator": "Exists", "values": ["b"]}, "the operator Exists takes no values"),
    ],
)
def test_a_selector_that_kubernetes_refuses_is_named(file: Path, expression: Any, told: str) -> None:
    """The suggestion for it would match other series than are meant."""
    body = {"metric": {"name": "q", "selector": {"matchExpressions": [expression]}}}
    target = {"type": "Value", "value": 1}
    file.write_text(yaml.safe_dump(hpa({"type": "External", "external": body | {"target": target}})))
    code, _, err = convert(file)
    assert code == 1
    assert told in err


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
def test_a_template_of_helm_is_named_as_one(file: Path, text: str) -> None:
    """What YAML makes of the braces would send its reader anywhere but to Helm."""
    file.write_text(text)
    code, out, err = convert(file)
    line = text[: text.index("{{")].count("\n") + 1
    assert (code, out) == (1, "")
    assert f"{file}:{line}:" in err
    assert "this is a template of Helm (`{{`), not a manifest; render it first: helm template CHART | " in err
    assert "expected" not in err


def test_braces_beside_a_mistake_do_not_make_a_template(file: Path) -> None:
    """An annotation may hold them: the mistake is what is said."""
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
def test_one_that_is_wrong_does_not_lose_the_others(file: Path, wrong: str, told: str) -> None:
    """It is named, with its error; the exit code says that not everything was done."""
    bad = V1.replace("name: api}", "name: bad}", 1).replace("maxReplicas: 5", wrong)
    file.write_text(f"{V1}---\n{bad}---\n{V2}")
    code, out, err = convert(file)
    assert code == 1
    assert [each["name"] for each in yaml.safe_load(out)["autoscalers"]] == ["api", "web"]
    assert f"{file}:{told}" in err


def test_the_one_that_is_wrong_is_named_with_its_place(file: Path) -> None:
    """A cluster has hundreds of them."""
    bad = V1.replace("name: api}", "name: bad}", 1).replace("maxReplicas: 5", "maxReplicas: ten")
    file.write_text(f"{V1}---\n{bad}")
    err = convert(file)[2].splitlines()
    assert err[0].startswith(f"{file}:9:68: spec.maxReplicas: expected a whole number")
    assert err[1] == f"{file}:6:1: HorizontalPodAutoscaler bad is not imported; correct the problems above"


def test_a_file_that_is_absent_does_not_lose_the_others(file: Path) -> None:
    """Nor does one that is no YAML."""
    file.write_text(V1)
    other = file.with_name("broken.yaml")
    other.write_text("a: b: c")
    result = CliRunner().invoke(app, ["import", str(file.with_name("absent.yaml")), str(other), str(file)])
    assert result.exit_code == 1
    assert [each["name"] for each in yaml.safe_load(result.stdout)["autoscalers"]] == ["api"]
    assert "absent.yaml:1:1: the file cannot be read" in result.stderr
    assert "broken.yaml:1:" in result.stderr


def test_many_wrong_ones_take_seconds(file: Path) -> None:
    """What `check` would refuse is found by halves, not one by one with all others read again."""
    refused = V1.replace("maxReplicas: 5", "minReplicas: 3, maxReplicas: 2")
    texts = [refused if number % 50 == 0 else V1 for number in range(400)]
    file.write_text("---\n".join(text.replace("name: api}", f"name: api-{n}}}", 1) for n, text in enumerate(texts)))
    code, out, err = convert(file)
    assert code == 1
    assert len(yaml.safe_load(out)["autoscalers"]) == 392
    assert err.count("is below minReplicas 3") == 8
