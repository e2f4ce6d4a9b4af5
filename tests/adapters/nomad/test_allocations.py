"""Allocations that a single agent cannot produce."""

from typing import Any

import msgspec

from adapters.nomad.allocations import parse_details, to_instance
from adapters.nomad.entries import AllocationEntry, LongAllocation
from autoscaler.model import Instance, Phase
from tests.adapters.nomad.samples import long_allocation


def _instance(raw: dict[str, Any]) -> Instance:
    details = parse_details(msgspec.convert(raw, LongAllocation))
    return to_instance(msgspec.convert(raw, AllocationEntry), details, None)


def test_an_allocation_on_a_disconnected_node_is_not_ready() -> None:
    """Nomad calls it unknown: it may run."""
    instance = _instance(long_allocation("web", ClientStatus="unknown"))
    assert (instance.phase, instance.ready, instance.deleting) == (Phase.RUNNING, False, False)
    assert "disconnected" in instance.detail


def test_an_ipv6_address_with_a_port_is_in_brackets() -> None:
    """Prometheus writes it so. A port without a host address has none."""
    ports = [{"Label": "http", "Value": 20001, "HostIP": "fd00::7"}, {"Label": "odd", "Value": 1}]
    instance = _instance(long_allocation("web", AllocatedResources={"Shared": {"Ports": ports}}))
    assert instance.identities >= {"fd00::7", "[fd00::7]:20001"}
    assert not any(identity.endswith(":1") for identity in instance.identities)


def test_an_allocation_whose_tasks_are_not_set_up_yet_has_no_start() -> None:
    """The start is unknown, not now: the daemon then keeps when it first saw the allocation."""
    instance = _instance(long_allocation("web", ClientStatus="pending", TaskStates=None, AllocatedResources=None))
    assert (instance.phase, instance.started_at, instance.requests) == (Phase.PENDING, None, {})
