"""Stands for gcloud, az, hcloud and doctl: `stub.py TOOL STATE WORDS…` answers as their documentation describes.

STATE is a JSON file: the name of a group -> its instances' names. Sources: `gcloud compute instance-groups managed`
prints the resources of Compute Engine's REST API (instanceGroupManagers.get and .listManagedInstances); `az vmss` those
of Azure's (VirtualMachineScaleSet and VirtualMachineScaleSetVM), with the keys of `properties` one level up; `hcloud`
prints servers as Hetzner Cloud's API has them (Servers, "Get all Servers"), and names an error's code in parentheses;
`doctl compute droplet` prints droplets as DigitalOcean's API has them ("List All Droplets").
"""

import fcntl
import json
import sys
import uuid
from pathlib import Path
from typing import Any, NoReturn

_AT = "https://www.googleapis.com/compute/v1/projects/shop/zones/europe-west1-b"


def main(tool: str, file: Path, *words: str) -> Any:
    options = dict(word[2:].partition("=")[::2] for word in words if word.startswith("--"))
    plain = [word for word in words if not word.startswith("--")]
    with (file.parent / "lock").open("w") as lock:  # the program may call it several times at once
        fcntl.flock(lock, fcntl.LOCK_EX)
        groups = json.loads(file.read_text())
        answer = {"gcloud": gcloud, "az": az, "hcloud": hcloud, "doctl": doctl}[tool](groups, plain, options)
        file.write_text(json.dumps(groups))
    return answer


def resized(group: list[str], name: str, size: int) -> None:
    del group[size:]
    group += [f"{name}-{uuid.uuid4().hex[:4]}" for _ in range(size - len(group))]


def fail(message: str) -> NoReturn:
    sys.stderr.write(f"{message}\n")
    sys.exit(1)


def gcloud(groups: dict[str, list[str]], words: list[str], options: dict[str, str]) -> Any:
    *path, verb, name = words
    assert path == ["compute", "instance-groups", "managed"]
    assert (options.pop("format"), options.pop("quiet")) == ("json", "")
    assert (options.pop("project"), options.pop("zone")) == ("shop", "europe-west1-b")
    group = groups.get(name)
    if group is None:
        fail(
            f"ERROR: (gcloud.compute.instance-groups.managed.{verb}) Could not fetch resource:\n - The resource "
            f"'projects/shop/zones/europe-west1-b/instanceGroupManagers/{name}' was not found"
        )
    if verb == "resize":
        resized(group, name, int(options.pop("size")))
    assert options == {}
    if verb == "list-instances":
        return [
            {
                "currentAction": "NONE",
                "id": str(uuid.uuid5(uuid.NAMESPACE_DNS, each).int % 2**63),
                "instance": f"{_AT}/instances/{each}",
                "instanceHealth": [{"detailedHealthState": "HEALTHY", "healthCheck": "…/global/healthChecks/web"}],
                "instanceStatus": "RUNNING",
                "version": {"instanceTemplate": "…/global/instanceTemplates/web-7"},
            }
            for each in group
        ]
    return {
        "baseInstanceName": name,
        "currentActions": {"abandoning": 0, "creating": 0, "deleting": 0, "none": len(group), "recreating": 0},
        "fingerprint": "LmHyJmZJdWE=",
        "id": "5217301830512302456",
        "instanceTemplate": "…/global/instanceTemplates/web-7",
        "kind": "compute#instanceGroupManager",
        "name": name,
        "status": {"isStable": True, "versionTarget": {"isReached": True}},
        "targetSize": len(group),
        "zone": _AT,
    }


def az(groups: dict[str, list[str]], words: list[str], options: dict[str, str]) -> Any:
    tool, verb = words
    assert tool == "vmss"
    assert (options.pop("output"), options.pop("resource-group")) == ("json", "shop")
    name = options.pop("name")
    group = groups.get(name)
    if group is None:
        fail(
            f"ERROR: (ResourceNotFound) The Resource 'Microsoft.Compute/virtualMachineScaleSets/{name}' under resource "
            "group 'shop' was not found.\nCode: ResourceNotFound"
        )
    if verb == "scale":
        assert options.pop("no-wait") == ""
        resized(group, name, int(options.pop("new-capacity")))
        assert options == {}
        return None
    if verb == "list-instances":
        assert options == {"expand": "instanceView"}
        return [_machine(each) for each in group]
    assert (verb, options) == ("show", {})
    sku = {"capacity": len(group), "name": "Standard_D2s_v5", "tier": "Standard"}
    return {"name": name, "provisioningState": "Succeeded", "resourceGroup": "shop", "sku": sku, "overprovision": False}


def _machine(name: str) -> Any:
    statuses = [
        {"code": "ProvisioningState/succeeded", "level": "Info", "time": "2026-01-01T04:59:58.1852966+00:00"},
        {"code": "PowerState/running", "displayStatus": "VM running", "level": "Info"},
    ]
    return {
        "instanceId": name.rpartition("-")[2],
        "instanceView": {"statuses": statuses, "vmHealth": {"status": {"code": "HealthState/healthy"}}},
        "name": name,
        "osProfile": {"computerName": f"{name}-vm"},
        "provisioningState": "Succeeded",
        "timeCreated": "2026-01-01T04:58:58.0882815+00:00",
        "vmId": str(uuid.uuid5(uuid.NAMESPACE_DNS, name)),
    }


def hcloud(groups: dict[str, list[str]], words: list[str], options: dict[str, str]) -> Any:
    tool, verb, *names = words
    assert tool == "server"
    if verb == "list":
        assert options.pop("output") == "json"
        key, _, name = options.pop("selector").partition("=")
        assert (key, options) == ("autoscaler", {})
        return [_server(each) for each in groups.get(name, [])]
    if verb == "create":
        key, _, name = options.pop("label").partition("=")
        groups.setdefault(name, []).append(options.pop("name"))
        assert (key, options) == ("autoscaler", {"type": "cx23", "image": "debian-12"})
        return None
    assert (verb, options) == ("delete", {})
    _delete(groups, *names)
    return None


def doctl(groups: dict[str, list[str]], words: list[str], options: dict[str, str]) -> Any:
    *tool, verb = words[:3]
    assert tool == ["compute", "droplet"]
    if verb == "delete":
        assert options == {"force": ""}
        _delete(groups, *words[3:])
        return None
    assert options.pop("output") == "json"
    key, _, group = options.pop("tag-name").partition(":")
    assert key == "autoscaler"
    if verb == "create":
        assert options == {"type": "cx23", "image": "debian-12"}
        (name,) = words[3:]
        groups.setdefault(group, []).append(name)
        return [_droplet(name)]
    assert (verb, options) == ("list", {})
    return [_droplet(each) for each in groups.get(group, [])]


def _delete(groups: dict[str, list[str]], wanted: str) -> None:
    owner = next((each for each in groups.values() if any(_number(one) == int(wanted) for one in each)), None)
    if owner is None:
        fail(f"hcloud: Server not found: {wanted}")
    owner[:] = [one for one in owner if _number(one) != int(wanted)]


def _number(name: str) -> int:
    return uuid.uuid5(uuid.NAMESPACE_DNS, name).int % 2**31


def _server(name: str) -> Any:
    number = _number(name)
    return {
        "created": "2026-01-30T23:50:00Z",
        "id": number,
        "labels": {"autoscaler": "web"},
        "locked": False,
        "name": name,
        "private_net": [{"alias_ips": [], "ip": f"10.0.{number % 250}.2", "mac_address": "", "network": 1}],
        "protection": {"delete": False, "rebuild": False},
        "public_net": {"ipv4": {"blocked": False, "ip": f"192.0.2.{number % 250}"}, "ipv6": {"ip": "2001:db8::/64"}},
        "status": "running",
    }


def _droplet(name: str) -> Any:
    number = _number(name)
    networks = [{"ip_address": f"10.0.{number % 250}.2", "netmask": "255.255.0.0", "type": "private"}]
    return {
        "created_at": "2026-01-30T23:50:00Z",
        "id": number,
        "locked": False,
        "name": name,
        "networks": {"v4": networks},
        "status": "active",
        "tags": ["autoscaler:web"],
    }


if __name__ == "__main__":
    found = main(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:])
    if found is not None:
        sys.stdout.write(json.dumps(found, indent=2) + "\n")
