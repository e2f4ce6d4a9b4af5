"""requests' transport with one deadline for a whole exchange.

A time-out of requests bounds each wait for bytes, so a server that sends one byte a second is waited for as long as
it likes. Here every read waits no longer than what remains until the deadline: status line, headers and body.
"""

import http.client
import io
from collections.abc import Callable
from socket import socket
from typing import Any, TypeAlias, cast

from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection

Remaining: TypeAlias = Callable[[], float]
"""Seconds until the deadline of the exchange under way; negative when it has passed."""


class BoundedTransport(HTTPAdapter):
    """Mounted on a session, it ends every exchange at the deadline with requests' own time-out errors."""

    def __init__(self, remaining: Remaining, server_name: str | None) -> None:
        self._remaining = remaining
        self._server_name = server_name
        super().__init__()

    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        """Called by HTTPAdapter; the server's name is what its certificate is checked against."""
        if self._server_name is not None:
            options |= {"server_hostname": self._server_name, "assert_hostname": self._server_name}
        super().init_poolmanager(*args, **options)
        self.poolmanager.pool_classes_by_scheme = _pools(self._remaining)


def _pools(remaining: Remaining) -> dict[str, type[HTTPConnectionPool]]:
    """Connection pools whose connections hand their replies the deadline."""

    class Reply(http.client.HTTPResponse):
        def __init__(self, sock: socket, *args: Any, **options: Any) -> None:
            super().__init__(sock, *args, **options)
            self.fp = io.BufferedReader(_UntilDeadline(self.fp.detach(), sock, remaining))

    class Plain(HTTPConnection):
        response_class = Reply

    class Encrypted(HTTPSConnection):
        response_class = Reply

    class PlainPool(HTTPConnectionPool):
        ConnectionCls = Plain

    class EncryptedPool(HTTPSConnectionPool):
        ConnectionCls = Encrypted

    return {"http": PlainPool, "https": EncryptedPool}


class _UntilDeadline(io.RawIOBase):
    """A socket's bytes, each read bounded by what remains."""

    def __init__(self, raw: io.RawIOBase, sock: socket, remaining: Remaining) -> None:
        self._raw = raw
        self._sock = sock
        self._remaining = remaining

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        seconds = self._remaining()
        if seconds <= 0:
            raise TimeoutError("the deadline has passed")
        self._sock.settimeout(seconds)
        return cast("int | None", self._raw.readinto(buffer))

    def close(self) -> None:
        self._raw.close()
        super().close()
