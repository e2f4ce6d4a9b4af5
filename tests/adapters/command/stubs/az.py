"""`az vmss` and `az vm`, which print resources of Azure's REST API, the keys of `properties` one level up.

VirtualMachineScaleSet has `orchestrationMode` and, with a model, `sku`. A uniform set's machines are
VirtualMachineScaleSetVM. A flexible set's are VirtualMachine, and `az vm list --vmss` lists them without an instance
view. Both lists follow the pages. The group `flex` is flexible.
"""

from typing import Any

from tests.adapters.command.stubs.groups import Groups, fail, number, resized


def answer(groups: Groups, words: list[str], options: dict[str, str]) -> Any:
    assert (options.pop("output"), options.pop("resource-group")) == ("json", "shop")
    if words == ["vm", "list"]:
        name = options.pop("vmss")
        assert (name, options) == ("flex", {})
        return [_of_flexible(each) for each in groups[name]]
    tool, verb = words
    assert tool == "vmss"
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
        assert (name, options) == ("web", {"expand": "instanceView"})
        return [_of_uniform(each) for each in group]
    assert (verb, options) == ("show", {})
    return {
        "name": name,
        "orchestrationMode": "Flexible" if name == "flex" else "Uniform",
        "overprovision": False,
        "provisioningState": "Succeeded",
        "resourceGroup": "shop",
        "sku": {"capacity": len(group), "name": "Standard_D2s_v5", "tier": "Standard"},
    }


def _of_flexible(name: str) -> Any:
    return {
        "instanceView": None,
        "name": name,
        "osProfile": {"computerName": f"{name}-vm"},
        "provisioningState": "Succeeded",
        "timeCreated": "2026-01-01T04:58:58.088281+00:00",
        "virtualMachineScaleSet": {"id": "/subscriptions/…/virtualMachineScaleSets/flex", "resourceGroup": "shop"},
        "vmId": f"17c40c1b-bd3f-4f5d-9ab2-0000{number(name):08x}",
    }


def _of_uniform(name: str) -> Any:
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
        "vmId": f"17c40c1b-bd3f-4f5d-9ab2-0000{number(name):08x}",
    }
