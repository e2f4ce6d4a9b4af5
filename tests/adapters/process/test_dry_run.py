"""A dry run starts, stops and replaces nothing."""

import os
import signal

import pytest

from autoscaler.errors import TargetRefused
from autoscaler.model import TargetState
from tests.adapters.process.conftest import Build
from tests.adapters.process.harness import free_ports, wait_for_end

pytestmark = pytest.mark.slow


def test_a_fresh_pool_reports_its_initial_replicas_and_no_instances(build: Build) -> None:
    """A size of zero would mean ScalingDisabled, and the dry run would show nothing."""
    harness = build(dry_run=True, initialReplicas=3)
    state = harness.observe()
    assert (state.replicas, state.status_replicas, state.instances) == (3, 0, ())
    assert list(harness.state_dir.iterdir()) == []


def test_a_dead_worker_is_not_replaced(build: Build) -> None:
    """What is seen is true, and stays as it is."""
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
    """`check --live` and a shadow configuration see what the live daemon does."""
    live = build()
    live.settle(1)
    watcher = build(dry_run=True)
    live.set_size_outside(2)
    assert watcher.settle(2) == live.settle(2)


def test_a_write_is_refused(build: Build) -> None:
    """The actuator never asks; should it ever, nothing happens."""
    harness = build(dry_run=True)
    state = harness.observe()
    with pytest.raises(TargetRefused, match="dry run"):
        harness.adapter.scale(harness.target, harness.change(state, 2), harness.call())


def test_no_targets_file_is_written(build: Build) -> None:
    """It would change what Prometheus scrapes."""
    harness = build(dry_run=True, ports=free_ports(2), targetsFile="nowhere/targets.json")
    assert isinstance(harness.observe(), TargetState)
    assert harness.logger.lines == []
