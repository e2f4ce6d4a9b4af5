"""A TCP proxy that closes all connections, or forwards nothing, until a test mends it."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol


class Watch(Protocol):
    """Watches one connection: it gets each piece before it is forwarded."""

    def sent(self, piece: bytes) -> None:
        """By the client."""

    def answered(self, piece: bytes) -> None:
        """By the server."""


class _Nobody:
    """Ignores everything."""

    def sent(self, piece: bytes) -> None:
        """By the client."""

    answered = sent


class TcpProxy:
    """A running proxy, on `port` of 127.0.0.1."""

    def __init__(self, listening: socket.socket, server: int | Path, watch: Callable[[], Watch]) -> None:
        self.port: int = listening.getsockname()[1]
        self._watch = watch
        self._listening = listening
        self._server = server
        self._passing = threading.Event()
        self._passing.set()
        self._silent = False
        self._open: set[socket.socket] = set()

    def cut(self, *, silent: bool = False) -> None:
        """Forward nothing any more. `silent`: keep connections open; otherwise close them, also new ones."""
        self._silent = silent
        self._passing.clear()
        if not silent:
            self._close()

    def mend(self) -> None:
        """Forward everything again. Earlier connections are closed."""
        self._close()
        self._passing.set()

    def lead_to(self, server_port: int) -> None:
        """Forward new connections to this port of 127.0.0.1."""
        self._server = server_port

    def accept(self) -> None:
        with suppress(OSError):  # the end: the listening socket is shut down
            while True:
                client, _ = self._listening.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        if not self._passing.is_set() and not self._silent:
            client.close()
            return
        self._open.add(client)
        with suppress(OSError), _connected(self._server) as server:
            self._open.add(server)
            watch = self._watch()
            back = threading.Thread(target=self._pump, args=(server, client, watch.answered), daemon=True)
            back.start()
            self._pump(client, server, watch.sent)
            back.join()
            self._open.discard(server)
        self._open.discard(client)
        client.close()

    def _pump(self, source: socket.socket, sink: socket.socket, look: Callable[[bytes], None]) -> None:
        with suppress(OSError):
            while piece := source.recv(65536):
                look(piece)
                if self._passing.is_set():  # otherwise it is lost
                    sink.sendall(piece)
        for each in (source, sink):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _close(self) -> None:
        for each in list(self._open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


def _connected(server: int | Path) -> socket.socket:
    if isinstance(server, int):
        return socket.create_connection(("127.0.0.1", server))
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(str(server))
    return connection


@contextmanager
def running_tcp_proxy(server: int | Path, watch: Callable[[], Watch] = _Nobody) -> Iterator[TcpProxy]:
    """Run a proxy before this port of 127.0.0.1, or this Unix socket. `watch` is called for each connection."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        proxy = TcpProxy(listening, server, watch)
        thread = threading.Thread(target=proxy.accept, daemon=True)
        thread.start()
        try:
            yield proxy
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()
            proxy.mend()
