"""Workers report their readiness over HTTP."""

import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Thread

import pytest

from adapters.process import upkeep
from adapters.process.probe import probe
from autoscaler.model import Instance
from tests.adapters.process.conftest import Build
from tests.adapters.process.harness import HTTP_WORKER, ProcessHarness
from tests.servers.ports import free_ports
from tests.waiting import until

pytestmark = pytest.mark.slow


@pytest.fixture
def status(tmp_path: Path) -> Path:
    """The workers' answer."""
    file = tmp_path / "status"
    file.write_text("200")
    return file


@pytest.fixture
def harness(build: Build, tmp_path: Path, status: Path) -> ProcessHarness:
    return build(command=HTTP_WORKER, cwd=str(tmp_path), ports=free_ports(2), readiness={"path": "/healthz"})


def _only(harness: ProcessHarness) -> Instance:
    return harness.settle(1).instances[0]


def test_a_worker_is_not_ready_before_its_first_answer(build: Build) -> None:
    """HPA leaves an unready instance out of the average."""
    harness = build(ports=free_ports(1), readiness={"path": "/healthz"})
    one = _only(harness)
    assert one.ready is False
    assert one.ready_transition == one.started_at


def test_an_answer_of_2xx_makes_it_ready(harness: ProcessHarness) -> None:
    """The time of the change is kept, like that of a pod's condition."""
    until(lambda: _only(harness).ready, "the worker to be ready")
    one = _only(harness)
    assert one.started_at is not None
    assert one.ready_transition is not None
    assert one.ready_transition > one.started_at


def test_failing_answers_make_it_not_ready_again(harness: ProcessHarness, status: Path) -> None:
    """A worker can become unready again."""
    until(lambda: _only(harness).ready, "the worker to be ready")
    before = _only(harness).ready_transition
    status.write_text("503")
    until(lambda: _only(harness).ready is False, "the worker to be not ready")
    assert _only(harness).ready_transition != before


def test_readiness_is_known_at_once_after_a_restart(harness: ProcessHarness) -> None:
    """A restarted daemon must not scale by a pool that appears unready."""
    until(lambda: _only(harness).ready, "the worker to be ready")
    before = harness.observe()
    harness.rebuild()
    assert harness.observe() == before


def test_without_a_path_readiness_is_unknown(build: Build) -> None:
    """None, which the daemon takes for ready as soon as the worker runs."""
    one = _only(build())
    assert (one.ready, one.ready_transition) == (None, None)


@pytest.fixture
def mute() -> Iterator[int]:
    """Yield the port of a server that accepts and does not answer."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_worker_that_does_not_answer_keeps_no_other_waiting(mute: int) -> None:
    """Probes run concurrently: a hundred workers without an answer cost one second, not a hundred."""
    answers = probe({f"web-{number}": (mute, "/") for number in range(50)})
    assert set(answers.values()) == {"no answer within 1 s"}


@pytest.mark.parametrize(
    ("first", "answer"),
    [
        (b"HTTP/1.1 204 No Content\r\n", ""),
        (b"HTTP/1.0 404 Not Found\r\n", "HTTP 404"),
        (b"HTTP/1.1 500 Oh\r\n", "HTTP 500"),
        (b"HTTP/1.1 503 Not yet\r\n", "HTTP 503"),
        (b"HTTP/1.1 301 Moved\r\n", "HTTP 301, a redirect, which is not followed"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "an answer that is not HTTP: 'SSH-2.0-OpenSSH_9.2'"),
        (b"\x15\x03\x01\x00\x02", r"an answer that is not HTTP: '\x15\x03\x01\x00\x02'"),
        (b"x" * 100_000, "a first line without an end, which is not HTTP"),
        (b"", "a closed connection without an answer"),
    ],
)
def test_each_answer_is_told(first: bytes, answer: str) -> None:
    """An operator who sees "not ready" alone looks for the fault in the worker."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = Thread(target=_answer_once, args=(server, first))
        thread.start()
        assert probe({"web-1": (server.getsockname()[1], "/ready")}) == {"web-1": answer}
        thread.join()


def _answer_once(server: socket.socket, first: bytes) -> None:
    connection, _ = server.accept()
    with connection, suppress(OSError):  # the probe closes a line without an end
        connection.recv(4096)
        connection.sendall(first)


def test_the_answer_to_a_probe_is_a_detail_of_the_instance_and_one_warning_of_the_target(
    harness: ProcessHarness, status: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wrong path would leave a pool unready for ever, without a word."""
    monkeypatch.setattr(upkeep, "SLOW_START_SECONDS", 0)
    status.write_text("404")
    told = "the readiness probe GET /healthz gets HTTP 404"
    until(lambda: _only(harness).detail == told, "the detail")
    state = harness.observe()
    assert state.warnings == (f"{told}, not 2xx; correct readiness.path, or the workers",)
    harness.set_size_outside(2)
    state = harness.wait_for(lambda state: [one.detail for one in state.instances] == [told] * 2, "to tell both")
    assert len(state.warnings) == 1
    harness.rebuild()
    assert harness.observe().instances == state.instances
    status.write_text("200")
    state = harness.wait_for(lambda state: state.ready == 2, "to be ready")
    assert [one.detail for one in state.instances] == ["", ""]
    assert state.warnings == ()


def test_a_worker_that_starts_is_no_warning(build: Build) -> None:
    """Each scale-out would warn: a worker needs time until it listens."""
    harness = build(ports=free_ports(1), readiness={"path": "/healthz"})
    until(lambda: _only(harness).detail == "the readiness probe GET /healthz gets a refused connection", "the detail")
    assert harness.observe().warnings == ()
