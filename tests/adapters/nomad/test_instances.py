"""Allocations as instances, on a real agent."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from autoscaler.model import Hold, Phase
from tests.adapters.nomad.conftest import LiveAdapter
from tests.servers.nomad import NomadServer, deployed, service

pytestmark = pytest.mark.slow
_MIB = 2**20


def test_an_allocation_is_known_by_everything_a_label_may_say(direct: LiveAdapter, nomad: NomadServer) -> None:
    """Nomad's metrics have alloc_id, service discovery has an address, people use the short id."""
    nomad.register(service("named", group={"Networks": [{"DynamicPorts": [{"Label": "http"}]}]}))
    state = direct.wait_for("named/work", lambda seen: seen.status_replicas == 1, "to have an allocation")
    (stub,) = nomad.allocations("named")
    raw = nomad.ask("GET", f"/v1/allocation/{stub['ID']}")
    port = raw["AllocatedResources"]["Shared"]["Ports"][0]["Value"]
    (instance,) = state.instances
    assert instance.name == stub["ID"]
    assert instance.identities == {
        stub["ID"],
        stub["ID"][:8],
        "named.work[0]",
        stub["NodeName"],
        "127.0.0.1",
        f"127.0.0.1:{port}",
    }


def test_reservations_are_those_of_what_lasts(direct: LiveAdapter, nomad: NomadServer) -> None:
    """MHz and bytes, in thousandths. A prestart task has ended when load arrives, a sidecar has not."""
    job = service("reserved")
    (main,) = job["TaskGroups"][0]["Tasks"]

    def beside(name: str, *, sidecar: bool, command: str) -> dict[str, Any]:
        config = {"command": "/bin/sh", "args": ["-c", command]}
        return {**main, "Name": name, "Config": config, "Lifecycle": {"Hook": "prestart", "Sidecar": sidecar}}

    job["TaskGroups"][0]["Tasks"] += [
        beside("init", sidecar=False, command="exit 0"),
        beside("proxy", sidecar=True, command="exec sleep 3600"),
    ]
    nomad.register(job)
    state = direct.wait_for("reserved/work", lambda seen: seen.status_replicas == 1, "to have an allocation")
    (instance,) = state.instances
    one = {"cpu_mhz": 20_000, "memory": 10 * _MIB * 1000}
    assert instance.container_requests == {"main": one, "init": one, "proxy": one}
    assert instance.requests == {"cpu_mhz": 40_000, "memory": 20 * _MIB * 1000}


def test_running_without_a_deployment_knows_no_health(direct: LiveAdapter, nomad: NomadServer) -> None:
    """None counts as ready: no later verdict comes."""
    before = datetime.now(UTC)
    nomad.register(service("plain"))
    state = direct.wait_for("plain/work", lambda seen: [one.phase for one in seen.instances] == [Phase.RUNNING], "up")
    (instance,) = state.instances
    assert (instance.ready, instance.ready_transition, instance.detail) == (None, None, "")
    assert instance.started_at is not None
    assert before - timedelta(seconds=1) <= instance.started_at <= datetime.now(UTC)


def test_an_allocation_without_a_verdict_of_its_deployment_is_not_ready(
    direct: LiveAdapter, nomad: NomadServer
) -> None:
    """Its `min_healthy_time` is Nomad's readiness probe; then the verdict's time is the transition."""
    nomad.register(service("judged", Update=deployed(MinHealthyTime=2 * 10**9)))
    waiting = direct.wait_for("judged/work", lambda seen: any(i.phase is Phase.RUNNING for i in seen.instances), "up")
    assert [one.ready for one in waiting.instances] == [False]
    assert "healthy yet" in waiting.instances[0].detail
    state = direct.wait_for("judged/work", lambda seen: seen.hold == Hold(), "to be free")
    (instance,) = state.instances
    assert instance.ready is True
    assert instance.started_at is not None
    assert instance.ready_transition is not None
    assert instance.ready_transition >= instance.started_at + timedelta(seconds=2)


def test_allocations_from_before_a_deployment_stay_ready_in_it(direct: LiveAdapter, nomad: NomadServer) -> None:
    """A new count takes every allocation into a new deployment; meanwhile the old ones carry the load."""
    nomad.register(service("veteran", Update=deployed()))
    nomad.wait(lambda: nomad.ask("GET", "/v1/job/veteran/deployments"), "deployment")
    first = direct.wait_for("veteran/work", lambda seen: seen.hold == Hold(), "to be free").instances[0].name
    nomad.scale("veteran", "work", 2)
    state = direct.wait_for("veteran/work", lambda seen: len(seen.instances) == 2, "to have two allocations")
    assert {one.name: one.ready for one in state.instances}[first] is not False
    assert [one.ready for one in state.instances if one.name != first] == [False]


def test_an_allocation_that_is_told_to_stop_is_deleting(direct: LiveAdapter, nomad: NomadServer) -> None:
    """Its samples are those of a leaving worker, and it does not count."""
    stubborn = {"KillTimeout": 5 * 10**9}
    nomad.register(service("leaving", count=2, command="trap '' INT TERM; sleep 1000 & wait; wait", task=stubborn))
    direct.wait_for("leaving/work", lambda seen: [i.phase for i in seen.instances] == [Phase.RUNNING] * 2, "up")
    nomad.scale("leaving", "work", 1)
    state = direct.wait_for("leaving/work", lambda seen: any(one.deleting for one in seen.instances), "to leave")
    assert (state.replicas, state.status_replicas, len(state.instances)) == (1, 1, 2)
    direct.wait_for("leaving/work", lambda seen: len(seen.instances) == 1, "to be rid of it")


def test_a_failed_allocation_says_why_until_it_is_replaced(direct: LiveAdapter, nomad: NomadServer) -> None:
    """It exists and serves nothing, like a failed pod."""
    never = {"ReschedulePolicy": {"Attempts": 0, "Unlimited": False, "Interval": 10**9}}
    nomad.register(service("failing", command="exit 3", group=never))
    state = direct.wait_for("failing/work", lambda seen: any(i.phase is Phase.FAILED for i in seen.instances), "to end")
    (instance,) = state.instances
    assert (instance.ready, instance.deleting, state.status_replicas, state.replicas) == (False, False, 0, 1)
    assert "task main: " in instance.detail


def test_an_allocation_that_cannot_start_is_pending_with_a_reason(direct: LiveAdapter, nomad: NomadServer) -> None:
    """A task that restarts with a delay is pending meanwhile."""
    task = {"RestartPolicy": {"Attempts": 100, "Mode": "delay", "Interval": 3600 * 10**9, "Delay": 60 * 10**9}}
    nomad.register(service("waiting", command="exit 1", task=task))
    state = direct.wait_for("waiting/work", lambda seen: "restart" in str(seen.instances).lower(), "to restart")
    (instance,) = state.instances
    assert (instance.phase, instance.ready) == (Phase.PENDING, False)
    assert "task main: " in instance.detail
    nomad.purge("waiting")


def test_allocations_that_ended_well_are_gone(direct: LiveAdapter, nomad: NomadServer) -> None:
    """Nomad lists them until they are collected."""
    nomad.register(service("ended", count=2))
    direct.wait_for("ended/work", lambda seen: seen.status_replicas == 2, "up")
    nomad.scale("ended", "work", 0)
    state = direct.wait_for("ended/work", lambda seen: not seen.instances, "to be empty")
    assert (state.replicas, state.status_replicas) == (0, 0)
    assert len(nomad.allocations("ended")) == 2
