"""The differences between two configurations, by their keys."""

from dataclasses import fields
from pathlib import Path

import pytest

from autoscaler.config import Settings
from autoscaler.config.loader import load_text
from autoscaler.model import Autoscaler
from autoscaler.whatif.changes import Kind, autoscaler_changes, changes_of, section_changes, settings_of

BASE = """
controller: {tolerance: 0.1}
prometheus: {default: {url: "http://localhost:9090", headers: {X-Scope: secret-1}}}
adapters: {local: {type: memory, groups: {web: {initialReplicas: 3}, api: {}}}}
autoscalers:
  - name: web
    labels: {team: shop}
    scaleTargetRef: {adapter: local, name: web}
    minReplicas: 2
    maxReplicas: 20
    metrics:
      - type: Pods
        pods:
          metric: {name: inflight}
          query: {expr: inflight}
          target: {type: AverageValue, averageValue: 100}
      - type: External
        external:
          metric: {name: queue}
          query: {expr: sum(queue)}
          target: {type: AverageValue, averageValue: 1500m}
    behavior:
      scaleDown:
        stabilizationWindowSeconds: 120
        policies: [{type: Percent, value: 10, periodSeconds: 60}]
"""


def loaded(text: str) -> Settings:
    return load_text(Path("autoscaler.yaml"), text)


def changed(before: str, after: str, base: str = BASE) -> list[tuple[str, str | None, str | None]]:
    """The changes of the autoscaler by an edit of the file."""
    assert before in base
    was, is_ = loaded(base).autoscalers[0], loaded(base.replace(before, after)).autoscalers[0]
    return [(each.path, each.before, each.after) for each in autoscaler_changes(was, is_)]


@pytest.mark.parametrize(
    ("before", "after", "path", "was", "is_"),
    [
        ("maxReplicas: 20", "maxReplicas: 30", "maxReplicas", "20", "30"),
        ("averageValue: 100}", "averageValue: 80}", "metrics[inflight].pods.target.averageValue", "100", "80"),
        ("averageValue: 1500m", "averageValue: 2", "metrics[queue].external.target.averageValue", "1500m", "2"),
        ("expr: inflight", "expr: busy", "metrics[inflight].pods.query.expr", "inflight", "busy"),
        (
            "stabilizationWindowSeconds: 120",
            "stabilizationWindowSeconds: 300",
            "behavior.scaleDown.stabilizationWindowSeconds",
            "120",
            "300",
        ),
        (
            "value: 10, periodSeconds: 60}",
            "value: 20, periodSeconds: 60}",
            "behavior.scaleDown.policies",
            "10 Percent per 60 s",
            "20 Percent per 60 s",
        ),
        ("team: shop", "team: cart", "labels.team", "shop", "cart"),
        ("{adapter: local, name: web}", "{adapter: local, name: api}", "scaleTargetRef.name", "web", "api"),
        ("minReplicas: 2", "minReplicas: 2\n    syncPeriod: 1m", "syncPeriod", "15s", "1m"),
    ],
)
def test_a_change_names_its_key_and_both_values(before: str, after: str, path: str, was: str, is_: str) -> None:
    """As in the file, so that an operator finds the line."""
    assert changed(before, after) == [(path, was, is_)]


def test_a_default_of_the_controller_is_a_change_of_each_autoscaler_that_uses_it() -> None:
    assert changed("tolerance: 0.1", "tolerance: 0.2") == [
        ("behavior.scaleUp.tolerance", "0.1", "0.2"),
        ("behavior.scaleDown.tolerance", "0.1", "0.2"),
    ]
    without = BASE[: BASE.index("    behavior:")]
    assert changed("tolerance: 0.1", "tolerance: 0.2", without) == [("controller.tolerance", "0.1", "0.2")]


def test_a_default_written_out_is_no_change() -> None:
    window = "stabilizationWindowSeconds: 120"
    assert changed(window, f"{window}\n        tolerance: 0.1\n        selectPolicy: Max") == []


def test_an_added_metric_adds_all_of_its_keys() -> None:
    extra = """
      - type: External
        external: {metric: {name: late}, query: {expr: late}, target: {type: Value, value: 5}}
    behavior:"""
    found = changed("\n    behavior:", extra)
    assert ("metrics[late].external.target.value", None, "5") in found
    assert all(before is None for _, before, _ in found)


def test_metrics_in_another_order_are_no_change() -> None:
    """The metric that asks for most decides, wherever it stands."""
    scaler = loaded(BASE).autoscalers[0]
    turned = Autoscaler(
        **{each.name: getattr(scaler, each.name) for each in fields(scaler)} | {"metrics": scaler.metrics[::-1]}
    )
    assert autoscaler_changes(scaler, turned) == ()
    assert changes_of([scaler], [turned]) == []


def test_a_renamed_autoscaler_is_added_and_removed() -> None:
    """In the order of names."""
    before = loaded(BASE).autoscalers
    renamed = loaded(BASE.replace("- name: web", "- name: api")).autoscalers
    assert [(each.name, each.kind) for each in changes_of(before, renamed)] == [
        ("api", Kind.ADDED),
        ("web", Kind.REMOVED),
    ]


@pytest.mark.parametrize(
    ("before", "after", "decides"),
    [
        ("team: shop", "team: cart", False),
        ("minReplicas: 2", "minReplicas: 2\n    dryRun: true", False),
        ("minReplicas: 2", "minReplicas: 3", True),
        ("tolerance: 0.1", "tolerance: 0.2", True),
    ],
)
def test_labels_and_dry_run_change_no_size(before: str, after: str, decides: bool) -> None:
    """Their past need not be replayed."""
    (found,) = changes_of(loaded(BASE).autoscalers, loaded(BASE.replace(before, after)).autoscalers)
    assert found.decides_otherwise is decides


def test_every_field_of_an_autoscaler_is_compared() -> None:
    """Also one that is added to the model later."""
    scaler = loaded(
        BASE.replace("controller: {", "controller: {brakes: {loss: {}}, dryRun: true, ").replace(
            "expr: inflight}", "expr: inflight, instanceLabel: instance}"
        )
    ).autoscalers[0]
    found = settings_of(scaler)
    assert found["brakes.loss.hold"] == "5m"
    assert found["dryRun"] == "true"
    assert found["metrics[inflight].pods.query.instanceLabel"] == "instance"
    assert found["controller.initialReadinessDelay"] == "30s"
    assert "controller.tolerance" not in found
    compared = {path.partition(".")[0].partition("[")[0] for path in found}
    assert compared == {
        "brakes", "behavior", "controller", "dryRun", "labels", "maxReplicas", "metrics", "minReplicas",
        "recoverSize", "scaleTargetRef", "syncPeriod",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after", "paths"),
    [
        ("localhost:9090", "localhost:9091", ["prometheus.default.url"]),
        ("secret-1", "secret-2", ["prometheus.default.headers.X-Scope"]),
        ("type: memory,", "type: memory, maxTotal: 50,", ["adapters.local.maxTotal"]),
        ("{initialReplicas: 3}", "{initialReplicas: 4}", ["adapters.local.groups.web.initialReplicas"]),
        ("controller:", "state: {retention: 7d}\ncontroller:", ["state.retention"]),
        ("controller:", "web: {listenAddress: '127.0.0.1:1'}\ncontroller:", ["web.listenAddress"]),
        ("maxReplicas: 20", "maxReplicas: 30", []),
    ],
)
def test_other_sections_are_named_without_their_values(before: str, after: str, paths: list[str]) -> None:
    """A header or an environment may contain a secret."""
    assert section_changes(loaded(BASE), loaded(BASE.replace(before, after))) == paths
