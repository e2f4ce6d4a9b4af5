"""The programs of the documentation for clouds, against stubs that answer as their tools' documentation says."""

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adapters.command import CommandAdapter
from autoscaler.model import Held, Hold, HoldReason, ScaleChange, TargetRef, TargetState, Written
from autoscaler.target import Adapter, TargetError, TargetForbidden, TargetNotFound, TargetUnavailable
from autoscaler.target.contract import AdapterContract, Harness
from tests.adapters.command import stub
from tests.adapters.command.harness import EXAMPLES, build, call, script

MIG = TargetRef("test", "web", "shop", "europe-west1-b")
VMSS = TargetRef("test", "web", "shop")
SERVERS = TargetRef("test", "web")
HCLOUD, DOCTL = "cloud-servers hcloud", "cloud-servers doctl"
GROUPS = {"web": ["--type=cx23", "--image=debian-12"], "other": []}


class RecipeHarness(Harness):
    """A group of the stub for each test."""

    def __init__(self, folder: Path, recipe: str, target: TargetRef) -> None:
        self.recipe = recipe
        self.target, self.missing = target, TargetRef("test", "nobody", target.namespace, target.region)
        self.folder, self.state = folder, folder / "groups.json"
        self.state.write_text('{"web": ["web-aaaa"]}')
        script(folder, f'exec {sys.executable} -I {stub.__file__} {tool(recipe)} {self.state} "$@"', tool(recipe))
        self.adapter = self.rebuild()

    def rebuild(self, *, dry_run: bool = False) -> Adapter:
        self.adapter = built(self.folder, self.recipe)
        return self.adapter

    def set_size_outside(self, size: int) -> None:
        groups = json.loads(self.state.read_text())
        stub.resized(groups["web"], "web", size)
        self.state.write_text(json.dumps(groups))

    def unreachable(self) -> Adapter | str:
        script(self.folder, "exec sleep 60", tool(self.recipe))
        return self.rebuild()


@pytest.mark.slow  # some hundred programs
class TestGcloud(AdapterContract):
    @pytest.fixture
    def harness(self, tmp_path: Path) -> Harness:
        return RecipeHarness(tmp_path, "gcloud-mig", MIG)


@pytest.mark.slow  # likewise
class TestAz(AdapterContract):
    @pytest.fixture
    def harness(self, tmp_path: Path) -> Harness:
        return RecipeHarness(tmp_path, "az-vmss", VMSS)


@pytest.mark.slow  # likewise
@pytest.mark.parametrize("tool", ["hcloud", "doctl"])
class TestCloudServers(AdapterContract):
    @pytest.fixture
    def harness(self, tmp_path: Path, tool: str) -> Harness:
        harness = RecipeHarness(tmp_path, f"cloud-servers {tool}", SERVERS)
        harness.chooses_victims = True
        return harness


def tool(recipe: str) -> str:
    """Return the tool that a recipe runs: `gcloud` for gcloud-mig, `hcloud` for `cloud-servers hcloud`."""
    program, _, named = recipe.partition(" ")
    return named or program.partition("-")[0]


def built(folder: Path, recipe: str, path: str | None = None) -> CommandAdapter:
    """Return the adapter with this recipe. `path`: its PATH; None: the tools in the folder come first."""
    groups, (program, *more) = folder / "options.json", recipe.split()
    groups.write_text(json.dumps(GROUPS))
    more += [str(groups)] if more else []
    observe, scale = ((str(EXAMPLES / program), verb, *more) for verb in ("observe", "scale"))
    return build(observe, scale, folder, {"PATH": path or f"{folder}:{os.environ['PATH']}"})


def observed(folder: Path, recipe: str, text: str, target: TargetRef) -> TargetState | TargetError:
    """Return what the recipe makes of this script in the tool's place."""
    script(folder, text, tool(recipe))
    return built(folder, recipe).observe([target], call())[target]


def answering(**verbs: Any) -> str:
    """Return a script that prints this JSON for each verb."""
    cases = "".join(
        f"*' {verb.replace('_', '-')} '*) echo '{json.dumps(answer)}';;\n" for verb, answer in verbs.items()
    )
    return f'case "$* " in\n{cases}*) exit 3;;\nesac'


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
        (HCLOUD, SERVERS, "unable to authenticate (unauthorized, 2f1a)", TargetForbidden),
        (HCLOUD, SERVERS, "limit of 3600 requests per hour reached (rate_limit_exceeded)", TargetUnavailable),
        (DOCTL, SERVERS, "GET https://api.digitalocean.com/v2/droplets: 401 Unable to authenticate", TargetForbidden),
        (DOCTL, SERVERS, "GET https://api.digitalocean.com/v2/droplets: 429 Too many requests", TargetUnavailable),
    ],
)
def test_the_tools_own_words_become_an_error_of_the_target(
    tmp_path: Path, recipe: str, target: TargetRef, said: str, kind: type[TargetError]
) -> None:
    found = observed(tmp_path, recipe, f'echo "ERROR: {said}" >&2; exit 1', target)
    assert type(found) is kind
    assert str(found) == f"ERROR: {said}"


@pytest.mark.parametrize(
    ("recipe", "target"), [("gcloud-mig", MIG), ("az-vmss", VMSS), (HCLOUD, SERVERS), (DOCTL, SERVERS)]
)
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("echo '{}'", "is not as documented ("),
        ("exec sleep 60", "did not answer in time; choose a longer sync"),
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
    size = 0 if target == SERVERS else 1  # its size is the number of servers
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


def server(name: str, number: int, status: str = "running", *, kept: bool = False) -> dict[str, Any]:
    """Return a server as Hetzner Cloud describes it: without networks. A higher number is newer."""
    return {
        "created": f"2026-01-30T23:50:0{number}Z",
        "id": number,
        "name": name,
        "private_net": None,
        "protection": {"delete": kept, "rebuild": False},
        "public_net": {"ipv4": None, "ipv6": None},
        "status": status,
    }


def test_servers_that_come_and_go(tmp_path: Path) -> None:
    states = {"web-a": "running", "web-b": "initializing", "web-c": "off", "web-d": "deleting"}
    servers = [server(name, number, status) for number, (name, status) in enumerate(states.items())]
    found = observed(tmp_path, HCLOUD, answering(list=servers), SERVERS)
    assert isinstance(found, TargetState)
    assert (found.replicas, [(one.name, str(one.phase), one.detail) for one in found.instances]) == (
        3,
        [("web-a", "Running", ""), ("web-b", "Pending", "initializing"), ("web-c", "Pending", "off")],
    )


@pytest.mark.parametrize(
    ("victims", "size", "deleted"),
    [((), 2, {"3"}), (("web-b",), 1, {"2", "3"}), (("web-a", "web-b"), 2, {"2"})],
    ids=["the newest", "the victim first", "a protected one stays"],
)
def test_servers_are_deleted_by_rank(tmp_path: Path, victims: tuple[str, ...], size: int, deleted: set[str]) -> None:
    servers = [server("web-a", 1, kept=True), server("web-b", 2), server("web-c", 3)]
    text = f'case "$2" in delete) echo "$3" >> {tmp_path}/deleted;; *) {answering(list=servers)};; esac'
    script(tmp_path, text, "hcloud")
    change = ScaleChange("1", size, 3, None, "a test says so", victims)
    assert built(tmp_path, HCLOUD).scale(SERVERS, change, call()) == Written(size)
    assert set((tmp_path / "deleted").read_text().split()) == deleted


def test_protected_servers_hold_a_scale_in_below_them(tmp_path: Path) -> None:
    """No server is deleted then."""
    servers = [server("web-a", 1, kept=True), server("web-b", 2)]
    script(tmp_path, f'case "$2" in delete) exit 3;; *) {answering(list=servers)};; esac', "hcloud")
    held = built(tmp_path, HCLOUD).scale(SERVERS, ScaleChange("1", 0, 2, None, "a test says so"), call())
    assert isinstance(held, Held)
    assert held.hold.message == "only 1 servers are not protected from deletion"


def test_a_tool_that_is_not_installed_is_named(tmp_path: Path) -> None:
    python = Path(sys.executable).parent
    found = built(tmp_path, HCLOUD, str(python)).observe([SERVERS], call())[SERVERS]
    assert str(found) == "hcloud is not installed, or not in the PATH of `env`; install it"
