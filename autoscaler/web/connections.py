"""All connections: accepted by us, counted from then on, and ended when they are too slow or too many.

uvicorn, as any asyncio server, accepts whatever comes: a thousand clients that send nothing take every file descriptor
of the process, and nothing scales any more.
"""

import asyncio
import errno
import socket
import ssl
from collections import Counter
from collections.abc import Collection
from contextlib import suppress
from typing import Final

import uvicorn
from uvicorn.server import ServerState

from autoscaler.clock import Clock
from autoscaler.logger import Logger
from autoscaler.web.addresses import client_of, is_loopback, peer_of
from autoscaler.web.connection import MAY_GIVE_WAY, Connection, Phase
from autoscaler.web.flood import Flood

_BATCH: Final = 32
"""Connections that are accepted in one turn of the loop, and that give way at once."""
_PAUSE_SECONDS: Final = 0.02
"""Without accepting in a flood: 1,600 connections a second are enough."""
_FAILED_SECONDS: Final = 1.0
"""Without accepting after it has failed, mostly because the process or the machine has no descriptor left."""
_EXHAUSTED: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_MOST_UNSENT_BYTES: Final = 64 * 2**20
"""Of answers that clients do not take, for all of them."""


class Connections:
    """Of one server. Used from its event loop alone."""

    def __init__(
        self,
        listening: socket.socket,
        most: int,
        tls: ssl.SSLContext | None,
        settings: uvicorn.Config,
        clock: Clock,
        logger: Logger,
    ) -> None:
        """`most`: at once. Other machines leave a sixteenth of them to this one; one address has half at most."""
        self._listening = listening
        self._most = most
        self._most_of_strangers = most - most // 16
        self._most_of_one = most // 2
        self._tls = tls
        self._settings = settings
        self._clock = clock
        self._flood = Flood("connection_flood", clock, logger)
        self._open: dict[Connection, asyncio.Task[None]] = {}
        """With the task that connects each."""
        self._of_client: Counter[str] = Counter()
        self._resuming: asyncio.TimerHandle | None = None

    def start(self, state: ServerState) -> None:
        """Accept from now on; `state` is uvicorn's."""
        self._state = state
        self._listening.setblocking(False)
        self._resume()

    def stop(self) -> None:
        """Accept nothing more. What there is goes on."""
        self._pause()

    def drop_all(self) -> None:
        """End what there is."""
        self._drop(tuple(self._open))

    def look(self) -> None:
        """To be called every half second or so: ends those whose time is over."""
        now = self._clock.monotonic()
        self._drop([each for each in self._open if each.overdue(now)])
        self._flood.look()

    def _resume(self) -> None:
        asyncio.get_running_loop().add_reader(self._listening, self._accept)

    def _pause(self, seconds: float | None = None) -> None:
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._listening)
        if self._resuming is not None:
            self._resuming.cancel()
        self._resuming = None if seconds is None else loop.call_later(seconds, self._resume)

    def _accept(self) -> None:
        """A batch of those who wait; in a flood, what there is gets its turn before the next batch."""
        refused = self._flood.refused
        for _ in range(_BATCH):
            try:
                accepted, address = self._listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                break
            except OSError as error:
                if error.errno in _EXHAUSTED:
                    self._give_way(self._open, error.strerror or "")
                self._pause(_FAILED_SECONDS)
                return
            # the address of a Unix socket's client is a name that it chose itself, if any
            host = f"uid {peer_of(accepted)}" if accepted.family == socket.AF_UNIX else address[0]
            if self._has_room(host):
                self._connect(accepted, client_of(host))
            else:
                accepted.close()
        if self._flood.refused > refused:
            self._pause(_PAUSE_SECONDS)

    def _has_room(self, host: str) -> bool:
        """Whether one more of this address may come in. If others can give way to it, they do."""
        if is_loopback(host):
            return len(self._open) < self._most or self._give_way(self._open, "too many connections")
        client = client_of(host)
        if self._of_client[client] >= self._most_of_one:
            own = [each for each in self._open if each.client_name == client]
            return self._give_way(own, "too many connections of one address")
        return len(self._open) < self._most_of_strangers or self._give_way(self._open, "too many connections")

    def _give_way(self, some: Collection[Connection], cause: str) -> bool:
        """End up to a batch of those that wait for their client: of whom there are most first, then the oldest.

        False: there are none.
        """
        idle = [each for each in some if each.phase <= MAY_GIVE_WAY]
        idle.sort(key=lambda each: (-self._of_client[each.client_name], each.phase is Phase.KEEP_ALIVE))
        going = idle[:_BATCH]
        self._flood.count(max(1, len(going)), cause=cause, connections=len(self._open), most=self._most)
        self._drop(going)
        return bool(going)

    def _connect(self, accepted: socket.socket, client: str) -> None:
        connection = Connection(client, self._settings, self._state, self._bound_unsent, self._forget)
        self._of_client[client] += 1
        self._open[connection] = connecting = asyncio.create_task(self._hand_over(connection, accepted))
        connecting.add_done_callback(lambda _: self._handed_over(connection, accepted))

    async def _hand_over(self, connection: Connection, accepted: socket.socket) -> None:
        accepted.setblocking(False)
        with suppress(OSError):  # whoever speaks no TLS, or leaves, is nobody's error
            await asyncio.get_running_loop().connect_accepted_socket(lambda: connection, accepted, ssl=self._tls)

    def _handed_over(self, connection: Connection, accepted: socket.socket) -> None:
        if not connection.connected:
            accepted.close()
            self._forget(connection)

    def _drop(self, some: Collection[Connection]) -> None:
        for each in some:
            if each.connected:
                each.transport.abort()
            else:
                self._open[each].cancel()
            self._forget(each)

    def _forget(self, connection: Connection) -> None:
        if self._open.pop(connection, None) is not None:
            self._of_client[connection.client_name] -= 1
            self._of_client += Counter()  # without those that came to nothing

    def _bound_unsent(self) -> None:
        """Memory: those go whose clients have not taken their answers for longest, until the rest is within bounds."""
        slow = [each for each in self._open if each.unsent]
        now = self._clock.monotonic()
        total = sum(each.unsent for each in slow)
        for each in sorted(slow, key=lambda each: each.since(now))[:-1]:
            if total <= _MOST_UNSENT_BYTES:
                return
            total -= each.unsent
            self._flood.count(cause="answers that are not taken", connections=len(self._open), most=self._most)
            self._drop([each])
