"""HorizontalPodAutoscalers, and a metric of each kind."""

from typing import Any

CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}}


def hpa(*metrics: Any, version: str = "autoscaling/v2", name: str = "api", **metadata: Any) -> dict[str, Any]:
    spec = {"scaleTargetRef": {"kind": "Deployment", "name": name}, "maxReplicas": 5}
    return {
        "apiVersion": version,
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name} | metadata,
        "spec": spec | ({"metrics": list(metrics)} if metrics else {}),
    }


def metric(source: str, target: Any) -> dict[str, Any]:
    body: dict[str, Any] = {"name": "memory"} if source == "resource" else {"metric": {"name": "x"}}
    if source == "object":
        body["describedObject"] = {"kind": "Ingress", "name": "main"}
    return {"type": source.capitalize(), source: body | {"target": target}}
