"""Connections with a deadline, for requests and for client libraries with their own HTTP on urllib3.

urllib3's time-out bounds each wait for bytes, so it does not bound an answer of one byte a second. Here every connect,
handshake, send and read is bounded by the time until the deadline.
"""

import http
import http.client
import io
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeAlias, cast

from autoscaler.net.errors import (
    Dropped,
    HttpError,
    HungUp,
    Interrupted,
    TooLarge,
    Unreachable,
    hung_up,
    refuses_us,
    tls_words,
    words,
)
from autoscaler.net.limits import in_mib
from autoscaler.net.lookup import connect, positive

Left: TypeAlias = Callable[[], float]
"""Returns the seconds until the deadline of the current exchange; zero or less when it has passed."""
Dial: TypeAlias = Callable[[float], socket.socket]
"""Connects a socket within these seconds, for peers without a host and port. Raises OSError."""

_MAX_HEAD: Final = 2**20
"""Bytes of an answer before its body: status, headers, and interim answers (1xx), whose number is unbounded."""
_PIECE: Final = 2**14
"""Bytes of one send: TLS's largest record. Python applies the time-out to each."""


def bounded(base: Any, left: Left, *, dial: Dial | None = None, left_to_connect: Left | None = None) -> Any:
    """Return a subclass of urllib3's connection class `base` with a deadline, at which it raises TimeoutError.

    It raises Unreachable when it cannot connect, or not within `left_to_connect` seconds (default: `left`), and Dropped
    when a connection that has served an exchange ends before the next answer begins.
    """
    soon = left_to_connect or left

    class Bounded(base):  # type: ignore[misc] # the base class is the caller's
        response_class = _reply(left)
        _kept = False
        """Whether it has answered a request."""

        def _new_conn(self) -> socket.socket:
            self._kept = False
            with _connecting(left):
                made = connect(self._dns_host.strip("[]"), self.port, soon) if dial is None else _dialled(dial, soon)
            return _in_time(made, left)

        def _tunnel(self) -> None:
            super()._tunnel()
            self.sock.settimeout(positive(left()))  # for the handshake through a proxy

        def send(self, data: Any) -> None:
            with _dropped(kept=self._kept), _sent(answered=False):
                for start in range(0, len(data), _PIECE):
                    if self.sock is not None:
                        self.sock.settimeout(positive(left()))
                    super().send(data[start : start + _PIECE])

        def getresponse(self) -> Any:
            with _dropped(kept=self._kept):
                answer = super().getresponse()
            self._kept = True
            return answer

    return Bounded


def _reply(left: Left) -> type[http.client.HTTPResponse]:
    """Return the class of answers that are read until the deadline."""

    class Reply(http.client.HTTPResponse):
        def __init__(self, sock: socket.socket, *args: Any, **options: Any) -> None:
            super().__init__(sock, *args, **options)
            self._wire = UntilDeadline(self.fp.detach(), sock, left)
            self.fp = io.BufferedReader(self._wire)

        def begin(self) -> None:
            try:
                with self._wire.bounded_by(_MAX_HEAD):
                    super().begin()
            except TooLarge:
                raise Interrupted(f"its headers are larger than {in_mib(_MAX_HEAD)}") from None
            if self.status < http.HTTPStatus.OK:  # the answer itself would count as that of the next request
                raise Interrupted(f"answered HTTP {self.status}, an interim answer that nobody asked for")

    return Reply


@contextmanager
def _connecting(left: Left) -> Iterator[None]:
    """Raise Unreachable when the time to connect is over before the deadline."""
    try:
        yield
    except TimeoutError:
        positive(left())
        raise Unreachable("no answer") from None


@contextmanager
def _sent(*, answered: bool) -> Iterator[None]:
    """Raise Interrupted when TLS fails during a request, whose outcome is unknown, unless the peer refuses our
    certificate.
    """
    try:
        yield
    except ssl.SSLError as error:
        if refuses_us(error) and not answered:
            raise
        raise (HungUp if hung_up(error) else Interrupted)(tls_words(error)) from None


@contextmanager
def _dropped(*, kept: bool) -> Iterator[None]:
    """Raise Dropped when a kept connection ends."""
    try:
        yield
    except BrokenPipeError:  # urllib3 then reads: the answer may have come before the end
        raise
    except (ConnectionError, HungUp):
        if not kept:
            raise
        raise Dropped("closed the connection without an answer") from None


def _dialled(dial: Dial, left: Left) -> socket.socket:
    try:
        return dial(positive(left()))
    except (HttpError, TimeoutError):
        raise
    except OSError as error:
        raise Unreachable(words(error)) from None


def _in_time(connection: socket.socket, left: Left) -> socket.socket:
    """Return the connection, or close it when the deadline has passed."""
    try:
        connection.settimeout(positive(left()))  # for the TLS handshake, which Python bounds as a whole
    except TimeoutError:
        connection.close()  # no caller has it yet
        raise
    return connection


class UntilDeadline(io.RawIOBase):
    """Reads a socket, each read bounded by the deadline and all reads by a number of bytes."""

    def __init__(self, raw: io.RawIOBase, sock: socket.socket, left: Left) -> None:
        self._raw = raw
        self._sock = sock
        self._left = left
        self._largest: int | None = None
        self._count = 0

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: Any) -> int | None:
        """Read the next bytes. Raises TimeoutError at the deadline, and TooLarge."""
        self._sock.settimeout(positive(self._left()))
        with _sent(answered=self._count > 0):
            count = cast("int | None", self._raw.readinto(buffer))
        self._count += count or 0
        if self._largest is not None and self._count > self._largest:
            raise TooLarge(f"answered with more than {in_mib(self._largest)}")
        return count

    @contextmanager
    def bounded_by(self, size: int) -> Iterator[None]:
        """Bound what is read, since the connection began, to this many bytes within the context."""
        self._largest = size
        try:
            yield
        finally:
            self._largest = None

    def close(self) -> None:
        """Close the socket's file too."""
        self._raw.close()
        super().close()
