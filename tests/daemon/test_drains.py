"""Drains of a real daemon on the extended AWS server survive kills, reloads and takeovers."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.draining import KEYS, DrainedGroup
from tests.daemon.hosts import QUICK, Hosts
from tests.daemon.running import RunningDaemon, finished, running_daemon
from tests.servers.aws import running_aws

pytestmark = pytest.mark.slow


@pytest.fixture
def group(folder: Path) -> Iterator[DrainedGroup]:
    with running_aws() as server:
        made = DrainedGroup(server, folder)
        made.create()
        yield made


def ask(daemon: RunningDaemon, folder: Path, word: str) -> str:
    """Run a command about `web`. Returns its output as one line."""
    done = finished([sys.executable, "-m", "autoscaler", word, "web", "--server", daemon.url], folder)
    assert done.returncode == 0, done.stderr
    return " ".join(done.stdout.split())


def scale_in(daemon: RunningDaemon, group: DrainedGroup) -> str:
    """Reduce the size from two to one. Returns the instance whose drain has begun."""
    daemon.wait_for("ready")
    group.configure(1)
    daemon.reload()
    daemon.until(lambda: bool(group.attempts), "a drain to begin")
    (one,) = group.waiting
    assert group.attempts[0] == one
    return one


def test_a_drain_survives_a_killed_daemon(group: DrainedGroup, folder: Path) -> None:
    """The next daemon continues it, and releases the instance only when it is drained. Commands show it."""
    config = group.configure(2)
    with running_daemon(config, env=KEYS) as first:
        one = scale_in(first, group)
        first.until(lambda: 'autoscaler_drains{autoscaler="web"} 1.0' in first.metrics(), "the metric")
        first.process.kill()
    with running_daemon(config, env=KEYS) as second:
        second.until(lambda: len(group.attempts) >= 2, "another attempt")
        assert group.waiting == [one]
        assert group.server.count("RecordLifecycleActionHeartbeat") >= 1
        second.until(lambda: "drains by command for" in ask(second, folder, "describe"), "describe to show the drain")
        group.allow()
        second.until(lambda: group.states.keys() == {*group.states} - {one}, "the instance to end")
        second.until(lambda: _outcomes(second) == {"done": 1.0, "timeout": 0.0, "gone": 0.0}, "its end to be counted")
        events = ask(second, folder, "events")
        assert "DrainBegan" in events
        assert f"instance {one} is drained and was let go" in events
        assert second.stop() == 0


def test_a_reload_in_the_middle_of_a_drain_changes_its_command(group: DrainedGroup) -> None:
    """Its action failed. The repaired one ends the drain, which began once."""
    with running_daemon(group.configure(1, command=["/bin/false"]), env=KEYS) as daemon:
        daemon.wait_for("drain_goes_on", detail="/bin/false exited with 1")
        (one,) = group.waiting
        group.configure(1, command=["/bin/true"])
        daemon.reload()
        daemon.until(lambda: one not in group.states, "the instance to end")
        daemon.until(lambda: _outcomes(daemon)["done"] == 1.0, "its end to be counted")
        assert daemon.stop() == 0


def test_an_instance_is_released_at_the_timeout_of_its_drain(group: DrainedGroup) -> None:
    """Its neighbour, which another client ended, is drained, too."""
    with running_daemon(group.configure(2, timeout="4s"), env=KEYS) as daemon:
        daemon.wait_for("decision", autoscaler="web", current=2)
        cloud = group.server.client("autoscaling")
        one, other = group.states
        for each in (one, other):
            cloud.terminate_instance_in_auto_scaling_group(InstanceId=each, ShouldDecrementDesiredCapacity=False)
        group.allow(other)
        daemon.until(lambda: other not in group.states, "the drained one to end")
        daemon.until(lambda: one not in group.states, "the other one to end")
        daemon.until(lambda: _outcomes(daemon) == {"done": 1.0, "timeout": 1.0, "gone": 0.0}, "both to be counted")
        assert daemon.stop() == 0


def test_another_daemon_continues_a_drain(group: DrainedGroup, hosts: Hosts) -> None:
    """A standby leads when the leader dies. The shared state has the memory of the drain."""
    hosts.env = KEYS
    scaler: dict[str, Any] = {"maxReplicas": 2, "drain": group.drain()}
    first = hosts.start("vm1", QUICK, names=["web"], adapters=group.adapters, **scaler)
    first.daemon.wait_for("decision", autoscaler="web", current=2)
    cloud = group.server.client("autoscaling")
    one = next(iter(group.states))
    cloud.terminate_instance_in_auto_scaling_group(InstanceId=one, ShouldDecrementDesiredCapacity=False)
    first.daemon.until(lambda: bool(group.attempts), "a drain to begin")
    second = hosts.start("vm2", QUICK, names=["web"], adapters=group.adapters, **scaler)
    first.daemon.process.kill()
    second.daemon.until(lambda: len(group.attempts) >= 2, "the other daemon to go on")
    assert one in group.waiting
    group.allow()
    second.daemon.until(lambda: one not in group.states, "the instance to end")
    second.daemon.until(lambda: _outcomes(second.daemon)["done"] == 1.0, "its end to be counted")


def test_a_group_without_a_hook_is_held(group: DrainedGroup, folder: Path) -> None:
    """The condition shows it, as for any other hold."""
    group.server.client("autoscaling").delete_lifecycle_hook(AutoScalingGroupName="web", LifecycleHookName="leave")
    with running_daemon(group.configure(1), env=KEYS) as daemon:
        daemon.wait_for("decision", autoscaler="web", reason="DrainHookMissing", current=2, desired=1, written=None)
        said = ask(daemon, folder, "explain")
        assert "it has no lifecycle hook" in said
        assert daemon.stop() == 0


def _outcomes(daemon: RunningDaemon) -> dict[str, float]:
    beginning = 'autoscaler_drains_ended_total{autoscaler="web",outcome="'
    lines = [line for line in daemon.metrics().splitlines() if line.startswith(beginning)]
    return {line.removeprefix(beginning).partition('"')[0]: float(line.rpartition(" ")[2]) for line in lines}
