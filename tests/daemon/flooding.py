"""Clients that do harm to a server, and what their victim makes of it."""

import os
import resource
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

from tests.daemon.running import RunningDaemon


def limit_descriptors(daemon: RunningDaemon, most: int) -> None:
    """As `ulimit -n` does; ours is raised as far as it goes, for so many clients."""
    resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE, (most, most))
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def connected(url: str, source: str = "127.0.0.1") -> socket.socket:
    """A client from an address of this machine; its connection may still be under way."""
    place = urlsplit(url)
    client = socket.socket()
    client.setblocking(False)
    client.bind((source, 0))
    with suppress(BlockingIOError):
        client.connect((place.hostname, place.port))
    return client


@contextmanager
def idle_connections(url: str, number: int) -> Iterator[None]:
    """So many clients that connect and send nothing; one that is thrown out comes back."""
    clients: list[socket.socket] = []
    done = threading.Event()

    def keep_up() -> None:
        while not done.wait(0.2):
            for index, client in enumerate(clients):
                with suppress(BlockingIOError):
                    try:
                        gone = client.recv(1) == b""
                    except (ConnectionError, TimeoutError):
                        gone = True
                    if gone:
                        client.close()
                        clients[index] = connected(url)

    clients += [connected(url) for _ in range(number)]
    keeper = threading.Thread(target=keep_up)
    keeper.start()
    try:
        yield
    finally:
        done.set()
        keeper.join()
        for client in clients:
            client.close()


@contextmanager
def busy(work: Callable[[], object], threads: int) -> Iterator[None]:
    """Threads that do it again and again, whatever comes of it."""
    done = threading.Event()

    def again() -> None:
        while not done.is_set():
            with suppress(Exception):
                work()

    running = [threading.Thread(target=again) for _ in range(threads)]
    for each in running:
        each.start()
    try:
        yield
    finally:
        done.set()
        for each in running:
            each.join()


def decided(daemon: RunningDaemon, name: str) -> Sequence[datetime]:
    """When it was decided for an autoscaler whose metrics all had a value."""
    lines = daemon.events("decision", autoscaler=name, level="info")
    return [datetime.fromisoformat(line["timestamp"]) for line in lines]


def longest_gap(times: Sequence[datetime]) -> float:
    """In seconds."""
    return max((after - before).total_seconds() for before, after in pairwise(times))


def send_ahead(url: str) -> None:
    """Requests without waiting for an answer, until the server has had enough."""
    client = connected(url)
    with client:
        client.settimeout(5)
        while True:
            client.sendall(b"GET /-/healthy HTTP/1.1\r\nHost: localhost\r\n\r\n" * 100)
            client.recv(1 << 20)


def processor_seconds(daemon: RunningDaemon) -> float:
    """That it has used so far."""
    fields = Path(f"/proc/{daemon.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
