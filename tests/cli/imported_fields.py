"""What `import` makes of each field of the formats it reads."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from tests.cli import keda, nomad
from tests.cli.hpa import CPU, hpa, metric

_Holds = Callable[[Any], bool]
PREFIX: Final = "autoscaling.keda.sh/"


def annotated(name: str, value: Any = "true") -> dict[str, Any]:
    return keda.scaled_object(annotations={f"{PREFIX}{name}": value})


def fallback(**fields: Any) -> dict[str, Any]:
    return keda.scaled_object(fallback={"failureThreshold": 3, "replicas": 6} | fields)


def resource(**metadata: str) -> dict[str, Any]:
    return {"type": "cpu", "metadata": {"value": "60"} | metadata}


def external(scaler: Any) -> Any:
    return scaler["metrics"][0]["external"]


def job(*groups: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    return {"Job": {"ID": "shop", "TaskGroups": list(groups), **fields}}


def group(name: str = "app", **fields: Any) -> dict[str, Any]:
    scaling = {key: value for key, value in nomad.policy().items() if key not in ("Target", "ID", "Min")}
    return {"Name": name, "Scaling": scaling | fields.pop("Scaling", {})} | fields


def spec(*metrics: Any, **fields: Any) -> dict[str, Any]:
    made = hpa(*metrics)
    return made | {"spec": made["spec"] | fields}


IMPORTED: Final[Mapping[str, tuple[Any, _Holds]]] = {
    "keda: cooldownPeriod 0": (keda.scaled_object(cooldownPeriod=0), lambda one: one["cooldown"] == "0s"),
    "keda: behavior": (
        keda.scaled_object(advanced={"horizontalPodAutoscalerConfig": {"behavior": keda.BEHAVIOR, "name": "x"}}),
        lambda one: one["behavior"] == keda.BEHAVIOR,
    ),
    "keda: restoreToOriginalReplicaCount": (
        keda.scaled_object(advanced={"restoreToOriginalReplicaCount": True}),
        lambda one: "behavior" not in one,
    ),
    "keda: a target's kind": (
        keda.scaled_object(
            scaleTargetRef={"name": "x", "kind": "StatefulSet", "apiVersion": "apps/v1", "envSourceContainerName": "c"}
        ),
        lambda one: one["scaleTargetRef"]["name"] == "x",
    ),
    "keda: fallback of metricType Value": (
        keda.scaled_object(keda.prometheus(metric_type="Value"), fallback={"failureThreshold": 3, "replicas": 6}),
        lambda one: external(one)["fallback"]["replicas"] == 6,
    ),
    "keda: a fallback above the maximum": (
        keda.scaled_object(fallback={"failureThreshold": 3, "replicas": 600}),
        lambda one: external(one)["fallback"]["replicas"] == 100,
    ),
    "keda: metricType without a value": (
        keda.scaled_object({**keda.prometheus(), "metricType": ""}),
        lambda one: external(one)["target"]["type"] == "AverageValue",
    ),
    "keda: useCachedMetrics": (
        keda.scaled_object({**keda.prometheus(), "useCachedMetrics": True}),
        lambda one: "metrics" in one,
    ),
    "keda: ? in cron fields": (
        keda.scaled_object(keda.prometheus(), keda.cron(start="0 8 ? * 1-5", end="0 18  * ?/2 1-5")),
        lambda one: (one["schedules"][0]["cron"], one["schedules"][0]["until"]) == ("0 8 * * 1-5", "0 18 * */2 1-5"),
    ),
    "keda: a container": (
        keda.scaled_object(resource(containerName="app")),
        lambda one: one["metrics"][0]["containerResource"]["container"] == "app",
    ),
    "keda: false annotations": (annotated("paused", "F"), lambda one: "metrics" in one),
    "nomad: Min without one is the count": (job(group(Count=3)), lambda one: one["minReplicas"] == 3),
    "nomad: Min null is the count": (job(group(Count=3, Scaling={"Min": None})), lambda one: one["minReplicas"] == 3),
    "nomad: Min and Count null": (job(group(Count=None, Scaling={"Min": None})), lambda one: one["minReplicas"] == 1),
    "nomad: Min given": (job(group(Count=3, Scaling={"Min": 2})), lambda one: one["minReplicas"] == 2),
    "nomad: Min 0 given": (job(group(Count=3, Scaling={"Min": 0})), lambda one: one["minReplicas"] == 0),
    "nomad: Enabled null": (job(group(Scaling={"Enabled": None, "Type": ""})), lambda one: "dryRun" not in one),
    "nomad: Namespace null": (
        job(group(), Namespace=None),
        lambda one: one["scaleTargetRef"]["namespace"] == "default",
    ),
    "nomad: Region": (job(group(), Region="eu"), lambda one: one["scaleTargetRef"]["region"] == "eu"),
    "nomad: the target block's names": (
        nomad.policy(body={"target": [{"nomad": [{"Job": "a", "Group": "b", "Namespace": "c", "dry-run": "1"}]}]}),
        lambda one: (
            one["scaleTargetRef"] == {"adapter": "nomad", "name": "a/b", "namespace": "c"} and one["dryRun"] is True
        ),
    ),
    "nomad: max_scale_up of every check": (
        nomad.policy(*[nomad.check(options={"target": 10, "max_scale_up": each}) for each in ("3", "5")]),
        lambda one: (
            nomad.policies(one, "scaleUp")[0]["value"] == 5 and nomad.policies(one, "scaleDown")[0]["value"] == 10
        ),
    ),
    "nomad: max_scale_up of one check": (
        nomad.policy(nomad.check(options={"target": 10, "max_scale_up": "3"}), nomad.check()),
        lambda one: nomad.policies(one, "scaleUp")[0]["value"] == 10,
    ),
    "nomad: a query that ends in a comment": (
        nomad.policy(nomad.check("pass-through", {}, query="sum(wanted) # of all\n")),
        lambda one: nomad.metric(one)["query"]["expr"] == "floor(sum(wanted) # of all\n)",
    ),
    "nomad: a query of several lines": (
        nomad.policy(nomad.check(query="\n  sum(\n    wanted # one\n  )\n")),
        lambda one: nomad.metric(one)["query"]["expr"] == "sum(\n    wanted # one\n  )",
    ),
    "nomad: cooldown 0": (nomad.policy(body={"cooldown": "0"}), lambda one: "metrics" in one),
    "nomad: null words": (
        nomad.policy(nomad.check(group=None, on_error=None, query_window_offset=None), body={"on_check_error": None}),
        lambda one: "metrics" in one,
    ),
    "nomad: ? in cron fields": (
        nomad.policy(
            nomad.check("fixed-value", {"value": "60"}, schedule=[{"start": "0 8 ? * *", "end": "0 9 * * ?"}])
        ),
        lambda one: (
            one["schedules"][0] == {"cron": "0 8 * * *", "until": "0 9 * * *", "timezone": "UTC", "minReplicas": 10}
        ),
    ),
    "hpa: Pods with type Value": (
        hpa(metric("pods", {"type": "Value", "averageValue": 3})),
        lambda one: one["metrics"][0]["pods"]["target"] == {"type": "AverageValue", "averageValue": 3},
    ),
    "hpa: Pods with a value as well": (
        hpa(metric("pods", {"type": "Utilization", "averageValue": 3, "value": 4})),
        lambda one: one["metrics"][0]["pods"]["target"] == {"type": "AverageValue", "averageValue": 3},
    ),
    "hpa: Resource with type Value": (
        hpa({"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Value", "averageUtilization": 6}}}),
        lambda one: one["metrics"][0]["resource"]["target"] == {"type": "Utilization", "averageUtilization": 6},
    ),
    "hpa: External with type Utilization": (
        hpa(metric("external", {"type": "Utilization", "value": 4})),
        lambda one: external(one)["target"] == {"type": "Value", "value": 4},
    ),
    "hpa: Object with both": (
        hpa(metric("object", {"type": "Value", "averageValue": 3, "value": 4})),
        lambda one: one["metrics"][0]["object"]["target"] == {"type": "Value", "value": 4},
    ),
    "hpa: a fallback above the maximum": (
        hpa(
            {
                "type": "External",
                "external": {
                    **metric("external", {"type": "Value", "value": 4})["external"],
                    "fallback": {"replicas": 60},
                },
            }
        ),
        lambda one: external(one)["fallback"]["replicas"] == 5,
    ),
    "hpa: minReplicas null": (spec(CPU, minReplicas=None), lambda one: one["minReplicas"] == 1),
    "hpa: minReplicas 0 with an External metric": (
        spec(metric("external", {"type": "Value", "value": 4}), minReplicas=0),
        lambda one: one["minReplicas"] == 0,
    ),
}
"""Field -> an object, and what holds for the autoscaler."""

LEFT_OUT: Final[Mapping[str, tuple[Any, str]]] = {
    "keda: paused at 0": (annotated("paused-replicas", "0"), "set its size to that, then autoscaler pause mail"),
    "keda: paused at 0, a number": (annotated("paused-replicas", 0), "set its size to that, then autoscaler pause"),
    "keda: paused with an odd value": (annotated("paused", "yes"), "it is paused: autoscaler pause mail"),
    "keda: paused null": (annotated("paused", None), "it is paused: autoscaler pause mail"),
    "keda: paused-scale-in": (annotated("paused-scale-in"), "scaleDown: {selectPolicy: Disabled}"),
    "keda: paused-scale-out": (annotated("paused-scale-out"), "scaleUp: {selectPolicy: Disabled}"),
    "keda: an annotation of a later version": (annotated("later"), f"annotation {PREFIX}later is left out"),
    "keda: fallback.behavior currentReplicas": (
        fallback(behavior="currentReplicas"),
        "fallback currentReplicas is left out",
    ),
    "keda: a fallback to 0": (fallback(replicas=0), "a fallback to 0 replicas is left out"),
    "keda: a fallback of cpu": (
        keda.scaled_object(resource(), fallback={"failureThreshold": 3, "replicas": 6}),
        "fallback is left out, because KEDA has none for cpu",
    ),
    "keda: a later field": (keda.scaled_object(later=1), "spec.later is left out"),
    "keda: a later field of a trigger": (
        keda.scaled_object({**keda.prometheus(), "later": 1}),
        "triggers[0].later is left out",
    ),
    "keda: a later key of prometheus": (
        keda.scaled_object(keda.prometheus(later="1")),
        "triggers[0], prometheus: metadata.later is left out",
    ),
    "keda: a later key of cron": (
        keda.scaled_object(keda.prometheus(), keda.cron(later="1")),
        "triggers[1], cron: metadata.later is left out",
    ),
    "keda: a later key of cpu": (
        keda.scaled_object(keda.prometheus(), resource(later="1")),
        "triggers[1], cpu: metadata.later is left out",
    ),
    **{
        f"keda: {key}": (keda.scaled_object(keda.prometheus(**{key: "x=1"})), f"{key} belongs to the source")
        for key in ("customHeaders", "queryParameters", "namespace", "unsafeSsl", "timeout", "authModes")
    },
    "keda: authenticationRef": (
        keda.scaled_object({**keda.prometheus(), "authenticationRef": {"name": "a"}}),
        "authenticationRef belongs to the source",
    ),
    "nomad: min of a policy alone": (
        {key: value for key, value in nomad.policy().items() if key != "Min"},
        "min is left out; minReplicas is 1, write the group's count",
    ),
    "nomad: max_scale_up of one check": (
        nomad.policy(nomad.check(options={"target": 10, "max_scale_up": "3"}), nomad.check()),
        "max_scale_up: it is left out, because not every check has it",
    ),
    "nomad: different max_scale_down": (
        nomad.policy(*[nomad.check(options={"target": 10, "max_scale_down": each}) for each in ("3", "5")]),
        "max_scale_down: the largest of the checks' (5) counts for all",
    ),
    "nomad: on_error": (nomad.policy(nomad.check(on_error="fail")), "on_check_error, on_error: while a metric fails"),
    "nomad: on_check_error": (
        nomad.policy(body={"on_check_error": "fail"}),
        "on_check_error, on_error: while a metric fails",
    ),
    "nomad: a cooldown that is longer than any window": (
        nomad.policy(body={"cooldown": "2h"}),
        "scale-ins follow the highest recommendation of 1h",
    ),
    "nomad: a later field": (nomad.policy(body={"later": 1}), "cache-app: later is left out"),
    "nomad: a later field of a check": (nomad.policy(nomad.check(later=1)), "check c0: later is left out"),
    "nomad: a later option of a strategy": (
        nomad.policy(nomad.check(options={"target": 10, "later": 1})),
        "check c0: later of its strategy is left out",
    ),
    "nomad: an option of the target": (
        nomad.policy(body={"target": [{"nomad": [{"later": "1"}]}]}),
        "later of its target is left out",
    ),
    "nomad: a minimum of 0 with cpu alone": (
        nomad.policy(nomad.check(source="nomad-apm", query="avg_cpu-allocated"), Min=0),
        "minReplicas is 1 instead of 0",
    ),
    "nomad: a fixed value of 0": (
        nomad.policy(nomad.check(), nomad.check("fixed-value", {"value": "0"}, schedule=nomad.SCHEDULE)),
        "check c1: it is left out: a minimum of 0 has no effect",
    ),
    "hpa: a type that is not read": (
        hpa(metric("pods", {"type": "Value", "averageValue": 3, "value": 4})),
        "metrics[0], Pods: target.value 4 is left out, because the HPA does not read it",
    ),
}
"""Field -> an object that is printed, and what standard error says."""
