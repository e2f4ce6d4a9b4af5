"""Each adapter type before it has a connection: its entry point, its imports, and the names of targets."""

import subprocess
import sys
from typing import Any, Final, NamedTuple

import pytest

from adapters.aws_asg import AwsAsg
from adapters.aws_ecs import AwsEcs
from adapters.command import CommandAdapter
from adapters.docker_swarm import DockerSwarm
from adapters.memory import Memory
from adapters.nomad import Nomad
from adapters.process import Process
from autoscaler.model import TargetRef
from autoscaler.target import load


class Type(NamedTuple):
    """One of the types."""

    adapter: Any
    section: dict[str, Any]
    good: tuple[str, ...]
    """Names that a target can have."""
    bad: tuple[str, ...]
    """Names that no target can have, or that no target has."""
    remedy: str
    """Part of the problem that a bad name gets."""


TYPES: Final = {
    "aws-asg": Type(
        AwsAsg,
        {},
        ("web", "web/asg_(blue)-1", "x" * 255),
        ("", "x" * 256, "two words", "grün", "arn:aws:autoscaling:eu-west-1:1:autoScalingGroup"),
        "not the ARN",
    ),
    "aws-ecs": Type(
        AwsEcs,
        {},
        ("shop/web", "a/b", "A-b_1/" + "x" * 255),
        ("", "web", "shop/", "/web", "shop/web/1", "shop/two words", "arn:aws:ecs:eu-west-1:1:service/shop/web"),
        "is not CLUSTER/SERVICE",
    ),
    "command": Type(
        CommandAdapter,
        {"observe": ["/bin/observe"], "scale": ["/bin/scale"]},
        ("web", "team/web (blue)", "--size"),
        ("", " "),
        "write a name that the programs know",
    ),
    "docker-swarm": Type(
        DockerSwarm,
        {},
        ("web", "stack_web", "a", "A.b-c_1", "x" * 63),
        ("", "web/", "a b", "_a", "a-", "x" * 64, "../nodes"),
        "is not a valid service name",
    ),
    "nomad": Type(
        Nomad, {}, ("web/front", "team/web/front"), ("web", "/front", "web/", "", "/", "web/ front"), "JOB/GROUP"
    ),
    "memory": Type(
        Memory, {"groups": {"web": {}, "batch": {}}}, ("web",), ("wbe",), "no group 'wbe'; the groups are batch, web"
    ),
    "process": Type(
        Process,
        {"pools": {"web": {"command": "x"}}},
        ("web",),
        ("wep",),
        "no pool 'wep' is configured; did you mean 'web'?",
    ),
}
LIBRARIES: Final = ("boto3", "botocore", "docker", "requests", "urllib3", "nomad")


@pytest.mark.parametrize("name", TYPES)
def test_a_type_is_found_by_its_entry_point(name: str) -> None:
    """Its entry point works like a third party's."""
    assert load(name) is TYPES[name].adapter


@pytest.mark.slow
@pytest.mark.parametrize("name", TYPES)
def test_loading_a_type_imports_no_client_library(name: str) -> None:
    """`check` loads every adapter type; importing boto3 takes a third of a second."""
    code = (
        f"import sys; from autoscaler.target import load; load({name!r}).Settings;"
        f"print({{*{LIBRARIES!r}}} & sys.modules.keys() or 'none')"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "none"


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, each in TYPES.items() for name in each.good])
def test_a_name_that_a_target_can_have_is_no_problem(kind: str, name: str) -> None:
    adapter, section, *_ = TYPES[kind]
    assert adapter.target_problem(TargetRef("test", name), adapter.Settings.model_validate(section)) is None


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, each in TYPES.items() for name in each.bad])
def test_a_name_that_no_target_has_is_a_problem(kind: str, name: str) -> None:
    """`check` reports it offline, with the remedy."""
    adapter, section, *_ = TYPES[kind]
    assert TYPES[kind].remedy in adapter.target_problem(
        TargetRef("test", name), adapter.Settings.model_validate(section)
    )
