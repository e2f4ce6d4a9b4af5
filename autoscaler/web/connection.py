"""One client's connection: uvicorn's HTTP/1.1, with bounds against clients that are slow on purpose."""

import asyncio
import socket
from collections.abc import Callable
from enum import IntEnum
from typing import Final

import anyio
import h11
import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from autoscaler.web.addresses import peer_of
from autoscaler.web.api.answers import ErrorType, failure


class Phase(IntEnum):
    """What is going on, in the order in which connections give way to others."""

    CLOSING = 0
    """We have said goodbye."""
    HANDSHAKE = 1
    """TLS's, or none yet."""
    FIRST_BYTE = 2
    KEEP_ALIVE = 3
    """The next request may come."""
    HEADERS = 4
    """A request has begun."""
    BODY = 5
    SENDING = 6
    """The client is to take the answer."""
    ANSWERING = 7
    """The client waits for us."""


MAY_GIVE_WAY: Final = Phase.HEADERS
"""Up to here nothing is lost when a connection ends: the client has been promised nothing."""
DEADLINES: Final = {
    Phase.CLOSING: 5.0,
    Phase.HANDSHAKE: 5.0,
    Phase.FIRST_BYTE: 5.0,
    Phase.KEEP_ALIVE: 10.0,
    Phase.HEADERS: 5.0,
    Phase.BODY: 10.0,
    Phase.SENDING: 10.0,
}
"""Seconds that each may take. A waiting client is answered however long it takes: threads and queues have bounds."""
_LEAST_TAKEN_BYTES: Final = 64 * 1024
"""Of an answer, that a client must take in each deadline: 6.4 KiB a second."""
_MOST_AHEAD_BYTES: Final = 64 * 1024
"""That a client may send ahead of our answer: pipelined requests, or a body that nobody reads any more."""


class Connection(H11Protocol):
    """From its accept on. `phase` says what is going on, `overdue` whether that takes too long."""

    def __init__(
        self,
        client: str,
        settings: uvicorn.Config,
        state: ServerState,
        on_slow: Callable[[], None],
        on_end: Callable[["Connection"], None],
    ) -> None:
        """`client`: see `client_name`. `on_slow`: called when more is to be sent than the client takes."""
        super().__init__(settings, state, {})
        self.client_name = client
        """Whom it counts for."""
        self._since = 0.0
        """When what is going on was first seen."""
        self._answer_to = self.app
        self.app = self._answer
        self._proven: dict[str, str | int] = {}
        """What the connection itself proves of its client: `certificate`, the common name of the certificate that TLS
        verified, or `peer`, the uid of a Unix socket's other end. Each request's scope has it."""
        self._connected = False
        self._lost = False
        self._answering: anyio.CancelScope | None = None
        self._requests = 0
        self._on_slow = on_slow
        self._on_end = on_end
        self._seen: tuple[Phase, int] | None = None
        self._unsent: tuple[Callable[[], int], ...] = ()
        """What says it, in each layer that holds some back."""
        self._unsent_then = 0
        self._discarded = 0
        """Bytes of a body that arrived after the answer."""

    @property
    def connected(self) -> bool:
        """Whether TLS's handshake, if there is one, is over."""
        return self._connected

    @property
    def unsent(self) -> int:
        """Bytes of answers that the client has not taken."""
        return sum(size() for size in self._unsent)

    @property
    def phase(self) -> Phase:
        """What is going on."""
        if not self._connected:
            return Phase.HANDSHAKE
        answering = self.cycle is not None and not self.cycle.response_complete
        if self.unsent and (self.flow.write_paused or not answering):
            return Phase.SENDING
        if self.transport.is_closing():
            return Phase.CLOSING
        if self.conn.their_state is h11.SEND_BODY:
            return Phase.BODY
        if answering:
            return Phase.ANSWERING
        if self.conn.trailing_data[0]:
            return Phase.HEADERS
        return Phase.FIRST_BYTE if self.cycle is None else Phase.KEEP_ALIVE

    def since(self, now: float) -> float:
        """When what is going on began, as far as it was asked for before; both in monotonic seconds."""
        going_on = self.phase, self._requests
        if going_on != self._seen:
            self._seen, self._since, self._unsent_then = going_on, now, self.unsent
        return self._since

    def overdue(self, now: float) -> bool:
        """Whether what is going on has taken too long. To be asked about once a second; `now`: monotonic seconds."""
        phase = self.phase
        if now - self.since(now) < DEADLINES.get(phase, float("inf")):
            return False
        if phase is Phase.SENDING and self._unsent_then - self.unsent >= _LEAST_TAKEN_BYTES:
            self._since, self._unsent_then = now, self.unsent
            return False
        return True

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as H11Protocol's
        """Asyncio's: it may speak now."""
        super().connection_made(transport)
        self._connected = True
        self._proven = _proven(transport)
        self._unsent = (transport.get_write_buffer_size,)
        tls = getattr(transport, "_ssl_protocol", None)
        if (
            tls is not None
        ):  # its transport counts what is not encrypted yet, until it is closed; the one below the rest
            self._unsent = (tls._get_write_buffer_size, tls._transport.get_write_buffer_size)  # noqa: SLF001 - asyncio hides them

    def data_received(self, data: bytes) -> None:
        """Asyncio's: requests, or parts of them."""
        if self.conn.their_state is h11.SEND_BODY and self.cycle.response_complete:
            self._discarded += len(data)
        super().data_received(data)
        ahead = self._discarded
        if len(data) > _MOST_AHEAD_BYTES and self.conn.their_state is h11.DONE:
            ahead += len(self.conn.trailing_data[0])
        if ahead > _MOST_AHEAD_BYTES:
            self.transport.abort()

    def pause_writing(self) -> None:
        """Asyncio's: the client does not take what we send."""
        super().pause_writing()
        self._on_slow()

    def connection_lost(self, exc: Exception | None) -> None:
        """Asyncio's: the client is gone."""
        super().connection_lost(exc)
        self._lost = True
        if self._answering is not None:
            self._answering.cancel()  # whatever still waits in a queue for its turn leaves it
        self._on_end(self)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._requests += 1
        self._discarded = 0
        scope.update(self._proven)
        self._answering = answering = anyio.CancelScope()
        try:
            with answering:
                if _is_ambiguous(scope):
                    message = "both Content-Length and Transfer-Encoding are given; send one of them"
                    refusal = failure(ErrorType.BAD_DATA, message, {"Connection": "close"})
                    await refusal(scope, receive, send)
                else:
                    await self._answer_to(scope, receive, send)
        except asyncio.CancelledError:
            if not self._lost:
                raise
            # the server ends what nobody waits for any more: uvicorn would log it as an error
        if self.unsent:  # with TLS, nobody says so before the next answer
            self._on_slow()
        if self._answering is answering:  # else the next request, sent ahead, is being answered already
            self._answering = None


def _proven(transport: asyncio.Transport) -> dict[str, str | int]:
    client = transport.get_extra_info("socket")
    if client.family == socket.AF_UNIX:
        return {"peer": peer_of(client)}
    tls = transport.get_extra_info("ssl_object")
    certificate = None if tls is None else tls.getpeercert()  # {}, unless it was verified
    names = [value for part in (certificate or {}).get("subject", ()) for key, value in part if key == "commonName"]
    return {"certificate": names[0]} if len(names) == 1 else {}


def _is_ambiguous(scope: Scope) -> bool:
    """Whether two servers could see different ends of the request: smuggling (RFC 9112, 6.1)."""
    return {b"content-length", b"transfer-encoding"} <= {name for name, _ in scope["headers"]}
