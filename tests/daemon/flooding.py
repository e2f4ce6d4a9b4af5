"""Clients that flood a server, and measurements of the server."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit


def connected(url: str, source: str = "127.0.0.1") -> socket.socket:
    """Return a client from an address of this machine. It may not be connected yet."""
    place = urlsplit(url)
    client = socket.socket()
    client.setblocking(False)
    client.bind((source, 0))
    with suppress(BlockingIOError):
        client.connect((place.hostname, place.port))
    return client


@contextmanager
def idle_connections(url: str, number: int) -> Iterator[None]:
    """Run so many clients that connect and send nothing. A client whose connection is closed connects again."""
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
    """Run threads that call this function again and again, also if it fails."""
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


def send_ahead(url: str) -> None:
    """Send requests without waiting for an answer, until the server accepts no more."""
    client = connected(url)
    with client:
        client.settimeout(5)
        while True:
            client.sendall(b"GET /-/healthy HTTP/1.1\r\nHost: localhost\r\n\r\n" * 100)
            client.recv(1 << 20)
