"""`import` converts Nomad's scaling policies. test_coming_from.py has a test for each row of the documents' table."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.cli.test_import import convert

QUERY: Final = "avg(open_connections)"
PLUGINS: Final = "https://developer.hashicorp.com/nomad/tools/autoscaling/plugins/strategy"


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


def imported(file: Path, given: Any) -> tuple[dict[str, Any], str, int]:
    """Return the autoscaler, what standard error has, and the exit code."""
    file.write_text(json.dumps(given))
    code, out, err = convert(file, "--adapter", "nomad")
    (scaler,) = yaml.safe_load(out)["autoscalers"]
    return scaler, err, code


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
    "`query`, `query_window` (1 m, or `instant`)": (
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
"""Row of the table -> a policy, and what holds for the autoscaler. It scales as with the Nomad Autoscaler."""

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
"""Row of the table -> a policy, and what standard error says."""


def test_a_decision_goes_the_whole_way(file: Path) -> None:
    """HPA's defaults would limit a step, and wait for five minutes before a scale-in."""
    scaler, _, _ = imported(file, policy())
    assert policies(scaler, "scaleUp") == [{"type": "Pods", "value": 10, "periodSeconds": 10}]
    assert scaler["behavior"]["scaleDown"]["stabilizationWindowSeconds"] == 0


def test_each_group_of_a_job_with_a_policy_is_imported(file: Path) -> None:
    """`nomad job run -output` writes the job. The namespace is the target's."""
    scaling = {key: value for key, value in policy().items() if key not in ("Target", "ID")}
    groups = [
        {"Name": "app", "Scaling": scaling},
        {"Name": "proxy", "Scaling": None},
        {"Name": "db", "Scaling": scaling},
    ]
    file.write_text(json.dumps({"Job": {"ID": "shop", "Namespace": "prod", "TaskGroups": groups}}))
    code, out, err = convert(file, "--adapter", "nomad")
    assert code == 0, err
    refs = [scaler["scaleTargetRef"] for scaler in yaml.safe_load(out)["autoscalers"]]
    assert refs == [{"adapter": "nomad", "name": f"shop/{group}", "namespace": "prod"} for group in ("app", "db")]


def test_policies_can_be_a_list(file: Path) -> None:
    other = policy() | {"Target": {"Namespace": "default", "Job": "other", "Group": "other"}}
    file.write_text(json.dumps([policy(), other]))
    _, out, _ = convert(file, "--adapter", "nomad")
    assert [scaler["name"] for scaler in yaml.safe_load(out)["autoscalers"]] == ["cache-app", "other"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (policy(body={"cooldown": "soon"}), "Policy.cooldown: 'soon' is not a duration; write it as in 1m30s"),
        (policy(body={"target": [{"aws-asg": [{}]}]}), "target aws-asg does not scale a group of a job"),
        (policy(Type="vertical_cpu"), "a policy of type vertical_cpu does not scale a group of a job"),
        (policy(check(options={"target": "many"})), "c0: target is 'many'; write a number of at least 0"),
        (
            policy(check(options={"target": 1, "threshold": "nan"})),
            "c0: threshold is 'nan'; write a number",
        ),
        (policy(check("threshold", {})), "Policy.check: has no check that can be converted"),
        (policy(Max=0), "Max: 0 is out of range"),
        ({"Job": {"ID": "x"}}, "has no TaskGroups; write the job with: nomad job run -output FILE"),
        (policy(body={"check": "all"}), "Policy.check: "),
    ],
)
def test_a_policy_that_is_wrong_is_named(given: Any, message: str, file: Path) -> None:
    file.write_text(json.dumps(given))
    code, out, err = convert(file, "--adapter", "nomad")
    assert (code, out) == (1, "")
    assert message in err
    assert "is not imported; correct the problems above" in err
