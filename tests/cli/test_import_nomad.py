"""`import` converts Nomad's scaling policies. test_coming_from.py has a test for each row of the documents' table."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from autoscaler.config.loader import load
from tests.cli.importing import convert
from tests.cli.nomad import check, imported, policies, policy
from tests.decide.build import Life, value


def test_a_decision_goes_the_whole_way(file: Path) -> None:
    """HPA's defaults would limit a step, and wait for five minutes before a scale-in."""
    scaler, _, _ = imported(file, policy())
    assert policies(scaler, "scaleUp") == [{"type": "Pods", "value": 10, "periodSeconds": 10}]
    assert scaler["behavior"]["scaleDown"]["stabilizationWindowSeconds"] == 0


@pytest.mark.parametrize(("size", "asked", "becomes"), [(2, 7, 7), (9, 10, 10), (7, 7.2, 8), (10, 3, 3), (0, 1, 1)])
def test_pass_through_sets_the_size_that_the_query_returns(size: int, asked: float, becomes: int, file: Path) -> None:
    """As in the Nomad Autoscaler, no delay or tolerance applies."""
    life = _life(file, policy(check("pass-through", {}), Min=0), 1)
    life.step(value(size * 1_000), after=15)
    assert life.size == size
    life.step(value(round(asked * 1_000)), after=15)
    assert life.size == becomes


@pytest.mark.parametrize(("connections", "becomes"), [(10_050, 4), (15_000, 6), (5_000, 2)])
def test_target_value_keeps_the_metric_at_its_target(connections: int, becomes: int, file: Path) -> None:
    """A deviation of 1 % is within the threshold of the Nomad Autoscaler's strategy."""
    life = _life(file, policy(), 4)
    life.step(value(connections), after=60)
    assert life.size == becomes


def _life(file: Path, given: Any, size: int) -> Life:
    """Return the imported autoscaler at a size."""
    scaler, _, _ = imported(file, given)
    config = file.with_name("autoscaler.yaml")
    config.write_text(yaml.safe_dump({"adapters": {"nomad": {"type": "nomad"}}, "autoscalers": [scaler]}))
    (loaded,) = load(config).autoscalers
    return Life(loaded, size)


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
