"""Each worker has its own port."""

import socket
from pathlib import Path

import pytest

from adapters.process.records import StateFile
from adapters.process.spawn import free_port
from autoscaler.errors import TargetRefused
from autoscaler.model import Held
from tests.adapters.process.conftest import Build
from tests.servers.ports import free_ports
from tests.waiting import until

pytestmark = pytest.mark.slow


def test_a_worker_learns_its_port_by_word_and_by_environment(build: Build) -> None:
    """A program may read an argument, its own variable, or $PORT."""
    command = ["sh", "-c", "echo {port} $PORT $LISTEN; exec sleep 1000"]
    harness = build(command=command, ports=free_ports(1), env={"LISTEN": "0.0.0.0:{port}"})
    harness.settle(1)
    port = harness.workers()[0].port
    until(lambda: harness.log() == f"{port} {port} 0.0.0.0:{port}\n", "the worker's output")


def test_a_worker_inherits_no_secret_of_the_daemon(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker must not inherit a token of the daemon's environment or systemd's socket."""
    for name in ("NOMAD_TOKEN", "NOTIFY_SOCKET"):
        monkeypatch.setenv(name, "secret")
    harness = build(command=["sh", "-c", "env; exec sleep 1000"])
    harness.settle(1)
    until(lambda: "PATH=" in harness.log(), "the worker's output")
    assert "secret" not in harness.log()


def test_pools_with_the_same_ports_share_them_out(build: Build) -> None:
    """Ranges may overlap; two workers never share a port."""
    ports = free_ports(4)
    harness = build(
        ports=ports, initialReplicas=2, others={"api": {"command": "sleep 1000", "ports": ports, "initialReplicas": 2}}
    )
    harness.settle(2)
    until(lambda: len(_all_ports(harness.state_dir)) == 4, "all four workers")
    assert len(set(_all_ports(harness.state_dir))) == 4


def test_a_size_above_the_number_of_ports_is_refused_and_a_limit_of_the_target(build: Build) -> None:
    """The limit narrows the bounds; a larger size is refused with the remedy."""
    harness = build(ports=free_ports(2))
    state = harness.settle(1)
    assert state.limits.maximum == 2
    with pytest.raises(TargetRefused, match="3 workers need as many ports, but there are only 2; widen"):
        harness.adapter.scale(harness.target, harness.change(state, 3), harness.call())


def test_ports_that_strangers_use_hold_scale_out(build: Build) -> None:
    """The pool says why it cannot grow, and grows when the ports are free."""
    ports = free_ports(2)
    first, last = map(int, ports.split("-"))
    with socket.create_server(("127.0.0.1", first)), socket.create_server(("127.0.0.1", last)):
        harness = build(ports=ports)
        state = harness.wait_for(lambda state: state.hold.scale_out is not None, "to hold")
        assert state.hold.scale_out is not None
        assert state.hold.scale_out.reason == "PortsExhausted"
        assert ports in state.hold.scale_out.message
        assert state.hold.scale_in is None
        assert state.warnings == (state.hold.scale_out.message,), "shown even without a scale-out"
        assert isinstance(harness.adapter.scale(harness.target, harness.change(state, 2), harness.call()), Held)
    harness.settle(1)


def test_the_search_begins_elsewhere_for_each_worker() -> None:
    """Prometheus still has samples of a port that was just released; a new worker must not inherit them."""
    first, last = map(int, free_ports(3).split("-"))
    ports = range(first, last + 1)
    assert free_port(ports, (), 0) == first
    assert free_port(ports, (), 1) == first + 1
    assert free_port(ports, {first + 2}, 2) == first
    assert free_port(ports, set(ports), 0) is None


def _all_ports(state_dir: Path) -> list[int | None]:
    return [worker.port for pool in StateFile(state_dir).load().values() for worker in pool.workers]
