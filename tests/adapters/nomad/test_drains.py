"""Drains of nodes, on a real server with two clients, under the documented policy for drains.

The clients report instances of an imitation of EC2's metadata service.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from autoscaler.errors import TargetError, TargetForbidden, TargetUnavailable
from autoscaler.target import NodeDrain, Phase
from tests.adapters.nomad.conftest import Connect, LiveAdapter
from tests.adapters.nomad.harness import documented_policy
from tests.servers.faults import Fault, Faults, running_faults
from tests.servers.nomad import NomadServer, running_nomad
from tests.servers.nomad_nodes import FAST_HEARTBEATS, Node, running_node
from tests.servers.nomad_web import web_job
from tests.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.slow
LEAVING_SECONDS = 3
LONG = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Cluster:
    """A server and two nodes."""

    server: NomadServer
    first: Node
    second: Node
    folder: Path
    token: Path
    """Of the documented policy."""

    def web(self, job: str, leaving_seconds: float = LEAVING_SECONDS, **further: Any) -> None:
        """Run a job of one allocation on each node."""
        self.server.register(web_job(self.folder, job, count=2, leaving_seconds=leaving_seconds, **further))
        self.server.wait(lambda: self.first.running(job) and self.second.running(job), "allocation on each node")


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("nodes")
    (folder / "server").mkdir()
    with (
        running_nomad(folder / "server", acl=True, further=FAST_HEARTBEATS) as server,
        running_node(server, folder / "first", "i-0a", "10.0.0.1") as first,
        running_node(server, folder / "second", "i-0b", "10.0.0.2") as second,
    ):
        server.ask("POST", "/v1/acl/policy/drains", {"Name": "drains", "Rules": documented_policy(drains=True)})
        token = server.ask("POST", "/v1/acl/token", {"Type": "client", "Policies": ["drains"]})
        (folder / "token").write_text(token["SecretID"])
        yield Cluster(server, first, second, folder, folder / "token")


@pytest.fixture
def cluster(started: Cluster) -> Cluster:
    """No jobs, and no drain of ours: a later drain replaces what Nomad keeps of the last one."""
    for job in started.server.ask("GET", "/v1/jobs"):
        started.server.purge(job["ID"])
    for node in (started.first, started.second):
        started.server.wait(partial(_is_empty, node), f"end of allocations on {node.instance}")
        node.drain(60)
        node.drain(None, mark_eligible=True)
    return started


def _is_empty(node: Node) -> bool:
    return not node.allocations()


class Drainer:
    """One daemon's connection."""

    def __init__(self, live: LiveAdapter) -> None:
        self.live = live

    def step(self, instance: str, address: str, deadline: timedelta = LONG, seconds: float = 20) -> NodeDrain:
        return self.live.adapter.drain_node(instance, {address}, deadline, self.live.call(seconds))

    def of(self, node: Node, deadline: timedelta = LONG) -> NodeDrain:
        return self.step(node.instance, node.address, deadline)

    def warned(self) -> list[str]:
        return [event for level, event, _ in self.live.logger.lines if level == "warning"]


@pytest.fixture
def drainer(connect: Connect, cluster: Cluster) -> Drainer:
    return Drainer(connect(address=cluster.server.url, tokenFile=str(cluster.token)))


@pytest.fixture
def faults(cluster: Cluster) -> Iterator[Faults]:
    """A proxy to the server."""
    with running_faults(cluster.server.url) as proxy:
        yield proxy


@pytest.fixture
def proxied_drainer(connect: Connect, cluster: Cluster, faults: Faults) -> Drainer:
    return Drainer(connect(address=faults.url, tokenFile=str(cluster.token)))


def test_another_caller_follows_a_drain(cluster: Cluster, drainer: Drainer, connect: Connect) -> None:
    """A daemon that was restarted, or takes the shard over, neither restarts the drain nor moves its deadline."""
    cluster.web("followed")
    drainer.of(cluster.first)
    begun = cluster.first.read()["DrainStrategy"]
    other = Drainer(connect(address=cluster.server.url, tokenFile=str(cluster.token)))
    assert other.of(cluster.first, timedelta(seconds=1)) is NodeDrain.DRAINING
    assert cluster.first.read()["DrainStrategy"] == begun
    assert begun["IgnoreSystemJobs"] is False
    assert begun["Deadline"] == LONG.total_seconds() * 10**9


def test_a_drain_of_an_operator_is_neither_shortened_nor_replaced(cluster: Cluster, drainer: Drainer) -> None:
    """It is followed to its end."""
    cluster.web("theirs")
    cluster.first.drain(600, IgnoreSystemJobs=True)
    theirs = cluster.first.read()
    while drainer.of(cluster.first, timedelta(seconds=1)) is NodeDrain.DRAINING:
        now = cluster.first.read()
        assert now["DrainStrategy"] in (theirs["DrainStrategy"], None)
        time.sleep(0.1)
    assert not cluster.first.running("theirs")
    assert cluster.first.read()["LastDrain"]["Meta"] == theirs["LastDrain"]["Meta"]


def test_an_operators_drain_that_has_ended_is_done(cluster: Cluster, drainer: Drainer) -> None:
    """The node is still ineligible, so nothing came to it since."""
    cluster.first.drain(60)
    cluster.server.wait(lambda: cluster.first.read()["DrainStrategy"] is None, "end of the drain")
    before = cluster.first.drains()
    assert drainer.of(cluster.first) is NodeDrain.DONE
    assert cluster.first.drains() == before


def test_a_node_that_takes_work_again_is_drained_again(cluster: Cluster, drainer: Drainer) -> None:
    """An earlier drain says nothing about allocations that came later."""
    cluster.first.drain(60)
    cluster.server.wait(lambda: cluster.first.read()["DrainStrategy"] is None, "end of the drain")
    cluster.server.ask("POST", f"/v1/node/{cluster.first.id}/eligibility", {"Eligibility": "eligible"})
    cluster.web("again")
    assert drainer.of(cluster.first) is NodeDrain.DRAINING
    assert cluster.first.read()["DrainStrategy"] is not None


def test_a_drain_that_ended_at_its_deadline_waits_for_what_it_stopped(cluster: Cluster, drainer: Drainer) -> None:
    """Nomad ends a drain when it tells the last allocations to stop, which then have their kill_timeout."""
    cluster.web("late", Constraints=[{"Operand": "distinct_hosts"}])
    (leaving,) = cluster.first.running("late")
    drainer.of(cluster.first, timedelta(milliseconds=1))
    cluster.server.wait(lambda: cluster.first.read()["DrainStrategy"] is None, "end of the drain")
    assert cluster.first.running("late") == [leaving]
    while (found := drainer.of(cluster.first)) is not NodeDrain.DONE:
        assert found is NodeDrain.DRAINING
        time.sleep(0.1)
    assert not cluster.first.running("late")


def test_a_drain_waits_for_system_jobs(cluster: Cluster, drainer: Drainer) -> None:
    """Nomad stops them last, and ends the drain before they have left."""
    job = web_job(cluster.folder, "logs", count=1, leaving_seconds=LEAVING_SECONDS)
    del job["TaskGroups"][0]["Migrate"]
    cluster.server.register(job | {"Type": "system", "Spreads": None})
    cluster.server.wait(lambda: cluster.first.running("logs"), "allocation")
    while drainer.of(cluster.first) is not NodeDrain.DONE:
        time.sleep(0.1)
    assert not cluster.first.running("logs")
    assert cluster.second.running("logs")


def test_a_drain_that_an_operator_cancels_is_not_begun_again(cluster: Cluster, drainer: Drainer) -> None:
    """The log says so once. The drain is done when nothing is left on the node, or at the daemon's timeout."""
    cluster.web("kept")
    drainer.of(cluster.first)
    cluster.first.drain(None, mark_eligible=True)
    assert [drainer.of(cluster.first) for _ in range(2)] == [NodeDrain.DRAINING] * 2
    assert cluster.first.read()["DrainStrategy"] is None
    assert drainer.warned() == ["node_drain_canceled"]
    cluster.server.purge("kept")
    cluster.server.wait(lambda: not cluster.first.allocations(), "end of the allocations")
    assert drainer.of(cluster.first) is NodeDrain.DONE


@pytest.mark.parametrize(
    ("instance", "address"),
    [("i-0a", "10.0.0.2"), ("i-0b", "10.0.0.1"), ("i-0c", "10.0.0.1"), ('i" or "a', "10.0.0.1")],
)
def test_a_node_with_another_instance_or_address_is_not_drained(
    cluster: Cluster, drainer: Drainer, instance: str, address: str
) -> None:
    """Clients report both by themselves. With only one of them, a client could cause the drain of any node."""
    assert drainer.step(instance, address) is NodeDrain.NO_NODE
    assert cluster.first.read()["DrainStrategy"] is None
    assert cluster.second.read()["DrainStrategy"] is None


def test_a_node_is_also_known_by_the_address_of_its_agent(cluster: Cluster, drainer: Drainer) -> None:
    """Clients with several interfaces may report another one as their own."""
    assert drainer.step("i-0a", "127.0.0.1") is NodeDrain.DRAINING
    assert cluster.first.read()["LastDrain"]["Meta"]["autoscaler_instance"] == "i-0a"


def test_two_nodes_of_one_instance_are_none(cluster: Cluster, drainer: Drainer) -> None:
    """Which one is meant is unknown. The log says so once."""
    with running_node(cluster.server, cluster.folder / "twin", "i-0a", "10.0.0.1") as twin:
        assert [drainer.of(cluster.first) for _ in range(2)] == [NodeDrain.NO_NODE] * 2
        assert drainer.warned() == ["instance_has_several_nodes"]
        assert twin.read()["DrainStrategy"] is cluster.first.read()["DrainStrategy"] is None


def test_a_node_that_is_down_is_done(cluster: Cluster, drainer: Drainer) -> None:
    """Nothing runs there any more."""
    with running_node(cluster.server, cluster.folder / "dying", "i-0d", "10.0.0.4") as dying:
        dying.agent.kill()
        cluster.server.wait(lambda: dying.read()["Status"] == "down", "node that is down")
        assert drainer.of(dying) is NodeDrain.DONE
        assert dying.read()["DrainStrategy"] is None


def test_a_node_that_was_registered_anew_is_drained(cluster: Cluster, drainer: Drainer) -> None:
    """A client that lost its data gets another id, and Nomad keeps the old node, which is down, for a day."""
    with running_node(cluster.server, cluster.folder / "old", "i-0e", "10.0.0.5") as old:
        old.agent.kill()
        cluster.server.wait(lambda: old.read()["Status"] == "down", "node that is down")
        with running_node(cluster.server, cluster.folder / "new", "i-0e", "10.0.0.5") as new:
            assert drainer.of(new) is NodeDrain.DRAINING
            assert new.read()["LastDrain"]["Meta"]["autoscaler_instance"] == "i-0e"


def test_a_node_that_is_gone_at_the_write_is_done(cluster: Cluster, proxied_drainer: Drainer, faults: Faults) -> None:
    """Nomad answers a drain of an unknown node with HTTP 500."""
    faults.faults.append(Fault("POST", 500, "node not found"))
    assert proxied_drainer.of(cluster.first) is NodeDrain.DONE


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (Fault("/v1/nodes", 500, "rot"), TargetUnavailable),
        (Fault("/v1/node/", 200, "[{}]", "application/json"), TargetUnavailable),
        (Fault("/v1/nodes", 200, "{}", "application/json"), TargetUnavailable),
        (Fault("", 403, "Permission denied"), TargetForbidden),
    ],
)
def test_an_answer_that_fails_is_no_missing_node(
    cluster: Cluster, proxied_drainer: Drainer, faults: Faults, fault: Fault, expected: type[TargetError]
) -> None:
    """An instance must not be released because Nomad does not answer."""
    faults.faults.append(fault)
    with pytest.raises(expected):
        proxied_drainer.of(cluster.first)
    assert cluster.first.read()["DrainStrategy"] is None


def test_a_drain_whose_answer_is_lost_is_followed(cluster: Cluster, proxied_drainer: Drainer, faults: Faults) -> None:
    """The write may have arrived; the next call finds out."""
    cluster.web("unanswered")

    def arrived() -> None:
        cluster.first.drain(60)
        raise ConnectionResetError

    faults.faults.append(Fault("POST", first=arrived, times=1))
    with pytest.raises(TargetUnavailable):
        proxied_drainer.of(cluster.first)
    assert proxied_drainer.of(cluster.first) is NodeDrain.DRAINING
    assert faults.count("POST") == 1


def test_a_drain_that_hangs_costs_others_no_more_than_their_time(
    cluster: Cluster, proxied_drainer: Drainer, faults: Faults
) -> None:
    """Each call ends by its own deadline, also one that waits for its turn."""
    release = threading.Event()

    def held() -> None:
        release.wait(PATIENCE_SECONDS)
        raise ConnectionResetError

    faults.faults.append(Fault("/v1/nodes", first=held, times=1))

    def hang() -> None:
        with suppress(TargetError):
            proxied_drainer.of(cluster.first)

    hanging = threading.Thread(target=hang)
    hanging.start()
    cluster.server.wait(lambda: faults.count("/v1/nodes"), "request")
    with pytest.raises(TargetUnavailable):
        proxied_drainer.step("i-0b", "10.0.0.2", seconds=0.3)
    assert hanging.is_alive(), "it waited for the other one"
    release.set()
    hanging.join()


def test_an_allocation_that_migrates_leaves_and_its_replacement_counts(cluster: Cluster, drainer: Drainer) -> None:
    """The size that is asked for does not change, so a drain proposes nothing. The replacement waits for its
    predecessor's end, and is not ready until then.
    """
    cluster.web("counted")
    (leaving,) = cluster.first.running("counted")
    cluster.server.wait(
        lambda: all((one["DeploymentStatus"] or {}).get("Healthy") for one in cluster.server.allocations("counted")),
        "verdict on its health",
    )
    drainer.of(cluster.first)
    state = drainer.live.wait_for(
        "counted/work", lambda seen: any(one.deleting for one in seen.instances), "to have a leaving allocation"
    )
    assert (state.replicas, state.status_replicas) == (2, 2)
    assert [one.name for one in state.instances if one.deleting] == [leaving]
    (fresh,) = (one for one in state.instances if not one.deleting and one.phase is Phase.PENDING)
    assert fresh.ready is False
    drainer.live.wait_for(
        "counted/work", lambda seen: [one.phase for one in seen.instances] == [Phase.RUNNING] * 2, "to be whole"
    )


def test_an_allocation_without_a_place_to_go_still_leaves(cluster: Cluster, drainer: Drainer) -> None:
    """At the deadline Nomad stops it anyway. The message names what is missing."""
    cluster.web("homeless", Constraints=[{"Operand": "distinct_hosts"}])
    drainer.of(cluster.first, timedelta(milliseconds=1))
    state = drainer.live.wait_for("homeless/work", lambda seen: len(seen.warnings) == 1, "to lack a place")
    assert (state.replicas, state.status_replicas) == (2, 1)
    assert state.warnings[0].startswith("1 of 2 allocations are not placed")
