"""`import`, and manifests for it."""

from pathlib import Path

from typer.testing import CliRunner

from autoscaler.cli.app import app

V2 = """\
apiVersion: v1
kind: Service
metadata: {name: web}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: shop, labels: {team: shop, app.kubernetes.io/name: "1"}}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 2
  maxReplicas: 10
  metrics:
  - type: Resource
    resource: {name: cpu, target: {type: Utilization, averageUtilization: 60}}
  - type: ContainerResource
    containerResource: {name: memory, container: app, target: {type: AverageValue, averageValue: 500Mi}}
  - type: Pods
    pods: {metric: {name: inflight}, target: {type: AverageValue, averageValue: "30"}}
  - type: Object
    object:
      metric: {name: rps}
      describedObject: {apiVersion: networking.k8s.io/v1, kind: Ingress, name: main}
      target: {type: Value, value: 2k}
  - type: External
    external:
      metric:
        name: queue
        selector:
          matchLabels: {app.shop/queue: a.b}
          matchExpressions:
          - {key: zone, operator: In, values: [x, y.1]}
          - {key: old, operator: DoesNotExist}
      target: {type: AverageValue, averageValue: 15}
  behavior:
    scaleDown:
      stabilizationWindowSeconds: 60
      policies: [{type: Pods, value: 1, periodSeconds: 10}]
status: {currentReplicas: 1, desiredReplicas: 1}
"""
V1 = """\
apiVersion: autoscaling/v1
kind: HorizontalPodAutoscaler
metadata: {name: api}
spec: {scaleTargetRef: {kind: Deployment, name: api}, maxReplicas: 5, targetCPUUtilizationPercentage: 70}
"""


def convert(file: Path | str, *arguments: str, given: str | None = None) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["import", str(file), *arguments], input=given)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


def create(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["create", *arguments])
    return result.exit_code, result.stdout, result.stderr


def with_two_autoscalers(folder: Path) -> Path:
    """Return a configuration with an autoscaler `front` of nomad/shop/web, and a team's, `of-team` of swarm/team."""
    metric = "{type: External, external: {metric: {name: q}, query: {expr: q}, target: {type: Value, value: 1}}}"
    body = "{name: %s, scaleTargetRef: {adapter: %s, name: %s}, maxReplicas: 3, metrics: [" + metric + "]}"
    (folder / "teams" / "shop").mkdir(parents=True)
    of_team = body % ("of-team", "swarm", "team")
    (folder / "teams" / "shop" / "web.yaml").write_text(f"- {of_team}\n")
    file = folder / "autoscaler.yaml"
    file.write_text(
        "adapters:\n  swarm: {type: docker-swarm}\n  nomad: {type: nomad}\nautoscalersDir: teams\n"
        "grants:\n  shop: {namePrefix: of-, adapters: [swarm], targets: [team], sources: [default], maxReplicas: 5, "
        "maxQueries: 1}\n"
        f"autoscalers:\n  - {body % ('front', 'nomad', 'shop/web')}\n"
    )
    return file
