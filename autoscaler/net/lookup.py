"""Resolves host names by a deadline.

A look-up cannot be interrupted: one that hangs stays behind in its own thread. Each name has at most one, which all
callers share.
"""

import socket
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, Final, TypeAlias

from autoscaler.net.errors import Unreachable, words
from autoscaler.threads import NoThread, spawn

Address: TypeAlias = tuple[socket.AddressFamily, socket.SocketKind, int, str, Any]
"""An address as `socket.getaddrinfo` returns it."""
_Key: TypeAlias = tuple[str, int]


class LookUps:
    """The look-ups in progress. Any thread may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._under_way: dict[_Key, Future[Sequence[Address]]] = {}

    def addresses(self, host: str, port: int, left: Callable[[], float]) -> Sequence[Address]:
        """Return the addresses of `host`, at least one. `left`: returns the seconds until the deadline.

        Raises TimeoutError at the deadline, and Unreachable for a name without an address.
        """
        try:  # an address needs no look-up
            return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
        except (OSError, UnicodeError):
            pass
        try:
            return self._join((host, port)).result(timeout=max(left(), 0))
        except TimeoutError:
            raise
        except OSError as error:
            raise Unreachable(f"the address of {host!r} was not found: {words(error)}") from None
        except NoThread as error:
            raise Unreachable(f"the address of {host!r} was not looked up: {error}") from None
        except UnicodeError:
            raise Unreachable(f"{host!r} is not a valid host name") from None

    def _join(self, key: _Key) -> Future[Sequence[Address]]:
        """Return this name's look-up in progress, or a new one. Raises NoThread."""
        with self._lock:
            future = self._under_way.get(key)
            if future is None or future.done():
                look_up = partial(socket.getaddrinfo, *key, type=socket.SOCK_STREAM)
                future = self._under_way[key] = spawn(f"look-up-{key[0]}", look_up)
            return future


_LOOK_UPS: Final = LookUps()


def connect(host: str, port: int, left: Callable[[], float]) -> socket.socket:
    """Connect to the host's addresses in turn, each with a share of the remaining time.

    Raises TimeoutError at the deadline, and Unreachable.
    """
    found = _LOOK_UPS.addresses(host, port, left)
    failures: list[str] = []
    for tried, (family, kind, protocol, _, address) in enumerate(found):
        seconds = positive(left()) / (len(found) - tried)
        try:
            return _connected(socket.socket(family, kind, protocol), address, seconds)
        except TimeoutError:
            failures.append("no answer")
        except OSError as error:
            failures.append(words(error))
    positive(left())
    raise Unreachable("; ".join(dict.fromkeys(failures)))


def _connected(connection: socket.socket, address: Any, seconds: float) -> socket.socket:
    try:
        connection.settimeout(seconds)
        connection.connect(address)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except OSError:
        connection.close()
        raise
    return connection


def positive(seconds: float) -> float:
    """Return the seconds if any are left. Raises TimeoutError."""
    if seconds <= 0:
        raise TimeoutError("the deadline has passed")
    return seconds
