"""A server of bytes: a script defines the bytes of each connection and their times, HTTP or not."""

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TypeAlias

_EVERY_SECONDS = 0.02
_AT_MOST_SECONDS = 60.0


@dataclass(slots=True)
class Wire:
    """One connection, for its script. Every method raises OSError when the client is gone."""

    connection: socket.socket
    ending: threading.Event
    requests: list[bytes]

    def read(self) -> bytes:
        """Read and note the next request. Returns its head and its body. Ends the script when the client closes."""
        request = b""
        while b"\r\n\r\n" not in request:
            request += self._receive()
        head, _, body = request.partition(b"\r\n\r\n")
        length = next(
            (int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0
        )
        while len(body) < length:
            body += self._receive()
        self.requests.append(head + b"\r\n\r\n" + body)
        return self.requests[-1]

    def send(self, content: bytes) -> None:
        """Send these bytes at once."""
        self.connection.sendall(content)

    def answer(self, body: bytes = b"", status: str = "200 OK", headers: bytes = b"") -> None:
        """Send a whole answer."""
        self.send(b"HTTP/1.1 %b\r\nContent-Length: %d\r\n%b\r\n%b" % (status.encode(), len(body), headers, body))

    def repeat(self, piece: bytes, every_seconds: float = _EVERY_SECONDS) -> None:
        """Send the piece again and again, until the client is gone."""
        while not self.ending.wait(every_seconds):
            self.send(piece)

    def pause(self, seconds: float) -> None:
        """Send nothing for so long."""
        self.ending.wait(seconds)

    def hang(self) -> None:
        """Send nothing, until the client is gone."""
        while True:
            self._receive()

    def _receive(self) -> bytes:
        received = self.connection.recv(65536)
        if not received:
            raise ConnectionError
        return received


Script: TypeAlias = Callable[[Wire], None]


def answering(body: bytes, headers: bytes = b"", status: str = "200 OK") -> Script:
    """Return a script that gives every request the same answer."""

    def script(wire: Wire) -> None:
        while True:
            wire.read()
            wire.answer(body, status, headers)

    return script


class Ahead:
    """Stands for the module `time`. A script puts the client's clock forward, so that no test waits for a deadline."""

    def __init__(self) -> None:
        self.passed = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.passed


@dataclass(slots=True)
class Scripted:
    """The server's port, its requests, and the ends of its connections."""

    port: int
    requests: list[bytes] = field(default_factory=list)
    accepted: int = 0
    gone: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    """Released for each connection that the client closes before the end of its script."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def client_left(self) -> bool:
        """Wait for the client to close a connection. Returns whether it does."""
        return self.gone.acquire(timeout=_AT_MOST_SECONDS)


@contextmanager
def scripted(script: Script, tls: ssl.SSLContext | None = None, port: int = 0) -> Iterator[Scripted]:
    """Run `script` for each connection, behind TLS if a context is given, and close it then.

    `port`: a fixed one, for a server that comes back.
    """
    ending = threading.Event()
    with socket.create_server(("127.0.0.1", port)) as listening:
        server = Scripted(listening.getsockname()[1])

        def play(connection: socket.socket) -> None:
            with connection:
                connection.settimeout(_AT_MOST_SECONDS)
                try:
                    with connection if tls is None else _behind_tls(connection, tls) as wrapped:
                        script(Wire(wrapped, ending, server.requests))
                except OSError:
                    server.gone.release()

        def accept() -> None:
            with suppress(OSError):  # the end: the listening socket is shut down
                while True:
                    connection, _ = listening.accept()
                    server.accepted += 1
                    threading.Thread(target=play, args=(connection,), daemon=True).start()

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            ending.set()
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()


def _behind_tls(connection: socket.socket, tls: ssl.SSLContext) -> socket.socket:
    wrapped = tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
    try:
        wrapped.do_handshake()
    except OSError:
        with wrapped:
            while socket.socket.recv(wrapped, 65536):  # to close with unread bytes would lose the alert
                pass
        raise
    return wrapped


@contextmanager
def full_backlog() -> Iterator[tuple[str, int]]:
    """Yield an address that accepts no more connections: clients get no answer."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listening:
        waiting = []
        try:
            for _ in range(8):
                client = socket.socket()
                client.setblocking(False)
                client.connect_ex(listening.getsockname())
                waiting.append(client)
            yield listening.getsockname()
        finally:
            for client in waiting:
                client.close()
