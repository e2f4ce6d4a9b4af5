"""A TCP proxy in front of PostgreSQL, one for each daemon: it cuts the daemon off, and holds the answer to a commit.

It follows PostgreSQL's protocol 3.0 as far as it needs to (its documentation, "Message Formats"): which statements a
connection has sent since it began its transaction, and when COMMIT was answered.
"""

import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

_PIECE: Final = 65536
_INTENDS: Final = re.compile(rb"INSERT\s+INTO\s+intent\b", re.IGNORECASE)
_RECORDS: Final = re.compile(rb"INSERT\s+INTO\s+memory\b", re.IGNORECASE)
INTENT: Final = "intent"
"""A commit with writes that are about to be sent."""
OUTCOME: Final = "outcome"
"""A commit of what came of a cycle."""


_WITHOUT_TYPE: Final = {(80877103).to_bytes(4, "big"), (80877104).to_bytes(4, "big")}
"""SSLRequest and GSSENCRequest: answered by a single byte, after which another message without a type follows."""


class _Messages:
    """A stream of messages, cut into them as they become whole."""

    def __init__(self, *, typed: bool) -> None:
        """`typed`: each begins with a byte that says what it is; a client's first ones do not."""
        self._typed = typed
        self._rest = b""
        self.to_skip = 0
        """So many bytes that come next belong to no message."""

    def feed(self, piece: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Type and content of those that are whole now."""
        skipped = min(self.to_skip, len(piece))
        self.to_skip -= skipped
        self._rest += piece[skipped:]
        while True:
            head = 5 if self._typed else 4
            if len(self._rest) < head:
                return
            end = head - 4 + int.from_bytes(self._rest[head - 4 : head], "big")
            if len(self._rest) < end:
                return
            kind, content, self._rest = self._rest[: head - 4], self._rest[head:end], self._rest[end:]
            self._typed = self._typed or content not in _WITHOUT_TYPE
            yield kind, content


class _Statements:
    """What one connection has sent in its transaction."""

    def __init__(self) -> None:
        self._client, self._server = _Messages(typed=False), _Messages(typed=True)
        self._prepared: dict[bytes, bytes] = {}
        self._kind: str | None = None

    def sent(self, piece: bytes) -> None:
        """The daemon sent this."""
        for kind, content in self._client.feed(piece):
            if kind == b"P":  # Parse: name, statement
                name, _, rest = content.partition(b"\0")
                self._prepared[name] = rest.partition(b"\0")[0]
            elif kind == b"B":  # Bind: portal, name of the statement
                self._note(self._prepared.get(content.split(b"\0", 2)[1], b""))
            elif kind == b"Q":
                self._note(content)
            elif not kind and content in _WITHOUT_TYPE:
                self._server.to_skip += 1

    def committed(self, piece: bytes) -> str | None:
        """Which kind of commit this answer of the server completes; None: no such."""
        found = None
        for kind, content in self._server.feed(piece):
            if kind == b"C" and content.startswith((b"COMMIT\0", b"ROLLBACK\0")):
                found = self._kind if content.startswith(b"COMMIT") else None
                self._kind = None
        return found

    def _note(self, statement: bytes) -> None:
        if _RECORDS.search(statement):
            self._kind = OUTCOME
        elif _INTENDS.search(statement) and self._kind is None:
            self._kind = INTENT


@dataclass(slots=True)
class DatabaseProxy:
    """One that runs."""

    port: int
    on_commit: Callable[[str], None] | None = None
    """Called with INTENT or OUTCOME after such a commit, before the daemon hears of it."""
    _cut: threading.Event = field(default_factory=threading.Event)
    _silent: bool = False
    _open: set[socket.socket] = field(default_factory=set)

    def cut(self, *, silent: bool) -> None:
        """From now on nothing passes. `silent`: nobody is told; else connections are closed, new ones too."""
        self._silent = silent
        self._cut.set()
        if not silent:
            self._close()

    def mend(self) -> None:
        """New connections pass again; what was silent is closed."""
        self._close()
        self._cut.clear()

    def serve(self, client: socket.socket, server_port: int) -> None:
        """One connection, until either side closes it."""
        if self._cut.is_set():
            if self._silent:
                self._open.add(client)
            else:
                client.close()
            return
        server = socket.create_connection(("127.0.0.1", server_port))
        self._open |= {client, server}
        statements = _Statements()
        answers = threading.Thread(target=self._pump, args=(server, client, statements.committed), daemon=True)
        answers.start()
        self._pump(client, server, statements.sent)
        answers.join()
        for each in (client, server):
            self._open.discard(each)
            each.close()

    def _pump(self, source: socket.socket, sink: socket.socket, look: Callable[[bytes], str | None]) -> None:
        with suppress(OSError):
            while piece := source.recv(_PIECE):
                found = look(piece)
                if found is not None and self.on_commit is not None:
                    self.on_commit(found)
                if self._cut.is_set():  # what is on its way is lost
                    continue
                sink.sendall(piece)
        for each in (source, sink):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _close(self) -> None:
        for each in list(self._open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


@contextmanager
def running_database_proxy(server_port: int) -> Iterator[DatabaseProxy]:
    """In front of the PostgreSQL at this port of 127.0.0.1, on a free port."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        proxy = DatabaseProxy(listening.getsockname()[1])

        def accept() -> None:
            with suppress(OSError):  # the end: the listening socket is shut down
                while True:
                    client, _ = listening.accept()
                    threading.Thread(target=serve, args=(client,), daemon=True).start()

        def serve(client: socket.socket) -> None:
            try:
                proxy.serve(client, server_port)
            except OSError:  # the server is down
                client.close()

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield proxy
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()
            proxy.mend()
