"""botocore's HTTP client with one deadline for a whole exchange.

botocore's time-outs are fixed for a client's life and bound each wait for bytes: what trickles is waited for as long
as it likes. Here connecting waits no longer than what remains until the deadline, and so does every read: of the
status line, of headers and of the body. Requests reach it by botocore's event `before-send`.
"""

import http.client
import io
from collections.abc import Callable
from socket import socket
from typing import Any, Final, cast

from botocore.awsrequest import (
    AWSHTTPConnection,
    AWSHTTPConnectionPool,
    AWSHTTPSConnection,
    AWSHTTPSConnectionPool,
    AWSPreparedRequest,
    AWSResponse,
)
from botocore.httpsession import URLLib3Session
from botocore.utils import get_environ_proxies

_ENOUGH_SECONDS: Final = 60
"""The library's own time-out, never reached: cycles are shorter."""


class Transport:
    """Sends what botocore has prepared and signed."""

    def __init__(self, verify: str | bool, remaining: Callable[[], float]) -> None:
        """`verify`: botocore's: a CA bundle, or whether to verify. `remaining`: seconds to the deadline, now."""
        self._verify = verify
        self._pools = _pools(remaining)
        self._sessions: dict[str, _Session] = {}

    def send(self, request: AWSPreparedRequest, **_: Any) -> AWSResponse:
        """The answer; a handler of `before-send`. Raises botocore's HTTPClientError."""
        origin = "/".join(request.url.split("/", 3)[:3])
        if origin not in self._sessions:
            proxies = get_environ_proxies(request.url)
            self._sessions[origin] = _Session(
                self._pools, verify=self._verify, proxies=proxies, timeout=_ENOUGH_SECONDS
            )
        return self._sessions[origin].send(request)

    def close(self) -> None:
        """Close idle connections."""
        for session in self._sessions.values():
            session.close()


class _Session(URLLib3Session):
    def __init__(self, pools: dict[str, Any], **options: Any) -> None:
        super().__init__(**options)
        self._pool_classes_by_scheme = pools
        self._manager.pool_classes_by_scheme = pools  # type: ignore[attr-defined] # the stubs know no fields


def _pools(remaining: Callable[[], float]) -> dict[str, Any]:
    """Connection pools whose connections know the deadline."""

    class Reply(http.client.HTTPResponse):
        def __init__(self, sock: socket, *args: Any, **options: Any) -> None:
            super().__init__(sock, *args, **options)
            self.fp = io.BufferedReader(_UntilDeadline(self.fp.detach(), sock, remaining))

    class Plain(AWSHTTPConnection):
        response_class = Reply  # type: ignore[assignment] # http.client's own, which botocore sets, not what its stubs say

        def connect(self) -> None:
            self.timeout = _left(remaining)
            super().connect()

    class Encrypted(AWSHTTPSConnection):
        response_class = Reply  # type: ignore[assignment] # http.client's own, which botocore sets, not what its stubs say

        def connect(self) -> None:
            self.timeout = _left(remaining)
            super().connect()

    class PlainPool(AWSHTTPConnectionPool):
        ConnectionCls = Plain

    class EncryptedPool(AWSHTTPSConnectionPool):
        ConnectionCls = Encrypted

    return {"http": PlainPool, "https": EncryptedPool}


class _UntilDeadline(io.RawIOBase):
    """A socket's bytes, each read bounded by what remains."""

    def __init__(self, raw: Any, sock: socket, remaining: Callable[[], float]) -> None:
        self._raw = raw
        self._sock = sock
        self._remaining = remaining

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._sock.settimeout(_left(self._remaining))
        return cast("int | None", self._raw.readinto(buffer))

    def close(self) -> None:
        self._raw.close()
        super().close()


def _left(remaining: Callable[[], float]) -> float:
    seconds = remaining()
    if seconds <= 0:
        raise TimeoutError("the deadline has passed")
    return seconds
