"""Behaviour of Nomad that affects scaling, on a real agent, one for each test."""

from typing import Any

import pytest

from autoscaler.errors import TargetError, TargetNotFound, TargetNotScalable, TargetRefused
from autoscaler.model import Conflict, Held, Hold, Limits, Written
from tests.adapters.nomad.conftest import LiveAdapter
from tests.servers.faults import Fault, Faults
from tests.servers.nomad import NomadServer, deployed, service, unplaced

pytestmark = pytest.mark.slow


def _scaling(minimum: int, maximum: int, **further: Any) -> dict[str, Any]:
    return {"Scaling": {"Min": minimum, "Max": maximum, "Enabled": True, **further}}


def test_an_active_deployment_holds_both_directions(direct: LiveAdapter, nomad: NomadServer) -> None:
    """Every count change of such a job creates a deployment, and Nomad refuses the next change until it ends."""
    nomad.register(service("hold", Update=deployed(MinHealthyTime=3 * 10**9)))
    state = direct.wait_for("hold/work", lambda seen: seen.hold != Hold(), "to be held")
    assert state.hold.scale_out == state.hold.scale_in
    assert state.hold.scale_out is not None
    assert state.hold.scale_out.reason == "DeploymentActive"
    assert "hold" in state.hold.scale_out.message
    free = direct.wait_for("hold/work", lambda seen: seen.hold == Hold(), "to be free")
    assert direct.scale("hold/work", free, 2) == Written(2)
    direct.wait_for("hold/work", lambda seen: seen.hold != Hold(), "to be held by our own write")


def test_scaling_blocked_due_to_an_active_deployment_is_held(
    proxied: LiveAdapter, proxy: Faults, nomad: NomadServer
) -> None:
    """A deployment that begins between the read and the write causes no failure and no cooldown."""
    nomad.register(service("blocked"))
    seen = proxied.wait_for("blocked/work", lambda state: state.status_replicas == 1, "to have an allocation")

    def begin_deployment() -> None:
        nomad.register(service("blocked", command="exec sleep 7200", Update=deployed(MinHealthyTime=20 * 10**9)))
        nomad.wait(lambda: nomad.deploying("blocked"), "deployment")

    proxy.faults.append(Fault("POST .*/scale", first=begin_deployment, times=1))
    outcome = proxied.scale("blocked/work", seen, 3)
    assert isinstance(outcome, Held)
    assert outcome.hold.reason == "DeploymentActive"
    nomad.purge("blocked")


def test_a_conflicting_job_modify_index_is_a_conflict(proxied: LiveAdapter, proxy: Faults, nomad: NomadServer) -> None:
    """Nomad answers HTTP 500. Another client scaled between the read and the write, and its size stays."""
    nomad.register(unplaced("race"))
    seen = proxied.state("race/work")
    proxy.faults.append(Fault("POST .*/scale", first=lambda: nomad.scale("race", "work", 2), times=1))
    outcome = proxied.scale("race/work", seen, 3)
    assert isinstance(outcome, Conflict)
    assert proxied.state("race/work").replicas == 2


def test_the_scaling_min_and_max_are_the_targets_limits(direct: LiveAdapter, nomad: NomadServer) -> None:
    """They narrow the autoscaler's bounds, so that no refused write is tried."""
    nomad.register(unplaced("bounded", group=_scaling(1, 8)))
    limits = direct.state("bounded/work").limits
    assert (limits.minimum, limits.maximum) == (1, 8)
    assert "scaling block" in limits.source
    nomad.register(unplaced("boundless"))
    assert direct.state("boundless/work").limits == Limits()


@pytest.mark.parametrize(("size", "number"), [(9, "9 > 8"), (0, "0 < 1")])
def test_a_count_outside_the_scaling_min_and_max_is_refused(
    direct: LiveAdapter, nomad: NomadServer, size: int, number: str
) -> None:
    """Limits were narrowed since the observation: the refusal has both numbers."""
    nomad.register(unplaced("refusing", group=_scaling(1, 8)))
    outcome = direct.scale("refusing/work", direct.state("refusing/work"), size)
    assert isinstance(outcome, TargetRefused)
    assert number in str(outcome)
    assert direct.state("refusing/work").replicas == 1


def test_a_group_that_does_not_exist_is_not_found(direct: LiveAdapter, nomad: NomadServer) -> None:
    """The message lists the groups."""
    nomad.register(unplaced("grouped"))
    found = direct.look("grouped/wrok")
    assert isinstance(found, TargetNotFound)
    assert "work" in str(found)


def test_a_stopped_job_is_not_scalable(direct: LiveAdapter, nomad: NomadServer) -> None:
    """Nomad accepts a new count with 200 and starts nothing."""
    nomad.register(unplaced("stopped"))
    seen = direct.state("stopped/work")
    nomad.ask("DELETE", "/v1/job/stopped")
    found, outcome = direct.look("stopped/work"), direct.scale("stopped/work", seen, 3)
    for refused in (found, outcome):
        assert isinstance(refused, TargetNotScalable)
        assert "stopped" in str(refused)
    assert nomad.ask("GET", "/v1/job/stopped")["TaskGroups"][0]["Count"] == 1


_KINDS: dict[str, dict[str, Any]] = {
    "sysbatch": {"Type": "sysbatch"},
    "periodic": {"Type": "batch", "Periodic": {"Enabled": True, "SpecType": "cron", "Spec": "0 0 1 1 *"}},
    "parameterized": {"Type": "batch", "ParameterizedJob": {"Payload": "optional"}},
}


@pytest.mark.parametrize("kind", _KINDS)
def test_jobs_without_a_count_to_set_are_not_scalable(direct: LiveAdapter, nomad: NomadServer, kind: str) -> None:
    """They fail alone, with the reason; other jobs of the connection are not affected."""
    name = f"kind-{kind}"
    job = unplaced(name, **_KINDS[kind])
    del job["Update"]
    nomad.register(job)
    nomad.register(unplaced("beside"))
    refused, beside = direct.observe(f"{name}/work", "beside/work").values()
    assert isinstance(refused, TargetNotScalable)
    assert kind in str(refused)
    assert not isinstance(beside, TargetError)


def test_a_region_that_does_not_exist_is_not_found(direct: LiveAdapter, nomad: NomadServer) -> None:
    """Nomad answers HTTP 500 "No path to region". A retry does not help, and other regions continue."""
    nomad.register(unplaced("regional"))
    here, nowhere = direct.ref("regional/work", region="global"), direct.ref("regional/work", region="nowhere")
    answer = direct.adapter.observe([here, nowhere], direct.call())
    assert isinstance(answer[nowhere], TargetNotFound)
    assert "region" in str(answer[nowhere])
    assert not isinstance(answer[here], TargetError)


def test_the_same_job_in_two_namespaces_is_two_targets(direct: LiveAdapter, nomad: NomadServer) -> None:
    """A request without its namespace would scale the job in `default`."""
    nomad.ask("POST", "/v1/namespace/other", {"Name": "other"})
    nomad.register(unplaced("twin"))
    nomad.register(unplaced("twin", count=2, Namespace="other"))
    here, there = direct.ref("twin/work"), direct.ref("twin/work", namespace="other")
    answer = direct.adapter.observe([here, there], direct.call())
    assert [getattr(answer[one], "replicas", None) for one in (here, there)] == [1, 2]
    seen = direct.state("twin/work", namespace="other")
    assert direct.scale("twin/work", seen, 3, namespace="other") == Written(3)
    assert direct.state("twin/work").replicas == 1


def test_a_policy_in_the_scaling_stanza_is_a_warning(direct: LiveAdapter, nomad: NomadServer) -> None:
    """Two autoscalers of one group overwrite each other's counts."""
    nomad.register(unplaced("policy", group=_scaling(1, 8, Policy={"cooldown": "1m"})))
    assert any("Nomad Autoscaler" in warning for warning in direct.state("policy/work").warnings)
    nomad.register(unplaced("no-policy", group=_scaling(1, 8)))
    assert not any("Nomad Autoscaler" in warning for warning in direct.state("no-policy/work").warnings)


def test_a_job_whose_id_holds_a_slash_is_found(direct: LiveAdapter, nomad: NomadServer) -> None:
    """The name is split at the last slash, and paths quote the id."""
    nomad.register(unplaced("team/web"))
    seen = direct.state("team/web/work")
    assert direct.scale("team/web/work", seen, 2) == Written(2)
    assert direct.state("team/web/work").replicas == 2


def test_canaries_do_not_count(direct: LiveAdapter, nomad: NomadServer) -> None:
    """They run in addition to the count until they are promoted."""
    nomad.register(service("canary", Update=deployed(Canary=1)))
    nomad.wait(lambda: nomad.ask("GET", "/v1/job/canary/deployments"), "deployment")
    direct.wait_for("canary/work", lambda seen: seen.hold == Hold(), "to be free")
    nomad.register(service("canary", command="exec sleep 7200", Update=deployed(Canary=1)))
    nomad.wait(lambda: len([a for a in nomad.allocations("canary") if a["ClientStatus"] == "running"]) == 2, "canary")
    state = direct.state("canary/work")
    assert (state.replicas, state.status_replicas, len(state.instances)) == (1, 1, 1)
    assert state.hold.scale_out is not None


def test_unhealthy_is_not_ready(direct: LiveAdapter, nomad: NomadServer) -> None:
    """The instance has the deployment's verdict and its time."""
    failing = deployed(HealthyDeadline=10**9, ProgressDeadline=2 * 10**9, MinHealthyTime=9 * 10**8)
    task = {"RestartPolicy": {"Attempts": 100, "Mode": "delay", "Interval": 3600 * 10**9, "Delay": 10**8}}
    nomad.register(service("sick", command="sleep 0.3; exit 1", task=task, Update=failing))

    def judged() -> Any:
        return next((one for one in direct.state("sick/work").instances if one.ready_transition), None)

    instance = nomad.wait(judged, "verdict")
    assert instance.ready is False
    nomad.purge("sick")


def test_a_collected_deployment_is_none(direct: LiveAdapter, nomad: NomadServer) -> None:
    """Garbage collection removes ended deployments, which is neither a hold nor an error."""
    nomad.register(service("collected", Update=deployed()))
    nomad.wait(lambda: nomad.ask("GET", "/v1/job/collected/deployments"), "deployment")
    nomad.wait(lambda: not nomad.deploying("collected"), "end of the deployment")
    nomad.ask("PUT", "/v1/system/gc")
    assert direct.state("collected/work").hold == Hold()


def test_a_deployment_of_a_purged_job_holds_no_target(direct: LiveAdapter, nomad: NomadServer) -> None:
    """The same id registered again is another job."""
    nomad.register(service("reborn", Update=deployed(MinHealthyTime=60 * 10**9)))
    nomad.wait(lambda: nomad.deploying("reborn"), "deployment")
    nomad.purge("reborn")
    nomad.register(service("reborn"))
    assert direct.state("reborn/work").hold == Hold()


def test_two_groups_of_one_job_are_scaled_in_one_cycle(direct: LiveAdapter, nomad: NomadServer) -> None:
    """The first write changes the job's index; for the second, that is not an outside change."""
    job = unplaced("pair")
    job["TaskGroups"].append({**job["TaskGroups"][0], "Name": "other"})
    nomad.register(job)
    seen = {name: direct.state(name) for name in ("pair/work", "pair/other")}
    assert [direct.scale(name, state, 2) for name, state in seen.items()] == [Written(2), Written(2)]


def test_an_outside_change_to_a_sibling_group_is_a_conflict(direct: LiveAdapter, nomad: NomadServer) -> None:
    """Another client's change must be observed first."""
    job = unplaced("siblings")
    job["TaskGroups"].append({**job["TaskGroups"][0], "Name": "other"})
    nomad.register(job)
    seen = direct.state("siblings/work")
    nomad.scale("siblings", "other", 2)
    assert isinstance(direct.scale("siblings/work", seen, 2), Conflict)
    assert direct.state("siblings/work").replicas == 1


def test_the_reason_is_kept_with_the_scaling_event(direct: LiveAdapter, nomad: NomadServer) -> None:
    """`nomad job scaling-events` and the web UI show the reason."""
    nomad.register(unplaced("told"))
    assert direct.scale("told/work", direct.state("told/work"), 2) == Written(2)
    event = nomad.ask("GET", "/v1/job/told/scale")["TaskGroups"]["work"]["Events"][0]
    assert (event["Count"], event["Message"], event["Error"]) == (2, "cpu 90% against 60%", False)


def test_unplaced_allocations_are_a_warning(direct: LiveAdapter, nomad: NomadServer) -> None:
    """The operator learns that the cluster lacks capacity."""
    nomad.register(unplaced("homeless", count=2))
    state = direct.wait_for("homeless/work", lambda seen: bool(seen.warnings), "to be warned of")
    assert "2 of 2 allocations are not placed" in state.warnings[0]
    assert (state.replicas, state.status_replicas, state.instances) == (2, 0, ())
