"""`gcloud compute instance-groups managed`, which prints resources of Compute Engine's REST API.

They are those of instanceGroupManagers.get and .listManagedInstances.
"""

from typing import Any

from tests.adapters.command.stubs.groups import Groups, fail, number, resized

_AT = "https://www.googleapis.com/compute/v1/projects/shop/zones/europe-west1-b"


def answer(groups: Groups, words: list[str], options: dict[str, str]) -> Any:
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
                "id": str(number(each)),
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
