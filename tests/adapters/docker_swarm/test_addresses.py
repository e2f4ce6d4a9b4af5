"""A connection with two addresses, in front of one real manager. The contract runs at a second address, too."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.docker_swarm import DockerSwarm
from autoscaler.errors import TargetUnavailable
from autoscaler.target.contract import RecordingLogger, make_context
from tests.adapters.docker_swarm.build import call, ref, state_of
from tests.servers.docker import Engine
from tests.servers.faults import Fault, Faults, running_faults
from tests.servers.ports import free_port
from tests.servers.tcp_proxy import running_tcp_proxy

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def web(engine: Engine) -> Iterator[None]:
    with engine.service("web", Mode={"Replicated": {"Replicas": 0}}):
        yield


@pytest.fixture
def gateway(engine: Engine) -> Iterator[Faults]:
    """An HTTP proxy before the manager, which a test makes answer wrongly."""
    with running_tcp_proxy(engine.socket) as way, running_faults(f"http://127.0.0.1:{way.port}") as faults:
        yield faults


def url(port: int) -> str:
    return f"tcp://127.0.0.1:{port}"


def connected(folder: Path, *addresses: str) -> tuple[DockerSwarm, RecordingLogger]:
    logger = RecordingLogger()
    settings = DockerSwarm.Settings.model_validate({"addresses": addresses})
    return DockerSwarm(make_context(settings, folder, logger=logger)), logger


def changes(logger: RecordingLogger) -> list[tuple[object, object]]:
    """Return the addresses that the log says were left, and those used instead."""
    return [(keys["before"], keys["address"]) for keys in logger.of("address_changed")]


def test_a_manager_that_left_the_swarm_is_replaced(tmp_path: Path, engine: Engine, gateway: Faults) -> None:
    """The engine of a host that is no manager answers so."""
    said = '{"message": "This node is not a swarm manager."}'
    gateway.faults.append(Fault(r"/services", 503, said, "application/json"))
    swarm, logger = connected(tmp_path, gateway.url.replace("http:", "tcp:"), engine.host)
    state_of(swarm, "web")
    (error,) = (keys["error"] for keys in logger.of("address_changed"))
    assert "This node is not a swarm manager" in error


def test_another_error_is_the_answer(tmp_path: Path, engine: Engine, gateway: Faults) -> None:
    """Swarm's conflicts are HTTP 500; another manager would repeat them."""
    gateway.faults.append(Fault(r"/services", 500, "rot"))
    swarm, logger = connected(tmp_path, gateway.url.replace("http:", "tcp:"), engine.host)
    for _ in range(2):
        with pytest.raises(TargetUnavailable, match="rot"):
            swarm.observe([ref("web")], call())
    assert logger.lines == []


def test_a_missing_socket_is_no_engine(tmp_path: Path, engine: Engine) -> None:
    """The local engine may be stopped while another manager serves."""
    swarm, logger = connected(tmp_path, f"unix://{tmp_path}/none.sock", engine.host)
    state_of(swarm, "web")
    assert changes(logger) == [(f"unix://{tmp_path}/none.sock", engine.host)]


def test_a_check_names_the_address_that_does_not_answer(tmp_path: Path, engine: Engine) -> None:
    """Also the spare, which no cycle uses."""
    dead = url(free_port())
    swarm, _ = connected(tmp_path, engine.host, dead)
    failing = swarm.failing_addresses(call())
    assert failing.keys() == {dead}
    assert "Connection refused" in failing[dead]
