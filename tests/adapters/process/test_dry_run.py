"""A dry run starts, stops and replaces nothing."""

import os
import signal
from typing import Any

import pytest

from adapters.process.records import StateFile
from autoscaler.errors import TargetRefused
from autoscaler.model import TargetRef, TargetState
from tests.adapters.process.conftest import Build
from tests.adapters.process.harness import ProcessHarness, wait_for_end
from tests.servers.ports import free_ports
from tests.waiting import until

pytestmark = pytest.mark.slow

API = TargetRef("local", "api")


def test_a_fresh_pool_reports_its_initial_replicas_and_no_instances(build: Build) -> None:
    """A size of zero would disable scaling, and the dry run would show nothing."""
    harness = build(dry_run=True, initialReplicas=3)
    state = harness.observe()
    assert (state.replicas, state.status_replicas, state.instances) == (3, 0, ())
    assert list(harness.state_dir.iterdir()) == []


def test_a_dead_worker_is_not_replaced(build: Build) -> None:
    """The dry run reports the state and does not change it."""
    harness = build(initialReplicas=2)
    harness.settle(2)
    harness.rebuild(dry_run=True)
    victim = harness.identities()[0]
    os.killpg(victim.pid, signal.SIGKILL)
    wait_for_end(victim)
    state = harness.observe()
    assert (state.replicas, [one.name for one in state.instances]) == (2, ["web-2"])
    assert len(harness.workers()) == 2, "the records are not touched either"


def test_a_dry_run_watches_beside_the_daemon_that_keeps_the_pools(build: Build) -> None:
    """`check --live` and a second configuration see the live daemon's state."""
    live = build()
    live.settle(1)
    watcher = build(dry_run=True)
    live.set_size_outside(2)
    assert watcher.settle(2) == live.settle(2)


@pytest.mark.parametrize("dry", [{"dry_run": True}, {"dry_targets": frozenset({ProcessHarness.target})}])
def test_a_write_is_refused(build: Build, dry: dict[str, Any]) -> None:
    """The actuator does not write in a dry run; the adapter refuses nonetheless."""
    harness = build(**dry)
    state = harness.observe()
    with pytest.raises(TargetRefused, match="dry run"):
        harness.adapter.scale(harness.target, harness.change(state, 2), harness.call())


def test_no_targets_file_is_written(build: Build) -> None:
    """The file would change Prometheus' targets."""
    harness = build(dry_run=True, ports=free_ports(2), targetsFile="nowhere/targets.json")
    assert isinstance(harness.observe(), TargetState)
    assert harness.logger.lines == []


def test_a_dry_pool_beside_a_live_one_is_not_started(build: Build) -> None:
    """An autoscaler's `dryRun: true` has the same effect; the neighbour's pool is kept meanwhile."""
    api = {"command": "sleep 1000", "initialReplicas": 2, "ports": free_ports(2), "targetsFile": "nowhere/api.json"}
    harness = build(others={"api": api}, dry_targets=frozenset({API}))
    harness.settle(1)
    state = _state(harness, API)
    assert (state.replicas, state.status_replicas, state.instances) == (2, 0, ())
    assert set(StateFile(harness.state_dir).load()) == {"web"}, "one that has never run stays so"
    assert not any(level == "error" for level, *_ in harness.logger.lines), "nor is its targets file written"


def test_a_worker_of_a_dry_pool_is_not_replaced_beside_a_live_one(build: Build) -> None:
    """The pool's state is reported and not changed, while the live pool's worker is replaced."""
    harness = build(others={"api": {"command": "sleep 1000", "initialReplicas": 2}})
    harness.settle(1)
    until(lambda: _state(harness, API).status_replicas == 2, "both workers of api")
    harness.rebuild(dry_targets=frozenset({API}))
    pools = StateFile(harness.state_dir).load()
    for victim in (pools["api"].workers[0], pools["web"].workers[0]):
        assert victim.identity is not None
        os.killpg(victim.identity.pid, signal.SIGKILL)
        wait_for_end(victim.identity)
    until(lambda: [one.name for one in harness.observe().instances] == ["web-2"], "the live pool's next worker")
    state = _state(harness, API)
    assert (state.replicas, [one.name for one in state.instances]) == (2, ["api-2"])
    assert StateFile(harness.state_dir).load()["api"] == pools["api"], "the record is not touched either"


def _state(harness: ProcessHarness, target: TargetRef) -> TargetState:
    state = harness.adapter.observe([target], harness.call())[target]
    assert isinstance(state, TargetState)
    return state
