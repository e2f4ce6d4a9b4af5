"""Messages to systemd on a real socket."""

import os
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from autoscaler.log.service_manager import ServiceManager
from tests.clocks import FakeClock


@pytest.fixture
def notify_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(tmp_path / "notify"))
        listener.settimeout(10)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        yield listener


def received(listener: socket.socket) -> list[str]:
    messages = []
    listener.setblocking(False)
    try:
        while True:
            messages.append(listener.recv(4096).decode())
    except BlockingIOError:
        return messages


def test_messages_of_start_reload_and_stop(notify_socket: socket.socket) -> None:
    """As in sd_notify(3)."""
    clock = FakeClock()
    clock.advance(1.5)
    with closing(ServiceManager(clock)) as service:
        service.ready()
        service.reloading()
        service.ready()
        service.stopping()
    expected = ["READY=1", "RELOADING=1\nMONOTONIC_USEC=1500000", "READY=1", "STOPPING=1"]
    assert received(notify_socket) == expected


def test_a_status_is_sent_when_it_changes(notify_socket: socket.socket) -> None:
    """The daemon sets it every second. It is UTF-8."""
    with closing(ServiceManager(FakeClock())) as service:
        for text in ("fine", "fine", "failing: größer"):
            service.status(text)
    assert received(notify_socket) == ["STATUS=fine", "STATUS=failing: größer"]


def test_the_watchdog_is_notified_four_times_in_its_interval(
    notify_socket: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The manual recommends twice; this allows for a busy machine."""
    monkeypatch.setenv("WATCHDOG_USEC", "8000000")
    monkeypatch.setenv("WATCHDOG_PID", str(os.getpid()))
    clock = FakeClock()
    with closing(ServiceManager(clock)) as service:
        for _ in range(8):
            service.progress()
            clock.advance(1)
    assert received(notify_socket) == ["WATCHDOG=1"] * 4


@pytest.mark.parametrize("watched", [{}, {"WATCHDOG_USEC": "8000000", "WATCHDOG_PID": "1"}])
def test_another_processes_watchdog_is_not_notified(
    notify_socket: socket.socket, monkeypatch: pytest.MonkeyPatch, watched: dict[str, str]
) -> None:
    """No watchdog is set, or it is that of another process."""
    for name, value in watched.items():
        monkeypatch.setenv(name, value)
    with closing(ServiceManager(FakeClock())) as service:
        service.progress()
    assert received(notify_socket) == []


def test_workers_do_not_inherit_the_variables_of_systemd(
    notify_socket: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker could send messages in the daemon's name."""
    monkeypatch.setenv("WATCHDOG_USEC", "8000000")
    with closing(ServiceManager(FakeClock())):
        assert not {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"} & os.environ.keys()


def test_without_systemd_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    with closing(ServiceManager(FakeClock())) as service:
        service.ready()
        service.status("fine")
        service.stopping()


@pytest.mark.timeout(300)
def test_a_socket_that_is_not_read_does_not_block(notify_socket: socket.socket) -> None:
    """A busy service manager once delayed every shard's watchdog."""
    clock = FakeClock()
    with closing(ServiceManager(clock)) as service:
        for number in range(1_000):
            service.status(f"{number}")
        service.ready()
        early = received(notify_socket)
        service.status("999")  # nothing new, but what has waited is sent
        assert received(notify_socket) == ["STATUS=999", "READY=1"]
    assert early == [f"STATUS={number}" for number in range(len(early))]


@pytest.mark.timeout(300)
def test_unsent_messages_are_limited(notify_socket: socket.socket) -> None:
    """Reloads continue while systemd does not read."""
    with closing(ServiceManager(FakeClock())) as service:
        for _ in range(1_000):
            service.reloading()
            service.ready()
        assert len(service._unsent) == 16
        received(notify_socket)
        service.status("")
        received(notify_socket)  # as many as the kernel takes at once
        service.status("")
        assert received(notify_socket)[-1] == "READY=1"
