"""Resolves host names by a deadline.

A look-up cannot be interrupted: one that hangs stays behind in its own thread. Each name has at most one, which all
callers share; all names together have at most four.
"""

import errno
import socket
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, Final, TypeAlias

from autoscaler.net.errors import Unreachable, words
from autoscaler.threads import NoThread, spawn

MOST_LOOK_UPS: Final = 4
"""Threads of the whole process."""

Address: TypeAlias = tuple[socket.AddressFamily, socket.SocketKind, int, str, Any]
"""An address as `socket.getaddrinfo` returns it."""
_Key: TypeAlias = tuple[str, int]


class LookUps:
    """The look-ups in progress. Any thread may use it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._under_way: dict[_Key, Future[Sequence[Address]]] = {}
        self._given_up: set[_Key] = set()
        """Look-ups whose caller has stopped waiting."""

    def addresses(self, host: str, port: int, left: Callable[[], float]) -> Sequence[Address]:
        """Return the addresses of `host`, at least one. `left`: returns the seconds until the deadline.

        Raises TimeoutError at the deadline. Raises Unreachable for a name without an address, and at once when
        MOST_LOOK_UPS other look-ups hang.
        """
        try:  # an address needs no look-up
            return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
        except (OSError, UnicodeError):
            pass
        future = self._join((host, port), left)
        try:
            found = future.result(timeout=max(left(), 0))
        except TimeoutError:
            with self._changed:
                if (host, port) in self._under_way:
                    self._given_up.add((host, port))
                    self._changed.notify_all()
            raise
        except OSError as error:
            raise Unreachable(f"the address of {host!r} was not found: {words(error)}") from None
        except UnicodeError:
            raise Unreachable(f"{host!r} is not a valid host name") from None
        return found

    def _join(self, key: _Key, left: Callable[[], float]) -> Future[Sequence[Address]]:
        """Return this name's look-up in progress, or a new one when fewer than MOST_LOOK_UPS run."""
        with self._changed:
            while key not in self._under_way and len(self._under_way) >= MOST_LOOK_UPS:
                if len(self._given_up) >= MOST_LOOK_UPS:
                    raise Unreachable(
                        f"the address of {key[0]!r} was not looked up: {MOST_LOOK_UPS} earlier look-ups hang; "
                        "is the resolver in /etc/resolv.conf up?"
                    )
                if not self._changed.wait(max(left(), 0)):
                    raise TimeoutError
            if key in self._under_way:
                return self._under_way[key]
            future = self._under_way[key] = Future()
        try:
            spawn(f"look-up-{key[0]}", partial(self._run, key, future))
        except NoThread:  # the next caller tries again
            future.set_exception(OSError(errno.EAGAIN, "no thread could be started"))
            self._end(key)
        return future

    def _run(self, key: _Key, future: Future[Sequence[Address]]) -> None:
        try:
            future.set_result(socket.getaddrinfo(*key, type=socket.SOCK_STREAM))
        except BaseException as error:  # noqa: BLE001 - the waiting threads raise it, as with an executor
            future.set_exception(error)
        finally:
            self._end(key)

    def _end(self, key: _Key) -> None:
        with self._changed:
            del self._under_way[key]
            self._given_up.discard(key)
            self._changed.notify_all()


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
