"""One client's connection: uvicorn's HTTP/1.1 with a deadline for requests and a limit of connections."""

import asyncio
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of the clients of one listening socket."""

    connections: int
    """Concurrent connections."""
    request_seconds: float = 10.0
    """Seconds until a request is complete, from the beginning of the connection or the last answer."""
    handshake_seconds: float = 5.0
    """Seconds of the TLS handshake; asyncio allows a minute."""
    untaken_seconds: float = 30.0
    """Seconds in which a client receives nothing of an answer."""


class Connection(H11Protocol):
    """Closes when a request is incomplete `request_seconds` after the connection began or the last answer ended.

    Above `connections`, it closes the oldest one that waits for its client: idle clients keep file descriptors that
    scaling needs, and must not lock out an operator. uvicorn's `limit_concurrency` would answer the operator with 503.

    Each request's `scope["state"]` identifies the client: `certificate`, the common name of the verified client
    certificate, or `peer`, the uid at the other end of a Unix socket. `malformed` is set when the body is not HTTP; it
    then seems to end.
    """

    def __init__(
        self,
        settings: uvicorn.Config,
        state: ServerState,
        limits: Limits,
        opened: dict["Connection", None],
    ) -> None:
        """`opened`: the connections of the same socket, oldest first."""
        super().__init__(settings, state, {})
        self._limits, self._opened = limits, opened

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as H11Protocol's
        """Asyncio calls it after the TLS handshake, if any."""
        super().connection_made(transport)
        self.app_state = dict(_proven(transport))
        self._deadline = self._set_deadline()
        self._opened[self] = None
        if len(self._opened) > self._limits.connections:
            oldest = next((each for each in self._opened if each.waits_for_client), self)
            del self._opened[oldest]
            oldest.transport.abort()

    def on_response_complete(self) -> None:
        """Uvicorn calls it once an answer was passed to the transport."""
        super().on_response_complete()
        self._deadline.cancel()
        self._deadline = self._set_deadline()

    def send_400_response(self, msg: str) -> None:
        """Answer 400 to bytes that are not HTTP. Uvicorn calls this.

        In the middle of a request, it only marks the request as malformed and ends its body: the handler answers,
        because it must refuse a client without rights first. After an answer, it closes the connection.
        """
        if self.conn.our_state is h11.IDLE:
            super().send_400_response(msg)
        elif self.cycle.response_complete:
            self.transport.abort()
        else:
            self.cycle.scope["state"]["malformed"] = True
            self.cycle.more_body = False
            self.cycle.message_event.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """Asyncio calls it when the connection has closed."""
        super().connection_lost(exc)
        self._opened.pop(self, None)
        self._deadline.cancel()

    @property
    def waits_for_client(self) -> bool:
        """Return whether the server waits for the client to send a request or to receive an answer."""
        answering = self.cycle is not None and not self.cycle.response_complete
        return not answering or self.flow.write_paused or self.conn.their_state is h11.SEND_BODY

    def _set_deadline(self) -> asyncio.TimerHandle:
        """Return the timer that closes the connection if its request is incomplete then, whatever parts arrive."""
        return self.loop.call_later(self._limits.request_seconds, self._close_if_incomplete)

    def _close_if_incomplete(self) -> None:
        if self.conn.their_state in (h11.IDLE, h11.SEND_BODY):
            self.transport.close()


def _proven(transport: asyncio.Transport) -> Mapping[str, str | int]:
    client = transport.get_extra_info("socket")
    if client.family == socket.AF_UNIX:  # source: unix(7), SO_PEERCRED
        _, uid, _ = struct.unpack(
            "iII", client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("iII"))
        )
        return {"peer": int(uid)}
    certificate = transport.get_extra_info("peercert") or {}  # empty unless it was verified
    names = [value for part in certificate.get("subject", ()) for key, value in part if key == "commonName"]
    return {"certificate": names[0]} if len(names) == 1 else {}
