"""A proxy in front of PostgreSQL, one for each daemon: it cuts the daemon off, and holds the answer to a commit.

It follows PostgreSQL's protocol 3.0 as far as necessary (its documentation, "Message Formats"): which statements a
connection has sent since it began its transaction, and when COMMIT was answered.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from tests.servers.tcp_proxy import TcpProxy, running_tcp_proxy

_INTENDS: Final = re.compile(rb"(INSERT\s+INTO\s+autoscaler|UPDATE\s+autoscaler\s+SET\s+seq)\b", re.IGNORECASE)
_RECORDS: Final = re.compile(rb"INSERT\s+INTO\s+block\b", re.IGNORECASE)
_TAKES_OVER: Final = re.compile(rb"UPDATE\s+fence\s+SET\s+generation\b", re.IGNORECASE)
INTENT: Final = "intent"
"""A commit of writes that will be sent."""
OUTCOME: Final = "outcome"
"""A commit of a cycle's outcomes."""
TAKEOVER: Final = "takeover"
"""A commit that takes the lease."""
_WITHOUT_TYPE: Final = {(80877103).to_bytes(4, "big"), (80877104).to_bytes(4, "big")}
"""SSLRequest and GSSENCRequest. Their answer is a single byte; another message without a type follows."""


class _Messages:
    """Divides a stream into its complete messages."""

    def __init__(self, *, typed: bool) -> None:
        """`typed`: each begins with a byte for its type. The first messages of a client do not."""
        self._typed = typed
        self._rest = b""
        self.to_skip = 0
        """The number of next bytes that belong to no message."""

    def feed(self, piece: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Return type and content of the complete messages."""
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


class Commits:
    """The commits of one daemon. If a test sets `on_commit`, it is called with INTENT, OUTCOME or TAKEOVER.

    Until it returns, the daemon does not get the answer to the commit.
    """

    def __init__(self) -> None:
        self.on_commit: Callable[[str], None] | None = None

    def watch(self) -> "_Statements":
        """Return what follows the statements of a new connection."""
        return _Statements(self)


class _Statements:
    """The statements of one connection in its transaction."""

    def __init__(self, commits: Commits) -> None:
        self._commits = commits
        self._client, self._server = _Messages(typed=False), _Messages(typed=True)
        self._prepared: dict[bytes, bytes] = {}
        self._kind: str | None = None

    def sent(self, piece: bytes) -> None:
        """Read messages of the daemon."""
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

    def answered(self, piece: bytes) -> None:
        """Read messages of the server."""
        for kind, content in self._server.feed(piece):
            if kind != b"C" or not content.startswith((b"COMMIT\0", b"ROLLBACK\0")):
                continue
            found, self._kind = self._kind, None
            if found and content.startswith(b"COMMIT") and (on_commit := self._commits.on_commit) is not None:
                on_commit(found)

    def _note(self, statement: bytes) -> None:
        if _TAKES_OVER.search(statement):
            self._kind = TAKEOVER
        elif _RECORDS.search(statement):
            self._kind = OUTCOME
        elif _INTENDS.search(statement) and self._kind is None:
            self._kind = INTENT


class DatabaseProxy(NamedTuple):
    """A running proxy."""

    way: TcpProxy
    commits: Commits


@contextmanager
def running_database_proxy(server_port: int) -> Iterator[DatabaseProxy]:
    """Run a proxy before the PostgreSQL at this port of 127.0.0.1."""
    commits = Commits()
    with running_tcp_proxy(server_port, commits.watch) as way:
        yield DatabaseProxy(way, commits)
