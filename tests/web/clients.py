"""Raw TCP clients, and the answers that they get."""

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn
from urllib.parse import urlsplit

from tests.waiting import PATIENCE_SECONDS
from tests.web.serving import Served

LARGE = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
GET = b"GET /-/healthy HTTP/1.1\r\nHost: localhost\r\n\r\n"


@contextmanager
def client(served: Served, source: str = "127.0.0.1", receive_bytes: int = 0) -> Iterator[socket.socket]:
    place = urlsplit(served.server.url)
    with socket.socket() as opened:
        if receive_bytes:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        opened.settimeout(PATIENCE_SECONDS)
        opened.bind((source, 0))
        opened.connect((place.hostname, place.port))
        yield opened


def accepted_from(address: tuple[str, int]) -> Iterator[socket.socket]:
    """Yield this process's end of each connection with a client's address."""
    for link in Path("/proc/self/fd").iterdir():
        try:
            with socket.socket(fileno=os.dup(int(link.name))) as found:
                if found.getpeername() == address:
                    yield found
        except OSError:  # a file, a listening socket, or closed by now
            continue


def everything(opened: socket.socket) -> bytes:
    """Read until the server closes the connection."""
    found = b""
    try:
        while part := opened.recv(1 << 20):
            found += part
    except ConnectionError:
        pass
    return found


def answer(opened: socket.socket, request: bytes = GET) -> bytes:
    """Read the first part of the answer; empty when the server closes the connection."""
    try:
        opened.sendall(request)
        return opened.recv(4096)
    except ConnectionError:
        return b""


def send_for_ever(opened: socket.socket, part: bytes) -> NoReturn:
    """Send until the server closes the connection, with pauses for others."""
    while True:
        opened.sendall(part)
        time.sleep(0.01)


def is_open(opened: socket.socket) -> bool:
    opened.settimeout(0)
    try:
        return opened.recv(65536) != b""
    except BlockingIOError:
        return True
    except ConnectionError:
        return False
    finally:
        opened.settimeout(PATIENCE_SECONDS)
