"""Faults at an agent's address, with this adapter's messages."""

import pytest

from adapters.nomad.client import NomadRefusal
from autoscaler.clock import SystemClock
from autoscaler.errors import TargetNotWritten, TargetUnavailable
from autoscaler.model import Call
from tests.adapters.nomad.conftest import client_of
from tests.servers.ports import free_port
from tests.servers.scripted import Wire, scripted


def trickle_headers(wire: Wire) -> None:
    wire.read()
    wire.send(b"HTTP/1.1 200 OK\r\nX-Endless: ")
    wire.repeat(b"a")


def hang_up(wire: Wire) -> None:
    wire.read()


FAULTS = {
    "late": (trickle_headers, "no whole answer by the cycle's deadline"),
    "hung up": (hang_up, "closed the connection without an answer"),
}


def unavailable(name: str, *, write: bool) -> str:
    script, seconds = FAULTS[name][0], 0.5 if name == "late" else 60
    clock = SystemClock()
    with scripted(script) as server:
        agent = client_of(server.url, clock)
        call = Call(clock.now(), clock.monotonic() + seconds)
        with pytest.raises(TargetUnavailable) as caught:
            agent.post("/v1/jobs", {}, {"Count": 1}, call) if write else agent.get("/v1/jobs", {}, call, list)
        agent.close()
    message = str(caught.value)
    assert message.startswith(f"{'POST' if write else 'GET'} {server.url}/v1/jobs: ")
    return message


@pytest.mark.parametrize("name", FAULTS)
def test_an_exchange_that_fails_is_unavailable_and_says_how(name: str) -> None:
    """The message has the address, so that an operator knows what to check."""
    message = unavailable(name, write=False)
    assert FAULTS[name][1] in message
    assert "unknown" not in message


@pytest.mark.parametrize("name", FAULTS)
def test_a_write_whose_answer_was_lost_is_of_unknown_outcome(name: str) -> None:
    """Nomad may have performed the write, unless the connection failed."""
    assert "whether it was carried out is unknown" in unavailable(name, write=True)


def test_a_write_that_was_never_sent_is_not_of_unknown_outcome() -> None:
    """An operator need not check the outcome."""
    clock = SystemClock()
    agent = client_of(f"http://127.0.0.1:{free_port()}", clock)
    with pytest.raises(TargetNotWritten, match=r"Connection refused; is the agent up, and the address right\?$"):
        agent.post("/v1/jobs", {}, {"Count": 1}, Call(clock.now(), clock.monotonic() + 5))


@pytest.mark.parametrize("status", [203, 206])
def test_a_list_that_a_proxy_changed_or_cut_is_unavailable(status: int) -> None:
    """Nomad answers 200. Half of the allocations would look like instances that are gone."""

    def part(wire: Wire) -> None:
        wire.read()
        wire.send(f"HTTP/1.1 {status} Part\r\nContent-Length: 2\r\n\r\n[]".encode())

    clock = SystemClock()
    with scripted(part) as server:
        agent = client_of(server.url, clock)
        with pytest.raises(NomadRefusal, match=f"HTTP {status}") as caught:
            agent.get("/v1/jobs", {}, Call(clock.now(), clock.monotonic() + 60), list)
        agent.close()
    assert isinstance(caught.value.as_target_error(), TargetUnavailable)
