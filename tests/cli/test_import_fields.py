"""Every field of the other systems is imported, refused by name, or named as left out.

Source: keda.sh/docs/2.20, "ScaledObject specification" and the scalers; Nomad's api/scaling.go and the Nomad
Autoscaler's policy/nomad; Kubernetes' pkg/apis/autoscaling/validation and pkg/controller/podautoscaler/horizontal.go.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.cli import keda, nomad
from tests.cli.hpa import CPU, hpa, metric
from tests.cli.imported_fields import IMPORTED, LEFT_OUT, fallback, group, job, spec
from tests.cli.importing import convert

REFUSED: Final[Mapping[str, tuple[Any, str]]] = {
    "keda: equal start and end": (
        keda.scaled_object(keda.cron(end="0 8 * * 1-5")),
        "spec.triggers[0]: metadata.end is metadata.start, '0 8 * * 1-5', which KEDA refuses",
    ),
    "keda: desiredReplicas 0": (
        keda.scaled_object(keda.prometheus(), keda.cron(desiredReplicas="0")),
        "metadata.desiredReplicas is '0', which KEDA refuses; write a whole number above 0",
    ),
    "keda: a part of an instance": (
        keda.scaled_object(keda.cron(desiredReplicas="2.5")),
        "metadata.desiredReplicas is '2.5', which KEDA refuses",
    ),
    "keda: triggers null": (
        keda.scaled_object() | {"spec": {"scaleTargetRef": {"name": "x"}, "triggers": None}},
        "spec.triggers: is missing",
    ),
    "keda: no triggers": (
        keda.scaled_object() | {"spec": {"scaleTargetRef": {"name": "x"}, "triggers": []}},
        "spec.triggers: has no trigger that can be imported",
    ),
    "keda: a trigger without metadata": (
        keda.scaled_object({"type": "prometheus", "metadata": None}),
        "metadata.query is missing",
    ),
    "keda: a null trigger": (keda.scaled_object(None), "spec.triggers[0]"),
    "keda: no target": (keda.scaled_object(scaleTargetRef=None), "spec.scaleTargetRef: is missing"),
    "keda: no spec": (keda.scaled_object() | {"spec": None}, "spec.scaleTargetRef: is missing"),
    "keda: no metadata": (keda.scaled_object() | {"metadata": None}, "metadata.name: is missing"),
    "keda: a fallback without a number": (fallback(replicas=None), "spec.fallback.replicas: is missing"),
    "nomad: no Max": (job(group(Scaling={"Max": None})), "Max: is missing"),
    "nomad: a null cooldown": (nomad.policy(body={"cooldown": None}), "Policy.cooldown: "),
    "nomad: a null strategy": (
        nomad.policy({"source": "prometheus", "query": "a", "strategy": None}),
        "Policy.check: expected a mapping",
    ),
    "nomad: an empty query": (nomad.policy(nomad.check(query=" ")), "c0: its query is empty"),
    "nomad: no target": (nomad.policy(Target=None), "Target: names no group of a job"),
    "nomad: no policy": (nomad.policy(Policy=None), "Policy: is missing"),
    "nomad: a policy of a task": (
        job({"Name": "app", "Tasks": [{"Name": "web", "ScalingPolicies": [{"Type": "vertical_cpu", "Max": 9}]}]}),
        "a policy of type vertical_cpu does not scale a group of a job",
    ),
    "nomad: a group with a slash": (job(group("api/v1")), "shop/api/v1 would be read as another job and group"),
    "nomad: a group with a space": (job(group("a b")), "'shop/a b' has white space"),
    "nomad: no groups": (job() | {"Job": {"ID": "x", "TaskGroups": None}}, "has no TaskGroups"),
    "nomad: no job": ({"Job": None}, "has no TaskGroups"),
    "hpa: minReplicas 0 with cpu alone": (
        spec(CPU, minReplicas=0),
        "spec.minReplicas: 0 needs an Object or External metric, as in Kubernetes; add one, or write 1",
    ),
    "hpa: two bodies": (
        hpa(CPU | metric("external", {"type": "Value", "value": 4}) | {"type": "Resource"}),
        "external does not belong to a metric of type Resource; remove it",
    ),
    "hpa: an HPA of KEDA": (
        hpa(CPU, ownerReferences=[{"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "name": "mail"}]),
        "KEDA has made it for the ScaledObject mail; import the ScaledObject instead",
    ),
    "hpa: no spec": (hpa(CPU) | {"spec": None}, "spec.scaleTargetRef: is missing"),
    "hpa: no metadata": (hpa(CPU) | {"metadata": None}, "metadata.name: is missing"),
    "hpa: a null metric": (spec(metrics=[None]), "spec.metrics[0]: "),
    "hpa: a null target": (
        hpa({"type": "Resource", "resource": {"name": "cpu", "target": None}}),
        "resource.target: is missing",
    ),
}
"""Field -> an object that is not printed, and why."""


def run(file: Path, given: Any) -> tuple[int, str, str]:
    file.write_text(json.dumps(given))
    return convert(file, "--adapter", "nomad")


@pytest.mark.parametrize("field", IMPORTED)
def test_a_field_is_imported(field: str, file: Path) -> None:
    given, holds = IMPORTED[field]
    code, out, err = run(file, given)
    assert code == 0, err
    (scaler,) = yaml.safe_load(out)["autoscalers"]
    assert holds(scaler), scaler


@pytest.mark.parametrize("field", LEFT_OUT)
def test_a_field_is_named_as_left_out(field: str, file: Path) -> None:
    given, text = LEFT_OUT[field]
    code, out, err = run(file, given)
    assert code == 0, err
    assert text in err
    assert len(yaml.safe_load(out)["autoscalers"]) == 1


@pytest.mark.parametrize("field", REFUSED)
def test_a_field_is_refused_by_name(field: str, file: Path) -> None:
    given, text = REFUSED[field]
    code, out, err = run(file, given)
    assert (code, out) == (1, "")
    assert text in err
