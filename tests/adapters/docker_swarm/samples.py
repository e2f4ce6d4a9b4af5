"""Objects as Docker Engine 20.10 sends them, with the fields that matter; `changes` replace whole fields."""

from typing import Any

SERVICE_ID = "wg8yt62oa94vsp334d8nzve04"
NODE_ID = "owxy4hqt2gnhe44lkzajynx51"
CONTAINER_ID = "c9a1399540de6ea3ccba83966877af4ffad254590240bc193608035dbef7fbae"


def service(name: str = "web", size: int = 2, running: int | None = None, **changes: Any) -> dict[str, Any]:
    mode = {"Replicated": {"Replicas": size}}
    return {
        "ID": SERVICE_ID,
        "Version": {"Index": 12},
        "Spec": {"Name": name, "TaskTemplate": {"Placement": {}}, "Mode": mode},
        "ServiceStatus": {"RunningTasks": size if running is None else running, "DesiredTasks": size},
        **changes,
    }


def status(state: str, **changes: Any) -> dict[str, Any]:
    return {"Timestamp": "2026-11-21T13:59:32.12480744Z", "State": state, "Message": "started", **changes}


def task(state: str = "running", slot: int = 1, desired: str = "running", **changes: Any) -> dict[str, Any]:
    return {
        "ID": f"gursrzp7cvuvveb5932dl88a{slot}",
        "CreatedAt": "2026-11-21T13:59:31.033666018Z",
        "Spec": {"Resources": {"Limits": {}, "Reservations": {}}},
        "ServiceID": SERVICE_ID,
        "Slot": slot,
        "NodeID": NODE_ID,
        "Status": status(state),
        "DesiredState": desired,
        **changes,
    }


def node(name: str = "vm", state: str = "ready", availability: str = "active") -> dict[str, Any]:
    return {
        "ID": NODE_ID if name == "vm" else f"id-of-{name}",
        "Spec": {"Role": "manager", "Availability": availability},
        "Description": {"Hostname": name},
        "Status": {"State": state, "Addr": "10.0.0.5"},
    }
