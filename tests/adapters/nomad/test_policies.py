"""The scaling policies of jobs are discovered on a real agent. test_security.py has the rights that this needs."""

from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import quote

import pytest

from autoscaler.errors import TargetError, TargetNotFound, TargetUnavailable
from autoscaler.model import ScaleChange, TargetRef, TargetState, Written
from tests.adapters.nomad.conftest import Connect, LiveAdapter
from tests.adapters.nomad.harness import with_policy
from tests.servers.faults import Fault, Faults
from tests.servers.nomad import NomadServer, service

pytestmark = pytest.mark.slow


def discover(live: LiveAdapter, known: Collection[TargetRef] = (), *namespaces: str) -> Mapping[str, Any]:
    """Return name of a target -> its policy or error."""
    found = live.adapter.discover(namespaces or ["default"], known, live.call())
    assert not found.failures
    return {target.name: policy for target, policy in found.policies.items()}


def target_value(policy: Any) -> Any:
    """Return the target of the policy's check."""
    return policy["Policy"]["check"][0]["load"][0]["strategy"][0]["target-value"][0]["target"]


def ref(live: LiveAdapter, job: str) -> TargetRef:
    return live.ref(f"{job}/work", namespace="default")


def test_the_policy_of_a_group_is_found(direct: LiveAdapter, nomad: NomadServer) -> None:
    """The list has stubs; the policy has what `autoscaler import` reads."""
    nomad.register(with_policy("found"))
    policy = discover(direct)["found/work"]
    assert target_value(policy) == 10
    assert (policy["Min"], policy["Max"], policy["Enabled"]) == (0, 9, True)
    assert policy["Target"] == {"Namespace": "default", "Job": "found", "Group": "work"}


def test_a_group_with_a_slash_is_scaled(direct: LiveAdapter, nomad: NomadServer) -> None:
    """Job and group stay apart from the policy to the request, also in a job whose id has a slash."""
    for job, group in (("api", "v1/web"), ("api/v1", "web")):
        raw = with_policy(job)
        raw["TaskGroups"][0]["Name"] = group
        nomad.register(raw)
    found = direct.adapter.discover(["default"], [], direct.call()).policies
    targets = {target.parts: target for target in found if target.name == "api/v1/web"}
    assert targets.keys() == {("api", "v1/web"), ("api/v1", "web")}
    states = direct.adapter.observe([*targets.values()], direct.call())
    for number, (parts, target) in enumerate(targets.items(), 1):
        state = states[target]
        assert isinstance(state, TargetState), state
        change = ScaleChange(f"test-{number}", number, state.replicas, state.revision, "test")
        assert direct.adapter.scale(target, change, direct.call()) == Written(number)
        counts = nomad.ask("GET", f"/v1/job/{quote(parts[0], safe='')}")["TaskGroups"]
        assert [(each["Name"], each["Count"]) for each in counts] == [(parts[1], number)]
    nomad.purge("api")
    known = direct.adapter.discover(["default"], [*targets.values()], direct.call()).policies
    assert isinstance(known[targets["api", "v1/web"]], TargetNotFound)
    assert target_value(known[targets["api/v1", "web"]]) == 10


def test_only_new_and_changed_policies_are_read(nomad: NomadServer, proxied: LiveAdapter, proxy: Faults) -> None:
    """A round without changes is one request for each namespace, however many policies there are."""
    nomad.register(with_policy("kept"))
    nomad.register(with_policy("changed"))
    before = discover(proxied)
    asked = proxy.count()
    assert discover(proxied)["kept/work"] is before["kept/work"]
    assert proxy.count() == asked + 1
    nomad.register(with_policy("changed", 20))
    after = discover(proxied)
    assert target_value(after["changed/work"]) == 20
    assert after["kept/work"] is before["kept/work"]
    assert proxy.count() == asked + 3


def test_a_job_that_is_gone_has_no_policy(direct: LiveAdapter, nomad: NomadServer) -> None:
    """Its own 404 says so, not the list without it."""
    nomad.register(with_policy("purged"))
    assert "purged/work" in discover(direct)
    nomad.purge("purged")
    assert isinstance(discover(direct, [ref(direct, "purged")])["purged/work"], TargetNotFound)


def test_a_block_that_was_removed_is_gone(direct: LiveAdapter, nomad: NomadServer) -> None:
    """The job stays."""
    nomad.register(with_policy("plain"))
    assert "plain/work" in discover(direct)
    nomad.register(service("plain", count=0))
    assert isinstance(discover(direct, [ref(direct, "plain")])["plain/work"], TargetNotFound)


def test_a_block_with_bounds_alone_is_no_policy(direct: LiveAdapter, nomad: NomadServer) -> None:
    """It bounds what others set; the Nomad Autoscaler does not act on it either."""
    nomad.register(service("bounded", count=0, group={"Scaling": {"Min": 0, "Max": 4, "Enabled": True}}))
    assert isinstance(discover(direct)["bounded/work"], TargetNotFound)


def test_a_stopped_job_keeps_its_policy(direct: LiveAdapter, nomad: NomadServer) -> None:
    """Its target says that it is stopped, and it may be started again."""
    nomad.register(with_policy("stopped"))
    assert "stopped/work" in discover(direct)
    nomad.ask("DELETE", "/v1/job/stopped")
    assert target_value(discover(direct, [ref(direct, "stopped")])["stopped/work"]) == 10


def test_an_empty_list_removes_nothing(nomad: NomadServer, proxied: LiveAdapter, proxy: Faults) -> None:
    """Every known target's job is asked for its policy."""
    nomad.register(with_policy("listed"))
    before = discover(proxied)["listed/work"]
    proxy.faults.append(Fault("/v1/scaling/policies", 200, "[]"))
    assert target_value(discover(proxied, [ref(proxied, "listed")])["listed/work"]) == target_value(before)


def test_the_404_of_a_proxy_is_not_a_missing_job(nomad: NomadServer, proxied: LiveAdapter, proxy: Faults) -> None:
    """Only Nomad's own text counts."""
    nomad.register(with_policy("routed"))
    proxy.faults += [Fault("/v1/scaling/policies", 200, "[]"), Fault("/v1/job/", 404, "404 page not found")]
    error = discover(proxied, [ref(proxied, "routed")])["routed/work"]
    assert isinstance(error, TargetUnavailable)
    assert "page not found" in str(error)


@pytest.mark.parametrize("answer", ["[1, ", "{}", "<html>"])
def test_a_list_that_is_not_understood_is_a_failure(proxied: LiveAdapter, proxy: Faults, answer: str) -> None:
    """Then nothing is known of its namespace, and its targets are not answered for."""
    proxy.faults.append(Fault("/v1/scaling/policies", 200, answer))
    found = proxied.adapter.discover(["default"], [ref(proxied, "any")], proxied.call())
    assert found.policies == {}
    assert isinstance(found.failures["default"], TargetUnavailable)


def test_a_policy_that_cannot_be_read_fails_alone(nomad: NomadServer, proxied: LiveAdapter, proxy: Faults) -> None:
    """The next call reads it again, and only it."""
    for job in ("whole", "broken"):
        nomad.register(with_policy(job))
    stubs = nomad.ask("GET", "/v1/scaling/policies")
    broken = next(one["ID"] for one in stubs if one["Target"]["Job"] == "broken")
    proxy.faults.append(Fault(f"/v1/scaling/policy/{broken}", 500, "rot"))
    found = discover(proxied)
    assert isinstance(found["broken/work"], TargetError)
    assert target_value(found["whole/work"]) == 10
    proxy.faults.clear()
    asked = proxy.count()
    assert target_value(discover(proxied)["broken/work"]) == 10
    assert proxy.count() == asked + 2


def test_namespaces_are_listed_by_name(connect: Connect, nomad: NomadServer) -> None:
    """One that is not asked for is not discovered."""
    for name in ("shop", "other"):
        nomad.ask("POST", f"/v1/namespace/{name}", {"Name": name})
        nomad.register(with_policy(f"of-{name}", Namespace=name))
    live = connect(address=nomad.url)
    found = live.adapter.discover(["shop"], [], live.call()).policies
    assert [(target.namespace, target.name) for target in found] == [("shop", "of-shop/work")]
