"""Allocations that a single agent cannot be brought to have, as values."""

from typing import Any

from adapters.nomad.allocations import parse_details, to_instance
from autoscaler.model import Phase

_ALLOCATION: dict[str, Any] = {
    "ID": "5218764b-2bea-2cbc-f063-d6ae197f9454",
    "Name": "web.work[0]",
    "NodeName": "node-1",
    "ClientStatus": "running",
    "DesiredStatus": "run",
    "CreateIndex": 10,
    "ModifyIndex": 12,
    "AllocatedResources": {
        "Shared": {"Ports": [{"Label": "http", "Value": 20001, "HostIP": "fd00::7"}, {"Label": "odd", "Value": 1}]}
    },
    "TaskStates": {},
}


def test_an_allocation_on_a_disconnected_node_is_not_ready() -> None:
    """Nomad calls it unknown: it may run, and nobody can tell."""
    raw = {**_ALLOCATION, "ClientStatus": "unknown"}
    instance = to_instance(raw, parse_details(raw), None)
    assert (instance.phase, instance.ready, instance.deleting) == (Phase.RUNNING, False, False)
    assert "disconnected" in instance.detail


def test_an_ipv6_address_with_a_port_is_in_brackets() -> None:
    """As Prometheus writes it; a port that has no host address has none to be known by."""
    instance = to_instance(_ALLOCATION, parse_details(_ALLOCATION), None)
    assert instance.identities >= {"fd00::7", "[fd00::7]:20001"}
    assert not any(identity.endswith(":1") for identity in instance.identities)


def test_an_allocation_whose_tasks_are_not_set_up_yet_has_no_start() -> None:
    """Unknown, not now: the daemon then keeps when it first saw it."""
    raw = {**_ALLOCATION, "ClientStatus": "pending", "TaskStates": None, "AllocatedResources": None}
    instance = to_instance(raw, parse_details(raw), None)
    assert (instance.phase, instance.started_at, instance.requests) == (Phase.PENDING, None, {})
