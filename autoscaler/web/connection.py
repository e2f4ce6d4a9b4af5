"""One client's connection: uvicorn's HTTP/1.1 with a deadline for requests."""

import asyncio
import socket
from collections.abc import Mapping
from typing import Final

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from autoscaler.web.addresses import peer_of

_AWAITED: Final = (h11.IDLE, h11.SEND_BODY)
"""The client's states while its request is incomplete."""


class Connection(H11Protocol):
    """Closes when a request is incomplete `request_seconds` after the connection began or the last answer ended.

    Each request's `scope["state"]` identifies the client: `certificate`, the common name of the verified client
    certificate, or `peer`, the uid at the other end of a Unix socket.
    """

    def __init__(self, settings: uvicorn.Config, state: ServerState, request_seconds: float) -> None:
        super().__init__(settings, state, {})
        self.lost = asyncio.Event()
        """Set when the connection has closed."""
        self._request_seconds = request_seconds
        self._deadline: asyncio.TimerHandle | None = None

    @property
    def waits_for_client(self) -> bool:
        """Return whether the server waits for the client to send a request or to receive an answer."""
        answering = self.cycle is not None and not self.cycle.response_complete
        return not answering or self.flow.write_paused or self.conn.their_state is h11.SEND_BODY

    def end(self) -> None:
        """Close the connection if it is open."""
        if self.transport is not None and not self.lost.is_set():
            self.transport.abort()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as H11Protocol's
        """Asyncio calls it after the TLS handshake, if any."""
        super().connection_made(transport)
        self.app_state = dict(_proven(transport))
        self._set_deadline()

    def data_received(self, data: bytes) -> None:
        """Asyncio calls it with received bytes."""
        super().data_received(data)
        self._set_deadline()

    def on_response_complete(self) -> None:
        """Uvicorn calls it once an answer was passed to the transport."""
        super().on_response_complete()
        self._set_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        """Asyncio calls it when the connection has closed."""
        super().connection_lost(exc)
        if self._deadline is not None:
            self._deadline.cancel()
        self.lost.set()

    def _set_deadline(self) -> None:
        """Set or clear the deadline. It runs while a request is incomplete, whatever parts of it arrive."""
        awaited = self.conn.their_state in _AWAITED
        if awaited and self._deadline is None:
            self._deadline = self.loop.call_later(self._request_seconds, self.transport.close)
        elif not awaited and self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def _proven(transport: asyncio.Transport) -> Mapping[str, str | int]:
    client = transport.get_extra_info("socket")
    if client.family == socket.AF_UNIX:
        return {"peer": peer_of(client)}
    certificate = transport.get_extra_info("peercert") or {}  # empty unless it was verified
    names = [value for part in certificate.get("subject", ()) for key, value in part if key == "commonName"]
    return {"certificate": names[0]} if len(names) == 1 else {}
