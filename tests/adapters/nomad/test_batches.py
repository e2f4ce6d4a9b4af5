"""The number of requests of an observation, counted at a proxy in front of a real agent."""

from typing import Any

import pytest

from autoscaler.clock import SystemClock
from autoscaler.errors import TargetError
from tests.adapters.nomad.conftest import LiveAdapter, client_of
from tests.servers.faults import Fault, Faults
from tests.servers.nomad import NomadServer, service, unplaced

pytestmark = pytest.mark.slow


def _failed(connection: LiveAdapter, names: list[str]) -> bool:
    """Return whether some jobs were not read in time: the next observation continues."""
    return any(isinstance(one, TargetError) for one in connection.observe(*names).values())


def _sizes(connection: LiveAdapter, names: list[str]) -> list[int]:
    states = connection.observe(*names, seconds=60).values()
    failed = [state for state in states if isinstance(state, TargetError)]
    assert not failed, failed[0]
    return [state.replicas for state in states if not isinstance(state, TargetError)]


def test_a_hundred_quiet_groups_cost_at_most_five_requests(
    proxied: LiveAdapter, proxy: Faults, nomad: NomadServer
) -> None:
    """The number of requests does not depend on the number of groups; a changed job costs one more."""
    jobs = [unplaced(f"quiet-{number}") for number in range(100)]
    for job in jobs:
        nomad.register(job)
    names = [f"{job['ID']}/work" for job in jobs]
    nomad.wait(lambda: not _failed(proxied, names), "first look at every job")
    proxy.requests.clear()
    assert _sizes(proxied, names) == [1] * 100
    assert proxy.count() <= 5, proxy.requests
    proxy.requests.clear()
    nomad.scale("quiet-7", "work", 2)
    assert _sizes(proxied, names)[7] == 2
    assert proxy.count() <= 6, proxy.requests


def test_an_allocation_is_read_in_full_once_and_when_it_changes(
    proxied: LiveAdapter, proxy: Faults, nomad: NomadServer
) -> None:
    """Details are kept: three requests when nothing changed, and the state is the same object."""
    nomad.register(service("kept", count=2))
    proxied.wait_for("kept/work", lambda seen: [str(i.phase) for i in seen.instances] == ["Running"] * 2, "up")
    nomad.wait(lambda: all(one["DeploymentStatus"] is None for one in nomad.allocations("kept")), "rest")
    before = proxied.state("kept/work")
    proxy.requests.clear()
    assert proxied.state("kept/work") is before
    assert proxy.count("per_page=1$") == proxy.count() == 3
    nomad.scale("kept", "work", 3)
    proxied.wait_for("kept/work", lambda seen: [str(i.phase) for i in seen.instances] == ["Running"] * 3, "up")
    assert proxy.count("/v1/allocation/") >= 1


def test_an_allocation_collected_since_it_was_listed_is_gone(
    proxied: LiveAdapter, proxy: Faults, nomad: NomadServer
) -> None:
    """Its long form answers 404, which is not a failure of the target."""
    nomad.register(service("gone"))
    nomad.wait(lambda: nomad.allocations("gone"), "allocation")
    proxy.faults.append(Fault("/v1/allocation/", 404, "alloc not found"))
    state = proxied.state("gone/work")
    assert (state.replicas, state.instances) == (1, ())


def test_many_new_allocations_are_read_in_one_list(
    proxied: LiveAdapter, proxy: Faults, nomad: NomadServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A daemon that starts on a full cluster must not request each allocation."""
    monkeypatch.setattr("adapters.nomad.region._READ_ONE_BY_ONE", 2)
    nomad.register(service("crowd", count=3))
    nomad.wait(lambda: len(nomad.allocations("crowd")) == 3, "allocations")
    state = proxied.state("crowd/work")
    assert len(state.instances) == 3
    assert all(len(one.container_requests) == 1 for one in state.instances)
    assert proxy.count("/v1/allocation/") == 0
    assert proxy.count("resources=true") == 1
    nomad.purge("crowd")


def test_lists_are_read_page_after_page(proxied: LiveAdapter, proxy: Faults, nomad: NomadServer) -> None:
    """A cluster may have more jobs than one reply should hold."""
    names = [f"paged-{number}" for number in range(5)]
    for name in names:
        nomad.register(unplaced(name, count=0))
    agent = client_of(proxy.url, SystemClock())
    query = {"prefix": "paged-", "per_page": "2"}
    pages = list(agent.pages("/v1/jobs", query, list[dict[str, Any]], proxied.call()))
    agent.close()
    assert sorted(job["ID"] for page in pages for job in page.entries) == names
    assert proxy.count("/v1/jobs.*next_token=") == 2


def test_few_jobs_are_picked_by_the_server(proxied: LiveAdapter, proxy: Faults, nomad: NomadServer) -> None:
    """A daemon that scales one job of a large cluster does not receive the others."""
    nomad.register(unplaced("picked"))
    proxied.state("picked/work")
    assert proxy.count("filter=.*picked") == proxy.count("/v1/(jobs|deployments|allocations)")


def test_an_id_that_a_filter_cannot_quote_is_found(proxied: LiveAdapter, nomad: NomadServer) -> None:
    """The filter language has no escapes; the adapter then selects from the whole list."""
    nomad.register(unplaced('od"d'))
    assert proxied.state('od"d/work').replicas == 1
