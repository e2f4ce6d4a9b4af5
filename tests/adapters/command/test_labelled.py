"""The documentation's programs for clouds whose groups are the machines with a label."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autoscaler.model import Held, ScaleChange, TargetRef, TargetState, Written
from autoscaler.target import TargetNotFound, TargetUnavailable
from tests.adapters.command.harness import EXAMPLES, build, call, script
from tests.adapters.command.recipes import (
    DOCTL,
    GROUP,
    HCLOUD,
    LABELLED,
    OPENSTACK,
    PVESH,
    answering,
    built,
    observed,
    stand_in,
    state,
    tool,
)
from tests.servers.web import Answer, Request
from tests.servers.web import answering as serve

pytestmark = pytest.mark.slow  # dozens of programs


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
    found = observed(tmp_path, HCLOUD, answering(list=servers), GROUP)
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
    assert built(tmp_path, HCLOUD).scale(GROUP, change, call(60)) == Written(size)
    assert set((tmp_path / "deleted").read_text().split()) == deleted


def test_protected_servers_hold_a_scale_in_below_them(tmp_path: Path) -> None:
    """No server is deleted then."""
    servers = [server("web-a", 1, kept=True), server("web-b", 2)]
    script(tmp_path, f'case "$2" in delete) exit 3;; *) {answering(list=servers)};; esac', "hcloud")
    held = built(tmp_path, HCLOUD).scale(GROUP, ScaleChange("1", 0, 2, None, "a test says so"), call(60))
    assert isinstance(held, Held)
    assert held.hold.message == "1 of 2 machines are protected, locked or out of reach"


@pytest.mark.parametrize(
    ("status", "phase"), [("ACTIVE", "Running"), ("BUILD", "Pending"), ("ERROR", "Failed"), ("SHUTOFF", "Pending")]
)
def test_a_half_made_server_of_openstack_counts(tmp_path: Path, status: str, phase: str) -> None:
    """Otherwise each cycle would create another one beside those that a full cloud puts into ERROR."""
    server = {"ID": "7", "Name": "web-a", "Status": status, "Networks": {}, "Created At": "2026-01-30T23:50:00Z"}
    found = observed(tmp_path, OPENSTACK, answering(list=[server]), GROUP)
    assert isinstance(found, TargetState)
    detail = "" if status == "ACTIVE" else status
    assert [(found.replicas, str(one.phase), one.detail) for one in found.instances] == [(1, phase, detail)]


def test_a_server_in_error_leaves_before_those_that_run(tmp_path: Path) -> None:
    """Victims leave first, for the daemon has chosen them."""
    created = {"a": "2026-01-30T23:50:01Z", "b": "2026-01-30T23:50:02Z", "c": "2026-01-30T23:50:03Z"}
    status = {"a": "ERROR", "b": "ACTIVE", "c": "ACTIVE"}
    servers = [
        {"ID": name, "Name": f"web-{name}", "Status": status[name], "Networks": {}, "Created At": at}
        for name, at in created.items()
    ]
    script(
        tmp_path,
        f'case "$*" in *delete*) echo "$4" >> {tmp_path}/deleted;; *) {answering(list=servers)};; esac',
        "openstack",
    )
    change = ScaleChange("1", 1, 3, None, "a test says so", ("web-b",))
    assert built(tmp_path, OPENSTACK).scale(GROUP, change, call(60)) == Written(1)
    assert set((tmp_path / "deleted").read_text().split()) == {"a", "b"}


def test_a_clone_that_nothing_has_started_is_started_before_another_is_made(tmp_path: Path) -> None:
    """The program ended between the clone and the start, or the host did."""
    stand_in(tmp_path, PVESH, {"web": ["web-a", "web-b"], "stopped": ["web-b"]})
    adapter = built(tmp_path, PVESH)
    found = adapter.observe([GROUP], call(60))[GROUP]
    assert isinstance(found, TargetState)
    assert (found.replicas, [one.name for one in found.instances]) == (1, ["web-a"])
    assert found.warnings == ("web-b is stopped; the next scale-out starts it",)
    assert adapter.scale(GROUP, ScaleChange("1", 3, 1, None, "a test says so"), call(60)) == Written(3)
    groups = state(tmp_path)
    assert groups["stopped"] == []
    assert [name.startswith("web-") for name in groups["web"]] == [True] * 3
    assert groups["web"][:2] == ["web-a", "web-b"]


def test_a_machine_that_is_being_cloned_counts(tmp_path: Path) -> None:
    """Otherwise the next cycle would clone another. The clone lands where the group has the fewest."""
    guest = {"node": "pve1", "status": "stopped", "tags": "debian;autoscaler-web", "type": "qemu", "template": 0}
    guests = [
        {**guest, "vmid": 900, "name": "web", "template": 1},
        {**guest, "vmid": 901, "name": "web", "template": 1, "node": "pve2"},
        {**guest, "vmid": 100, "name": "web-a", "lock": "clone"},
        {**guest, "vmid": 101, "name": "web-b", "status": "unknown", "node": "pve3"},
        {**guest, "vmid": 102, "name": "api-a", "status": "running", "tags": "autoscaler-web2"},
    ]
    cases = f"""create) echo "$2" >> {tmp_path}/created;; *) echo '{json.dumps(guests)}';;"""
    text = f"""case "$2" in */nextid) echo '"103"'; exit;; esac\ncase "$1" in {cases} esac"""
    found = observed(tmp_path, PVESH, text, GROUP)
    assert isinstance(found, TargetState)
    assert [(one.name, str(one.phase), one.detail) for one in found.instances] == [
        ("web-a", "Pending", "clone"),
        ("web-b", "Pending", "unknown"),
    ]
    written = built(tmp_path, PVESH).scale(GROUP, ScaleChange("1", 3, 2, None, "a test says so"), call(60))
    assert written == Written(3)
    created = (tmp_path / "created").read_text().split()
    assert created == ["/nodes/pve2/qemu/901/clone", "/nodes/pve2/qemu/103/status/start"]
    held = built(tmp_path, PVESH).scale(GROUP, ScaleChange("2", 1, 2, None, "a test says so"), call(60))
    assert isinstance(held, Held)  # neither the locked one can be deleted, nor that of a node which is away


def test_a_group_of_proxmox_without_a_template_is_named(tmp_path: Path) -> None:
    stand_in(tmp_path, PVESH, {})
    nobody, shell = TargetRef("test", "nobody"), TargetRef("test", "web;reboot")
    found = built(tmp_path, PVESH).observe([nobody, shell], call(60))
    assert str(found[nobody]) == "no template has the tag autoscaler-nobody; give it to the group's template"
    assert str(found[shell]) == "web;reboot is no name of a group; use small letters, digits and -"
    assert {type(one) for one in found.values()} == {TargetNotFound}


def test_pvesh_runs_where_the_words_of_the_command_say(tmp_path: Path) -> None:
    """`ssh root@pve1 pvesh` needs no Proxmox on the daemon's machine."""
    script(tmp_path, '[ "$1 $2" = "root@pve1 pvesh" ] && echo "[]"', "ssh")
    observe = (str(EXAMPLES / PVESH), "observe", "ssh", "root@pve1", "pvesh")
    adapter = build(observe, observe, tmp_path, {"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert "no template has the tag" in str(adapter.observe([GROUP], call(60))[GROUP])


@pytest.mark.parametrize("recipe", LABELLED)
def test_every_page_of_a_list_counts(tmp_path: Path, recipe: str) -> None:
    stand_in(tmp_path, recipe, {"web": [f"web-{number}" for number in range(230)]})
    found = built(tmp_path, recipe).observe([GROUP], call(60))[GROUP]
    assert isinstance(found, TargetState)
    assert (found.replicas, len({one.name for one in found.instances})) == (230, 230)


@pytest.mark.parametrize("recipe", [HCLOUD, DOCTL, OPENSTACK])
def test_a_throttled_creation_ends_the_write(tmp_path: Path, recipe: str) -> None:
    """The tool's words are told. The next cycle finds what was created until then, and creates the rest."""
    text = f'case "$*" in *create*) echo "429 rate limit exceeded" >&2; exit 1;; *) {answering(list=[])};; esac'
    script(tmp_path, text, tool(recipe))
    with pytest.raises(TargetUnavailable, match="429 rate limit exceeded"):
        built(tmp_path, recipe).scale(GROUP, ScaleChange("1", 2, 0, None, "a test says so"), call(60))


def up(*instances: str) -> Callable[[Request], Answer]:
    """Return a Prometheus with a sample for each of these labels."""
    result = [{"metric": {"instance": each}, "value": [1, "1"]} for each in instances]
    return lambda _: Answer(200, {"status": "success", "data": {"resultType": "vector", "result": result}})


def test_a_machine_is_ready_when_prometheus_says_that_it_is_up(tmp_path: Path) -> None:
    """By name or address, with or without a port. A machine that does not run is not asked about."""
    servers = [{**server("web-a", 1), "private_net": [{"ip": "10.0.0.1"}]}, server("web-b", 2), server("web-c", 3)]
    script(tmp_path, answering(list=[*servers, server("web-d", 4, "off")]), "hcloud")
    with serve(up("10.0.0.1:9100", "web-c", "[2001:db8::1]:80", "")) as url:
        adapter = built(tmp_path, HCLOUD, PROMETHEUS_URL=url, READY='up{job="web"} == 1')
        found = adapter.observe([GROUP], call(60))[GROUP]
    assert isinstance(found, TargetState)
    assert [one.ready for one in found.instances] == [True, False, True, None]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Answer(503, {}), "Prometheus does not say which machines are up: HTTP Error 503"),
        (Answer(200, {"data": {"result": [1, "1"]}}), "an answer is not as documented ("),
    ],
)
def test_no_answer_of_prometheus_makes_no_machine_unready(tmp_path: Path, answer: Answer, said: str) -> None:
    """An outage is no change of the machines."""
    script(tmp_path, answering(list=[server("web-a", 1)]), "hcloud")
    with serve(lambda _: answer) as url:
        found = built(tmp_path, HCLOUD, PROMETHEUS_URL=url, READY="up == 1").observe([GROUP], call(60))[GROUP]
    assert isinstance(found, TargetUnavailable)
    assert str(found).startswith(said)
