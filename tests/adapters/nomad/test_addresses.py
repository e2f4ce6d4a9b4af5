"""A connection with two addresses, in front of real agents of one cluster."""

from pathlib import Path

import pytest

from autoscaler.errors import TargetUnavailable
from autoscaler.model import TargetState, Unchanged, Written
from tests.adapters.nomad.conftest import Connect, LiveAdapter
from tests.servers.faults import Fault, Faults
from tests.servers.nomad import LEADERLESS, NomadServer, forwarding_to, running_agent, unplaced

pytestmark = pytest.mark.slow


@pytest.fixture
def two(connect: Connect, proxy: Faults, nomad: NomadServer) -> LiveAdapter:
    """A connection to the proxy, then to the agent."""
    nomad.register(unplaced("two"))
    return connect(addresses=[proxy.url, nomad.url])


def changes(live: LiveAdapter) -> list[tuple[object, object]]:
    """Return the addresses that the log says were left, and those used instead."""
    return [(keys["before"], keys["address"]) for keys in live.logger.of("address_changed")]


def test_a_stopped_agent_is_replaced_by_another_of_its_cluster(
    connect: Connect, nomad: NomadServer, tmp_path: Path
) -> None:
    """One agent is stopped between an observation and its write; the decision is still written, once."""
    nomad.register(unplaced("replaced"))
    with running_agent(tmp_path, forwarding_to(nomad)) as (url, agent):
        nomad.wait(lambda: len(nomad.ask("GET", "/v1/nodes")) == 2, "second node")
        live = connect(addresses=[url, nomad.url])
        seen = live.state("replaced/work")
        assert changes(live) == []
        agent.kill()
        agent.wait()
        assert live.scale("replaced/work", seen, 2) == Written(2)
        assert live.state("replaced/work").replicas == 2
        assert changes(live) == [(url, nomad.url)]


def test_a_server_without_a_leader_is_left(connect: Connect, nomad: NomadServer, tmp_path: Path) -> None:
    """A server that lost its cluster answers HTTP 500, "No cluster leader"."""
    nomad.register(unplaced("led"))
    with running_agent(tmp_path, LEADERLESS) as (url, _):
        live = connect(addresses=[url, nomad.url])
        assert live.state("led/work").replicas == 1
        (error,) = (keys["error"] for keys in live.logger.of("address_changed"))
        assert "No cluster leader" in error
        failing = live.adapter.failing_addresses(live.call())
        assert failing.keys() == {url}
        assert "No cluster leader" in failing[url]


@pytest.mark.parametrize("status", [502, 503, 504])
def test_a_gateway_without_an_agent_is_left(two: LiveAdapter, proxy: Faults, nomad: NomadServer, status: int) -> None:
    """A load balancer answers so when no agent behind it is up."""
    proxy.faults.append(Fault("", status, "no server is available"))
    assert two.state("two/work").replicas == 1
    assert changes(two) == [(proxy.url, nomad.url)]


@pytest.mark.parametrize("fault", [Fault("", 500, "rot"), Fault("", 403, "Permission denied"), Fault("", 200, "[{}]")])
def test_another_error_is_the_answer(two: LiveAdapter, proxy: Faults, fault: Fault) -> None:
    """Nomad's conflicts and refusals are answers, which another agent would repeat."""
    proxy.faults.append(fault)
    assert not isinstance(two.look("two/work"), TargetState)
    proxy.faults.clear()
    asked = proxy.count()
    assert two.state("two/work").replicas == 1
    assert proxy.count() > asked


def test_a_write_whose_connection_fails_is_sent_to_the_next_address(
    two: LiveAdapter, proxy: Faults, nomad: NomadServer
) -> None:
    """The agent refuses no connection before it was read from; then "No cluster leader" says that nothing was done."""
    seen = two.state("two/work")
    proxy.faults.append(Fault("POST", 500, "No cluster leader"))
    assert two.scale("two/work", seen, seen.replicas + 1) == Written(seen.replicas + 1)
    assert changes(two) == [(proxy.url, nomad.url)]


def test_a_write_that_may_have_arrived_is_settled_by_the_next_cycle(
    two: LiveAdapter, proxy: Faults, nomad: NomadServer
) -> None:
    """The gateway loses the answer of a write that Nomad carried out. It is not sent again, and the outcome is unknown.

    The same decision sent again, at the other address, changes nothing.
    """
    seen = two.state("two/work")
    size = seen.replicas + 1
    before = _version(nomad, "two")

    def carried_out() -> None:
        nomad.scale("two", "work", size)
        raise ConnectionResetError

    proxy.faults.append(Fault("POST", first=carried_out))
    assert isinstance(two.scale("two/work", seen, size), TargetUnavailable)
    assert proxy.count("POST") == 1
    assert two.state("two/work").replicas == size
    assert two.scale("two/work", seen, size) == Unchanged()
    assert _version(nomad, "two") == before + 1


def _version(nomad: NomadServer, job: str) -> int:
    return int(nomad.ask("GET", f"/v1/job/{job}")["Version"])
