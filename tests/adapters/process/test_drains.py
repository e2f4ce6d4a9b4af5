"""Workers that leave a pool wait for their drain before they are sent SIGTERM."""

import os
import signal

import pytest

from adapters.process.procfs import runs
from autoscaler.model import AwaitingDrain, TargetState, Written
from tests.adapters.process.conftest import Build
from tests.adapters.process.harness import ProcessHarness, wait_for_end
from tests.servers.ports import free_ports
from tests.waiting import until

pytestmark = pytest.mark.slow


def scale_in(harness: ProcessHarness, size: int) -> TargetState:
    """A pool of two that was scaled to this size."""
    change = harness.change(harness.settle(2), size)
    assert harness.adapter.scale(harness.target, change, harness.call()) == Written(size)
    return harness.observe()


def release(harness: ProcessHarness, worker: str) -> None:
    harness.adapter.release(harness.target, worker, harness.call())


def test_a_worker_that_leaves_waits_until_it_is_released(build: Build) -> None:
    """It serves on what it has begun, and counts no longer. Its address is the one that Prometheus has."""
    harness = build(initialReplicas=2, drains=True, ports=free_ports(4))
    state = scale_in(harness, 1)
    (leaving,) = [each for each in harness.workers() if each.stopping]
    assert state.awaiting_drain == (AwaitingDrain("web-2", (f"127.0.0.1:{leaving.port}",)),)
    assert (state.replicas, state.status_replicas) == (1, 1)
    assert leaving.identity is not None
    (staying,) = [each for each in harness.workers() if not each.stopping]
    assert staying.identity is not None
    os.killpg(staying.identity.pid, signal.SIGKILL)
    until(lambda: len(harness.observe().instances) == 1 and staying not in harness.workers(), "the keeper's next tick")
    assert runs(leaving.identity)
    for _ in range(2):
        release(harness, "web-2")
    wait_for_end(leaving.identity)
    assert harness.settle(1).awaiting_drain == ()


def test_a_restart_of_the_daemon_ends_no_wait(build: Build) -> None:
    """The record has the waiting workers and the released ones."""
    harness = build(initialReplicas=2, drains=True)
    scale_in(harness, 0)
    release(harness, "web-1")
    harness.rebuild()
    until(
        lambda: [each.instance for each in harness.observe().awaiting_drain or ()] == ["web-2"], "the other one to wait"
    )
    harness.wait_for(lambda state: len(state.instances) == 1, "to have let the released one go")


def test_a_worker_that_ends_by_itself_is_drained(build: Build) -> None:
    """A program may end when it is told to drain."""
    harness = build(initialReplicas=2, drains=True)
    scale_in(harness, 1)
    (leaving,) = [each for each in harness.workers() if each.stopping]
    assert leaving.identity is not None
    os.killpg(leaving.identity.pid, signal.SIGKILL)
    harness.wait_for(lambda state: not state.awaiting_drain and len(state.instances) == 1, "to be without it")


def test_a_pool_without_a_drain_ends_its_workers_at_once(build: Build) -> None:
    """Also those that waited, once the drain is removed from the configuration."""
    harness = build(initialReplicas=2, drains=True)
    assert len(scale_in(harness, 1).awaiting_drain or ()) == 1
    harness.drains = False
    harness.rebuild()
    harness.wait_for(lambda state: len(state.instances) == 1, "to end the worker")
    assert harness.observe().awaiting_drain == ()
