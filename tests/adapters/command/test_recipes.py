"""The documentation's programs for clouds: the contract, errors, and groups that the cloud knows."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from autoscaler.model import Hold, HoldReason, TargetRef, TargetState
from autoscaler.target import TargetError, TargetForbidden, TargetNotFound, TargetNotScalable, TargetUnavailable
from autoscaler.target.contract import AdapterContract, Harness
from tests.adapters.command.harness import call, script
from tests.adapters.command.recipes import (
    ALL,
    DOCTL,
    FLEXIBLE,
    GROUP,
    HCLOUD,
    LABELLED,
    MIG,
    OPENSTACK,
    PROMISES,
    PVESH,
    VMSS,
    RecipeHarness,
    answering,
    built,
    observed,
    tool,
)

pytestmark = pytest.mark.slow  # hundreds of programs


@pytest.mark.parametrize("promise", PROMISES)
@pytest.mark.parametrize(("recipe", "target"), ALL)
def test_a_program_for_a_cloud_keeps_the_promises_that_depend_on_it(
    tmp_path: Path, recipe: str, target: TargetRef, promise: Callable[[AdapterContract, Harness], None]
) -> None:
    """An operator trusts it with a group."""
    promise(AdapterContract(), RecipeHarness(tmp_path, recipe, target))


@pytest.mark.parametrize(
    ("recipe", "target", "said", "kind"),
    [
        (
            "gcloud-mig",
            MIG,
            "Required 'compute.instanceGroupManagers.get' permission for 'projects/x'",
            TargetForbidden,
        ),
        ("gcloud-mig", MIG, "The resource 'projects/shop/x' was not found", TargetNotFound),
        ("gcloud-mig", MIG, "Quota exceeded for quota metric", TargetUnavailable),
        ("az-vmss", VMSS, "(AuthorizationFailed) The client does not have authorization", TargetForbidden),
        ("az-vmss", VMSS, "Please run 'az login' to setup account.", TargetForbidden),
        ("az-vmss", VMSS, "(ResourceGroupNotFound) Resource group 'shop' could not be found.", TargetNotFound),
        ("az-vmss", VMSS, "(TooManyRequests) try later", TargetUnavailable),
        (HCLOUD, GROUP, "unable to authenticate (unauthorized, 2f1a)", TargetForbidden),
        (HCLOUD, GROUP, "limit of 3600 requests per hour reached (rate_limit_exceeded)", TargetUnavailable),
        (DOCTL, GROUP, "GET https://api.digitalocean.com/v2/droplets: 401 Unable to authenticate", TargetForbidden),
        (DOCTL, GROUP, "GET https://api.digitalocean.com/v2/droplets: 429 Too many requests", TargetUnavailable),
        (OPENSTACK, GROUP, "The request you have made requires authentication. (HTTP 401)", TargetForbidden),
        (OPENSTACK, GROUP, "Missing value auth-url required for auth plugin password", TargetForbidden),
        (OPENSTACK, GROUP, "Too Many Requests (HTTP 429) (Request-ID: req-1)", TargetUnavailable),
        (OPENSTACK, GROUP, "Quota exceeded for instances: Requested 1, used 10 of 10 (HTTP 403)", TargetUnavailable),
        (PVESH, GROUP, "403 Permission check failed (/vms, VM.Audit)", TargetForbidden),
        (PVESH, GROUP, "cluster not ready - no quorum?", TargetUnavailable),
    ],
)
def test_the_tools_own_words_become_an_error_of_the_target(
    tmp_path: Path, recipe: str, target: TargetRef, said: str, kind: type[TargetError]
) -> None:
    found = observed(tmp_path, recipe, f'echo "ERROR: {said}" >&2; exit 1', target)
    assert type(found) is kind
    assert str(found) == f"ERROR: {said}"


@pytest.mark.parametrize(
    ("recipe", "target", "text", "said"),
    [
        *((*one, "echo '{}'", "is not as documented (") for one in ALL if one[0] != PVESH),  # that asks once for all
        (HCLOUD, GROUP, "exec sleep 60", "did not answer in time; choose a longer sync"),
    ],
)
def test_one_target_whose_answer_is_wrong_or_late_costs_no_other(
    tmp_path: Path, recipe: str, target: TargetRef, text: str, said: str
) -> None:
    """All targets of a connection are in one call of the program."""
    other = replace(target, name="other")
    instances: list[object] = []
    right = answering(describe={"targetSize": 1}, show={"sku": {"capacity": 1}}, list_instances=instances, list=[])
    script(tmp_path, f'case "$* " in *other*) {text};; *) {right};; esac', tool(recipe))
    found = built(tmp_path, recipe).observe([target, other], call())
    size = 0 if recipe in LABELLED else 1  # a group's size is the number of its machines
    assert found[target] == TargetState(size, 0, ())
    assert isinstance(found[other], TargetUnavailable)
    assert said in str(found[other])


def test_a_rollout_of_a_managed_instance_group_holds_scale_in(tmp_path: Path) -> None:
    """And an autoscaler of its own is named: both would set the size."""
    status = {"isStable": False, "versionTarget": {"isReached": False}, "autoscaler": "…/autoscalers/web"}
    instances = [
        {"instance": "…/instances/web-a", "currentAction": "DELETING", "instanceStatus": "STOPPING"},
        {"instance": "…/instances/web-b", "currentAction": "CREATING"},
    ]
    text = answering(describe={"targetSize": 1, "status": status}, list_instances=instances)
    found = observed(tmp_path, "gcloud-mig", text, MIG)
    assert isinstance(found, TargetState)
    assert found.hold == Hold(scale_in=HoldReason("RolloutInProgress", "the group moves to a new version"))
    assert found.warnings == ("the group has an autoscaler of its own, which sets the size, too; delete it",)
    assert [(one.name, str(one.phase), one.deleting) for one in found.instances] == [
        ("web-a", "Pending", True),
        ("web-b", "Pending", False),
    ]
    assert (found.replicas, found.status_replicas) == (1, 1)


def test_machines_of_a_scale_set_that_come_go_and_fail(tmp_path: Path) -> None:
    states = {"web_0": "Creating", "web_1": "Deleting", "web_2": "Failed"}
    instances = [{"name": name, "provisioningState": state, "instanceView": None} for name, state in states.items()]
    text = answering(show={"sku": {"capacity": 2}}, list_instances=instances)
    found = observed(tmp_path, "az-vmss", text, VMSS)
    assert isinstance(found, TargetState)
    assert [(str(one.phase), one.deleting, one.detail) for one in found.instances] == [
        ("Pending", False, "Creating"),
        ("Pending", True, "Deleting"),
        ("Failed", False, "Failed"),
    ]
    assert (found.replicas, found.status_replicas) == (2, 1)


def test_machines_of_a_flexible_scale_set_that_come_go_and_fail(tmp_path: Path) -> None:
    """Their power state is not asked: it would take a request for each."""
    states = {"a": "Creating", "b": "Deleting", "c": "Failed", "d": "Updating", "e": "Succeeded"}
    machines = [{"name": name, "provisioningState": now, "osProfile": None} for name, now in states.items()]
    text = answering(show={"orchestrationMode": "Flexible", "sku": {"capacity": 4}}, list=machines)
    found = observed(tmp_path, "az-vmss", text, FLEXIBLE)
    assert isinstance(found, TargetState)
    phases = [(str(one.phase), one.deleting) for one in found.instances]
    assert phases == [
        *(("Pending", False), ("Pending", True), ("Failed", False)),
        *(("Running", False), ("Running", False)),
    ]


def test_a_flexible_scale_set_without_a_model_cannot_be_scaled(tmp_path: Path) -> None:
    """Its machines were created one by one."""
    found = observed(tmp_path, "az-vmss", answering(show={"orchestrationMode": "Flexible", "sku": None}), FLEXIBLE)
    assert isinstance(found, TargetNotScalable)
    assert "no model" in str(found)


@pytest.mark.parametrize(("recipe", "target"), ALL)
def test_a_tool_that_is_not_installed_is_named(tmp_path: Path, recipe: str, target: TargetRef) -> None:
    found = built(tmp_path, recipe, str(tmp_path)).observe([target], call(60))[target]
    assert str(found) == f"{tool(recipe)} is not installed, or not in the PATH of `env`; install it"
