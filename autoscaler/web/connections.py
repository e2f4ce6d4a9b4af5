"""The connections of a listening socket: a newcomer always finds a place, and whoever does nothing gives way.

uvicorn, as any asyncio server, accepts every client: a thousand clients that send nothing take every file descriptor
of the process, and nothing scales any more.
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
"""Clients that the kernel lets wait to be accepted: in a flood the operator's own is among them."""
_BATCHES: Final = 8
"""Of places: one at a time is emptied in a flood."""
_FULL_SECONDS: Final = 0.02
"""Between two batches: so many newcomers are enough, and leave processor time to the shards."""
_FAILED_SECONDS: Final = 1.0
"""Without accepting after it has failed, mostly because the process or the machine has no descriptor left."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What the clients of one listening socket may take."""

    connections: int
    """At once."""
    request_seconds: float = 10.0
    """From the beginning of the connection, or the last answer, until a request is complete."""
    handshake_seconds: float = 5.0
    """TLS's."""
    untaken_seconds: float = 30.0
    """Without taking anything of an answer."""


class Connections:
    """Of one listening socket. Used from the server's event loop alone."""

    def __init__(
        self,
        listening: socket.socket,
        limits: Limits,
        tls: ssl.SSLContext | None,
        settings: uvicorn.Config,
        refusals: Refusals,
    ) -> None:
        """`settings`: the application that answers, among others."""
        listening.setblocking(False)
        if listening.family != socket.AF_UNIX:  # what is accepted inherits it; see tcp(7)
            milliseconds = int(limits.untaken_seconds * 1000)
            listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)
        self._listening = listening
        self._limits = limits
        self._settings = settings
        self._refusals = refusals
        self._tls: dict[str, Any] = {}
        """As asyncio takes it."""
        if tls is not None:
            self._tls = {"ssl": tls, "ssl_handshake_timeout": limits.handshake_seconds}
        self._open: dict[Connection, asyncio.Task[None]] = {}
        """With the task that serves each; the oldest first."""

    async def accept(self, state: ServerState) -> None:
        """Accept clients until this is cancelled; those that were accepted are served on. `state`: uvicorn's."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                client, _ = await loop.sock_accept(self._listening)
            except OSError as error:
                self._refusals.count(cause=error.strerror)
                self._end(self._idle())  # scaling needs their descriptors
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
            await asyncio.sleep(0)  # where many wait to be accepted, what they send is looked at in between

    def _idle(self) -> list[Connection]:
        """Those that wait for their clients, the oldest first."""
        return [each for each in self._open if each.waits_for_client]

    def _end(self, some: Iterable[Connection]) -> None:
        for each in some:
            self._open[each].cancel()

    async def _serve(self, connection: Connection, client: socket.socket) -> None:
        """From the accept to the end; the connection ends when this is cancelled."""
        loop = asyncio.get_running_loop()
        try:
            with suppress(OSError):  # a client that speaks no TLS, or leaves, is not our error
                await loop.connect_accepted_socket(lambda: connection, client, **self._tls)
                await connection.lost.wait()
        finally:
            connection.end()
            del self._open[connection]
