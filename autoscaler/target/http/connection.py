"""Connections that know a deadline, for requests and for client libraries that bring their own HTTP on urllib3.

A time-out of urllib3 bounds each wait for bytes, so a peer that sends one byte a second is waited for as long as it
likes. Here every connect, handshake, piece sent and read waits no longer than what remains until the deadline.
"""

import http
import http.client
import io
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeAlias, cast

from autoscaler.target.http.errors import HttpError, Interrupted, TooLarge, Unreachable, refuses_us, tls_words, words
from autoscaler.target.http.limits import in_mib
from autoscaler.target.http.lookup import connect, positive

Left: TypeAlias = Callable[[], float]
"""Seconds until the deadline of the exchange under way; zero or negative when it has passed."""
Dial: TypeAlias = Callable[[float], socket.socket]
"""A connected socket, within so many seconds; for peers that are not behind a host and a port. Raises OSError."""

_LARGEST_HEAD: Final = 2**20
"""Bytes of an answer before its body: status, headers, and interim answers (1xx), which may come without end."""
_PIECE: Final = 2**14
"""Bytes sent at once: TLS's largest record, each of which Python gives a socket's whole time-out."""


def bounded(base: Any, left: Left, *, dial: Dial | None = None, largest: int | None = None) -> Any:
    """`base`, a class of urllib3's connections, with the deadline. Its connections raise TimeoutError at it.

    They raise Unreachable where there is no connection. `largest`: bytes of an answer, as they come over the wire,
    headers included; TooLarge is raised beyond.
    """

    class Reply(http.client.HTTPResponse):
        def __init__(self, sock: socket.socket, *args: Any, **options: Any) -> None:
            super().__init__(sock, *args, **options)
            self._wire = UntilDeadline(self.fp.detach(), sock, left, largest)
            self.fp = io.BufferedReader(self._wire)

        def begin(self) -> None:
            try:
                with self._wire.bounded_by(_LARGEST_HEAD):
                    super().begin()
            except TooLarge:
                raise Interrupted(f"its headers are larger than {in_mib(_LARGEST_HEAD)}") from None
            if self.status < http.HTTPStatus.OK:  # the answer itself would be taken for that to the next request
                raise Interrupted(f"answered HTTP {self.status}, an interim answer that nobody asked for")

    class Bounded(base):  # type: ignore[misc] # the class is the caller's
        response_class = Reply

        def _new_conn(self) -> socket.socket:
            made = connect(self._dns_host.strip("[]"), self.port, left) if dial is None else _dialled(dial, left)
            return _in_time(made, left)

        def _tunnel(self) -> None:
            super()._tunnel()
            self.sock.settimeout(positive(left()))  # for the handshake through a proxy

        def send(self, data: Any) -> None:
            with _sent(answered=False):
                for start in range(0, len(data), _PIECE):
                    if self.sock is not None:
                        self.sock.settimeout(positive(left()))
                    super().send(data[start : start + _PIECE])

    return Bounded


@contextmanager
def _sent(*, answered: bool) -> Iterator[None]:
    """TLS that fails once a request is under way says nothing of what that came to, unless the peer refuses us."""
    try:
        yield
    except ssl.SSLError as error:
        if refuses_us(error) and not answered:
            raise
        raise Interrupted(tls_words(error)) from None


def _dialled(dial: Dial, left: Left) -> socket.socket:
    try:
        return dial(positive(left()))
    except (HttpError, TimeoutError):
        raise
    except OSError as error:
        raise Unreachable(words(error)) from None


def _in_time(connection: socket.socket, left: Left) -> socket.socket:
    """The connection, closed if it came about at the deadline."""
    try:
        connection.settimeout(positive(left()))  # for the TLS handshake, which Python bounds as a whole
    except TimeoutError:
        connection.close()  # nobody else knows it yet
        raise
    return connection


class UntilDeadline(io.RawIOBase):
    """A socket's bytes, each read bounded by what remains, and all of them by a number of bytes."""

    def __init__(self, raw: io.RawIOBase, sock: socket.socket, left: Left, largest: int | None = None) -> None:
        self._raw = raw
        self._sock = sock
        self._left = left
        self._largest = largest
        self._count = 0

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: Any) -> int | None:
        """The next bytes. Raises TimeoutError at the deadline, and TooLarge."""
        self._sock.settimeout(positive(self._left()))
        with _sent(answered=self._count > 0):
            count = cast("int | None", self._raw.readinto(buffer))
        self._count += count or 0
        if self._largest is not None and self._count > self._largest:
            raise TooLarge(f"answered with more than {in_mib(self._largest)}")
        return count

    @contextmanager
    def bounded_by(self, size: int) -> Iterator[None]:
        """At most so many bytes meanwhile, if it is fewer."""
        whole = self._largest
        self._largest = size if whole is None else min(size, whole)
        try:
            yield
        finally:
            self._largest = whole

    def close(self) -> None:
        """Close the socket's file, too."""
        self._raw.close()
        super().close()
