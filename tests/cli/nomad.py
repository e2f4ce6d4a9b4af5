"""Scaling policies of Nomad, and what `import` makes of them."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from tests.cli.importing import convert

QUERY: Final = "avg(open_connections)"
PLUGINS: Final = "https://developer.hashicorp.com/nomad/tools/autoscaling/plugins/strategy"


def imported(file: Path, given: Any) -> tuple[dict[str, Any], str, int]:
    """Return the autoscaler, what standard error has, and the exit code."""
    file.write_text(json.dumps(given))
    code, out, err = convert(file, "--adapter", "nomad")
    (scaler,) = yaml.safe_load(out)["autoscalers"]
    return scaler, err, code


def check(strategy: str = "target-value", options: Mapping[str, Any] | None = None, **keys: Any) -> dict[str, Any]:
    """Return a check as Nomad's API has it: a block is a list."""
    given = {"source": "prometheus", "query": QUERY} | keys
    return given | {"strategy": [{strategy: [{"target": 10} if options is None else dict(options)]}]}


def policy(*checks: Mapping[str, Any], body: Mapping[str, Any] | None = None, **keys: Any) -> dict[str, Any]:
    """Return a policy whose import scales as the Nomad Autoscaler does: it has no cooldown."""
    blocks = [{f"c{number}": [each]} for number, each in enumerate(checks or [check()])]
    target = {"Namespace": "default", "Job": "cache", "Group": "app"}
    return {
        "ID": "f0a1", "Type": "horizontal", "Target": target, "Min": 2, "Max": 10, "Enabled": True,
        "Policy": {"cooldown": "0s", "check": blocks} | dict(body or {}), **keys,
    }  # fmt: skip


def metric(scaler: Mapping[str, Any]) -> Any:
    """Return the body of its first metric."""
    return next(value for key, value in scaler["metrics"][0].items() if key != "type")


def policies(scaler: Mapping[str, Any], direction: str) -> Any:
    return scaler["behavior"][direction]["policies"]


SCHEDULE: Final = [{"start": "0 8 * * 1-5", "duration": "10h"}]
AT_OFFICE_HOURS: Final = [{"cron": "0 8 * * 1-5", "duration": "10h", "timezone": "UTC", "minReplicas": 6}]
SAME: Final[Mapping[str, tuple[dict[str, Any], Callable[[Any], bool]]]] = {
    "`min`, `max` of the `scaling` block": (policy(), lambda one: (one["minReplicas"], one["maxReplicas"]) == (2, 10)),
    "`evaluation_interval` (10 s)": (policy(), lambda one: one["syncPeriod"] == "10s"),
    '`source = "prometheus"`': (policy(), lambda one: "prometheus" not in metric(one)["query"]),
    '`source = "nomad-apm"`': (
        policy(check(source="nomad-apm", query="avg_cpu-allocated")),
        lambda one: metric(one)["target"] == {"type": "Utilization", "averageUtilization": 10},
    ),
    "`query`, `query_window`": (
        policy(check(query_window="5m")),
        lambda one: metric(one)["query"] == {"expr": QUERY},
    ),
    f"strategy [`target-value`]({PLUGINS}/target-value): `target`, `threshold` (0.01)": (
        policy(check(options={"target": 2.5, "threshold": "0.2"})),
        lambda one: (
            metric(one)["target"] == {"type": "Value", "value": "2500m"}
            and one["behavior"]["scaleUp"]["tolerance"] == one["behavior"]["scaleDown"]["tolerance"] == 0.2
        ),
    ),
    "`max_scale_up`, `max_scale_down`": (
        policy(check(options={"target": 10, "max_scale_up": "3", "max_scale_down": "1"})),
        lambda one: [policies(one, each)[0]["value"] for each in ("scaleUp", "scaleDown")] == [3, 1],
    ),
    f"strategy [`pass-through`]({PLUGINS}/pass-through)": (
        policy(check("pass-through", {})),
        lambda one: (
            metric(one)["query"] == {"expr": f"floor({QUERY})"}
            and metric(one)["target"] == {"type": "AverageValue", "averageValue": "1"}
            and one["behavior"]["scaleUp"]["tolerance"] == 0
        ),
    ),
    f"strategy [`fixed-value`]({PLUGINS}/fixed-value)": (
        policy(check("fixed-value", {"value": "4"})),
        lambda one: metric(one)["query"] == {"expr": "vector(4)"},
    ),
    "`schedule` of a `fixed-value` check": (
        policy(check("fixed-value", {"value": "6"}, schedule=SCHEDULE)),
        lambda one: one["schedules"] == AT_OFFICE_HOURS and metric(one)["query"] == {"expr": "vector(0)"},
    ),
    "`dry-run = true` of a target": (
        policy(body={"target": [{"nomad": [{"dry-run": True}]}]}),
        lambda one: one["dryRun"] is True,
    ),
}
"""Setting, as a row -> a policy, and what holds for the autoscaler. It scales as with the Nomad Autoscaler."""

SAID: Final = {
    "several series of a query": (policy(), "it fails there if the query returns several series"),
    "`enabled = false`": (policy(Enabled=False), "the policy is not enabled: autoscaler pause cache-app"),
    "`cooldown` (5 m), `cooldown_on_scale_up`": (
        policy(body={"cooldown": "1m30s"}),
        "does nothing for 1m30s after scaling out and for 1m30s after scaling in",
    ),
    "`check`, several": (policy(check(), check()), "ends the Nomad Autoscaler's evaluation"),
    "a query that fails or has no data": (policy(check(), check()), "here another one may scale out"),
    "`group` of checks": (
        policy(check(group="load"), check(group="load")),
        "group load: a check of it that asks for no change keeps the size here",
    ),
    "`query_window_offset`": (policy(check(query_window_offset="5m")), "write `offset 5m` in the query"),
    "other `schedule` blocks": (
        policy(check(schedule=SCHEDULE), body={"schedule": SCHEDULE}),
        "the policy's schedule is left out",
    ),
    f"strategy [`threshold`]({PLUGINS}/threshold)": (
        policy(check(), check("threshold", {"upper_bound": 100, "delta": 1})),
        "check c1: it is left out: strategy threshold has no counterpart",
    ),
}
"""Setting, as a row -> a policy, and what standard error says."""
