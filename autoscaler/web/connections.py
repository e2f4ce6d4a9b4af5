"""The connections of a listening socket. When all are taken, idle connections are closed for new clients.

uvicorn, like any asyncio server, accepts every client: a thousand idle clients take every file descriptor of the
process, and scaling stops.
"""

import asyncio
import socket
import ssl
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import uvicorn
from uvicorn.server import ServerState

from autoscaler.web.connection import Connection
from autoscaler.web.refusals import Refusals

BACKLOG: Final = 1024
"""Clients that wait in the kernel to be accepted. In a flood, the operator's own client waits there too."""
_BATCHES: Final = 8
"""In a flood, one of this many parts of the connections is closed at a time."""
_FULL_SECONDS: Final = 0.02
"""Seconds between two such closings: frequent enough for new clients, and leaves processor time to the shards."""
_FAILED_SECONDS: Final = 1.0
"""Seconds without accepting after an error, usually a lack of file descriptors."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of the clients of one listening socket."""

    connections: int
    """Concurrent connections."""
    request_seconds: float = 10.0
    """Seconds until a request is complete, from the beginning of the connection or the last answer."""
    handshake_seconds: float = 5.0
    """Seconds of the TLS handshake."""
    untaken_seconds: float = 30.0
    """Seconds in which a client receives nothing of an answer."""


class Connections:
    """The connections of one listening socket. Use it from the server's event loop only."""

    def __init__(
        self,
        listening: socket.socket,
        limits: Limits,
        tls: ssl.SSLContext | None,
        settings: uvicorn.Config,
        refusals: Refusals,
    ) -> None:
        """`settings`: uvicorn's, with the application."""
        listening.setblocking(False)
        if listening.family != socket.AF_UNIX:  # accepted sockets inherit it; see tcp(7)
            milliseconds = int(limits.untaken_seconds * 1000)
            listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)
        self._listening = listening
        self._limits = limits
        self._settings = settings
        self._refusals = refusals
        self._tls: dict[str, Any] = {}
        """The TLS arguments of asyncio."""
        if tls is not None:
            self._tls = {"ssl": tls, "ssl_handshake_timeout": limits.handshake_seconds}
        self._open: dict[Connection, asyncio.Task[None]] = {}
        """Connection -> the task that serves it, oldest first."""

    async def accept(self, state: ServerState) -> None:
        """Accept clients until cancelled; open connections are served further. `state`: uvicorn's."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                client, _ = await loop.sock_accept(self._listening)
            except OSError as error:
                self._refusals.count(cause=error.strerror)
                self._end(self._idle())  # scaling needs their file descriptors
                await asyncio.sleep(_FAILED_SECONDS)
                continue
            if len(self._open) >= self._limits.connections:
                self._refusals.count(cause="too many connections", most=self._limits.connections)
                self._end(self._idle()[: self._limits.connections // _BATCHES])
                await asyncio.sleep(_FULL_SECONDS)
            if len(self._open) >= self._limits.connections:
                client.close()  # all others wait for an answer
                continue
            connection = Connection(self._settings, state, self._limits.request_seconds)
            self._open[connection] = loop.create_task(self._serve(connection, client))
            await asyncio.sleep(0)  # read what accepted clients send while many wait to be accepted

    def _idle(self) -> list[Connection]:
        """Return the connections that wait for their clients, oldest first."""
        return [each for each in self._open if each.waits_for_client]

    def _end(self, some: Iterable[Connection]) -> None:
        for each in some:
            self._open[each].cancel()

    async def _serve(self, connection: Connection, client: socket.socket) -> None:
        """Serve a client from the accept to the end. A cancellation closes the connection."""
        loop = asyncio.get_running_loop()
        try:
            with suppress(OSError):  # a client without TLS, or one that leaves, is not a server error
                await loop.connect_accepted_socket(lambda: connection, client, **self._tls)
                await connection.lost.wait()
        finally:
            connection.end()
            del self._open[connection]
