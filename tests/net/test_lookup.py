"""Name look-ups: one that hangs is abandoned."""

import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from autoscaler.net.errors import Late, Unreachable
from autoscaler.net.session import Session
from tests.servers.ports import free_port
from tests.servers.scripted import Wire, full_backlog, scripted
from tests.waiting import until


def fine(wire: Wire) -> None:
    wire.read()
    wire.answer(b"{}")


class Resolver:
    """A `socket.getaddrinfo` that hangs for names under `.hangs` and knows those in `names`."""

    def __init__(self) -> None:
        self.names: dict[str, list[tuple[str, int]]] = {}
        self.asked: list[str] = []
        self.released = threading.Event()
        self._real = socket.getaddrinfo

    def __call__(self, host: str, port: int, *, type: int, flags: int = 0) -> Any:  # noqa: A002 - the library's word
        if flags & socket.AI_NUMERICHOST:
            return self._real(host, port, type=socket.SOCK_STREAM, flags=flags)
        self.asked.append(host)
        if host.endswith(".hangs"):
            self.released.wait(60)
        if host in self.names:
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", address) for address in self.names[host]]
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")


@pytest.fixture
def resolver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Resolver]:
    """Replace the machine's resolver once the look-ups of other tests have ended."""
    until(lambda: not look_ups(), "the end of other look-ups")
    made = Resolver()
    monkeypatch.setattr(socket, "getaddrinfo", made)
    yield made
    made.released.set()
    until(lambda: not look_ups(), "the end of the look-ups")


def look_ups() -> int:
    return sum(thread.name.startswith("look-up-") for thread in threading.enumerate())


def test_a_look_up_that_hangs_is_left_at_the_deadline(session: Session, resolver: Resolver) -> None:
    """The C library waits for its resolvers for up to half a minute and cannot be interrupted."""
    began = time.monotonic()
    with pytest.raises(Late):
        session.get("http://prometheus.hangs/", timeout=0.2)
    assert time.monotonic() - began < 30


def test_one_look_up_of_a_name_is_under_way_at_a_time(session: Session, resolver: Resolver) -> None:
    """A name that hangs costs one thread, not one each cycle; later callers still get its answer."""
    for _ in range(3):
        with pytest.raises(Late):
            session.get("http://prometheus.hangs/", timeout=0.05)
    assert resolver.asked == ["prometheus.hangs"]
    assert look_ups() == 1
    with scripted(fine) as server:
        resolver.names["prometheus.hangs"] = [("127.0.0.1", server.port)]
        threading.Timer(0.1, resolver.released.set).start()
        assert session.get("http://prometheus.hangs/", timeout=10).text == "{}"


def test_a_name_is_looked_up_again_after_threads_were_short(
    session: Session, resolver: Resolver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process reaches its limit of tasks (TasksMax) briefly; the name must be looked up again later."""
    with monkeypatch.context() as short:
        short.setattr(threading.Thread, "start", no_more_threads)
        with pytest.raises(Unreachable, match="no thread could be started"):
            session.get("http://prometheus.test/", timeout=5)
    with pytest.raises(Unreachable, match="Name or service not known"):
        session.get("http://prometheus.test/", timeout=5)


def no_more_threads(thread: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


def test_an_unknown_name_is_reported(session: Session, resolver: Resolver) -> None:
    """The message has the system's text and the name."""
    with pytest.raises(Unreachable, match=r"^the address of 'nosuch' was not found: Name or service not known$"):
        session.get("http://nosuch/", timeout=10)


@pytest.mark.parametrize("name", ["a" * 64 + ".example", "a..b"])
def test_an_impossible_name_is_refused(session: Session, name: str) -> None:
    """Python refuses it before a resolver does."""
    with pytest.raises(Unreachable):
        session.get(f"http://{name}/", timeout=10)


def test_each_address_has_its_share_of_the_time(session: Session, resolver: Resolver) -> None:
    """The first of 150 addresses does not answer, the second refuses, the third accepts."""
    with full_backlog() as full, scripted(fine) as server:
        resolver.names["many"] = [full, ("127.0.0.1", free_port()), *[("127.0.0.1", server.port)] * 148]
        assert session.get("http://many/", timeout=45).text == "{}"


def test_many_addresses_share_one_deadline(session: Session, resolver: Resolver) -> None:
    """A time-out for each would be sixty deadlines."""
    with full_backlog() as full:
        resolver.names["many"] = [full] * 60
        began = time.monotonic()
        with pytest.raises(Late):
            session.get("http://many/", timeout=1)
        assert time.monotonic() - began < 30


def test_each_reason_of_failing_addresses_is_named_once(session: Session, resolver: Resolver) -> None:
    """`localhost` has two addresses, usually with one reason."""
    resolver.names["many"] = [("127.0.0.1", free_port()), ("127.0.0.1", free_port())]
    with pytest.raises(Unreachable, match=r"^Connection refused$"):
        session.get("http://many/", timeout=10)
