"""A drain has ended in the moment before Nomad's scheduler stops what it marked. An imitation holds that moment."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

import pytest

from autoscaler.target import NodeDrain
from tests.adapters.nomad.conftest import Connect
from tests.servers.faults import Faults, running_faults, says

_NODE: Final = {
    "ID": "node-1",
    "Status": "ready",
    "SchedulingEligibility": "ineligible",
    "HTTPAddr": "10.0.0.1:4646",
    "Attributes": {"unique.platform.aws.instance-id": "i-0a", "unique.network.ip-address": "10.0.0.1"},
    "DrainStrategy": None,
    "LastDrain": {"Status": "complete"},
}


@pytest.fixture
def agent() -> Iterator[Faults]:
    """An agent with one node, whose drain has ended. A test says what runs there."""
    with running_faults() as faults:
        faults.faults += [says(r"/v1/nodes\?", [{"ID": "node-1"}]), says("/v1/node/node-1", _NODE)]
        yield faults


@pytest.mark.parametrize(
    ("desired", "transition", "found"),
    [
        ("run", {"Migrate": True}, NodeDrain.DRAINING),
        ("stop", {"Migrate": True}, NodeDrain.DRAINING),
        ("run", {}, NodeDrain.DONE),
    ],
)
def test_a_drain_that_has_ended_waits_for_what_it_marked(
    agent: Faults, connect: Connect, desired: str, transition: dict[str, bool], found: NodeDrain
) -> None:
    """A job that its operator left out of the drain is not waited for."""
    agent.faults.append(says("/v1/allocations", [{"DesiredStatus": desired, "DesiredTransition": transition}]))
    live = connect(address=agent.url)
    assert live.adapter.drain_node("i-0a", {"10.0.0.1"}, timedelta(minutes=1), live.call()) is found
    assert agent.count("POST") == 0
