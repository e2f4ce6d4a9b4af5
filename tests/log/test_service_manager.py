"""What systemd is told, on a real socket."""

import os
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from autoscaler.log.service_manager import ServiceManager
from tests.schedule.clock import FakeClock


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


def test_the_life_of_a_service(notify_socket: socket.socket) -> None:
    """As sd_notify(3) spells it."""
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
    """It is asked for every second; in UTF-8, whatever the names in it."""
    with closing(ServiceManager(FakeClock())) as service:
        for text in ("fine", "fine", "failing: größer"):
            service.status(text)
    assert received(notify_socket) == ["STATUS=fine", "STATUS=failing: größer"]


def test_the_watchdog_is_fed_four_times_in_its_interval(
    notify_socket: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once every half is what the manual recommends; this leaves room for a busy machine."""
    monkeypatch.setenv("WATCHDOG_USEC", "8000000")
    monkeypatch.setenv("WATCHDOG_PID", str(os.getpid()))
    clock = FakeClock()
    with closing(ServiceManager(clock)) as service:
        for _ in range(8):
            service.progress()
            clock.advance(1)
    assert received(notify_socket) == ["WATCHDOG=1"] * 4


@pytest.mark.parametrize("watched", [{}, {"WATCHDOG_USEC": "8000000", "WATCHDOG_PID": "1"}])
def test_a_watchdog_that_is_not_ours_is_not_fed(
    notify_socket: socket.socket, monkeypatch: pytest.MonkeyPatch, watched: dict[str, str]
) -> None:
    """None is set, or another process's."""
    for name, value in watched.items():
        monkeypatch.setenv(name, value)
    with closing(ServiceManager(FakeClock())) as service:
        service.progress()
    assert received(notify_socket) == []


def test_workers_inherit_nothing_to_speak_with(notify_socket: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that notifies would speak for the daemon."""
    monkeypatch.setenv("WATCHDOG_USEC", "8000000")
    with closing(ServiceManager(FakeClock())):
        assert not {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"} & os.environ.keys()


def test_without_systemd_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    """Started by hand."""
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    with closing(ServiceManager(FakeClock())) as service:
        service.ready()
        service.status("fine")
        service.stopping()


@pytest.mark.timeout(20)
def test_a_socket_that_nobody_reads_holds_nothing_up(notify_socket: socket.socket) -> None:
    """A busy service manager was waited for, and behind it every shard's watchdog."""
    clock = FakeClock()
    with closing(ServiceManager(clock)) as service:
        for number in range(1_000):
            service.status(f"{number}")
        service.ready()
        early = received(notify_socket)
        service.status("999")  # nothing new, but what has waited is sent
        assert received(notify_socket) == ["STATUS=999", "READY=1"]
    assert early == [f"STATUS={number}" for number in range(len(early))]


@pytest.mark.timeout(20)
def test_what_waits_for_a_reader_is_bounded(notify_socket: socket.socket) -> None:
    """Reloads go on while nobody reads."""
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
