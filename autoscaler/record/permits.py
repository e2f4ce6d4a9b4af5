"""PostgreSQL: permits of which only so many are out at a time, in all daemons that share the state together.

A permit is an advisory lock of a transaction that does nothing else. So it is given back however its holder ends: with
the transaction, with the connection, or by the server, which ends a transaction that is idle for too long.
"""

import random
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final

from sqlalchemy import URL, Connection, text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from autoscaler.errors import StateError, bug
from autoscaler.record.database import connect, place, state_errors
from autoscaler.record.locks import KEY

_TURN_MILLISECONDS: Final = 200
"""How long one permit is waited for before all are tried again."""
_GRACE_SECONDS: Final = 1.0
"""How long after the end of a permit's time it is taken back."""
_MOST_LEFT_BEHIND: Final = 64
"""Threads that nobody waits for any more and that wait for the database, before no further one is begun."""
_END_SECONDS: Final = 2.0
"""How long the threads' end is waited for."""
_NOT_FREE: Final = "55P03"
"""What PostgreSQL says of a lock that was not had in time (lock_not_available)."""


class _Request:
    """One that is asked for, and its end."""

    def __init__(self, of: str, limit: int, seconds: float) -> None:
        self.of = of
        self.limit = limit
        self.seconds = max(0.0, seconds)
        self.had: Future[None] = Future()
        """Done when it has the permit, or cannot have it; cancelled by who gives up."""
        self.over = threading.Event()
        """It is not needed any more."""


class Permits:
    """Any number of threads use it.

    Each permit has a connection and a thread of its own for as long as it is out, so that no caller ever waits for the
    database: neither for longer than it wants to, nor to give a permit back.
    """

    def __init__(self, url: URL, *, sessions: str) -> None:
        """Connects at first use. `sessions`: how they are called there."""
        self._url = url
        self._engine = connect(url, sessions=sessions, most=None)
        self._changed = threading.Condition()
        self._requests: set[_Request] = set()
        """Those that have a thread."""

    def take(self, of: str, limit: int, seconds: float) -> Callable[[], None] | None:
        """Have one of the `limit` permits called `of`, within `seconds`. Returns what gives it back; None: all are out.

        Soon after `seconds` it is taken back in any case. Raises StateError.
        """
        request = _Request(of, limit, seconds)
        with self._changed:
            left_behind = sum(each.over.is_set() for each in self._requests)
            if left_behind >= _MOST_LEFT_BEHIND:
                raise StateError(f"{place(self._url)}: {left_behind} earlier requests have had no answer")
            self._requests.add(request)
        try:
            threading.Thread(target=self._run, args=(request,), name="permit", daemon=True).start()
        except RuntimeError:
            self._forget(request)
            raise StateError(f"{place(self._url)} cannot be asked: the process may have no more threads") from None
        try:
            request.had.result(request.seconds)
        except TimeoutError:
            if request.had.cancel():
                request.over.set()
                return None
            request.had.result()  # it came in the same moment
        return request.over.set

    def close(self) -> None:
        """Take back every permit, and close the connections; what hangs in the database ends with the process."""
        with self._changed:
            for request in self._requests:
                request.over.set()
            self._changed.wait_for(lambda: not self._requests, _END_SECONDS)
        self._engine.dispose()

    def _forget(self, request: _Request) -> None:
        with self._changed:
            self._requests.discard(request)
            self._changed.notify_all()

    def _run(self, request: _Request) -> None:
        """On a thread of its own: from the request until the permit is given back."""
        connection: Connection | None = None
        failure: Exception | None = None
        try:
            with state_errors(self._url):
                connection = self._have(request)
        except StateError as error:
            failure = error
        except Exception as error:  # noqa: BLE001 - handed to who asked, and would wait for it in vain
            failure = StateError(f"{place(self._url)}: {bug(error)}")
        if request.had.set_running_or_notify_cancel():
            if failure is not None:
                request.had.set_exception(failure)
            else:
                request.had.set_result(None)
                request.over.wait(request.seconds + _GRACE_SECONDS)
        if connection is not None:
            _give_back(connection)
        self._forget(request)

    def _have(self, request: _Request) -> Connection | None:
        """A connection that has a permit; None: who asked has given up."""
        connection = self._engine.connect()
        try:
            while not request.over.is_set():
                if _try_all(connection, request) or _wait_for_one(connection, request):
                    return connection
                connection.rollback()
        except SQLAlchemyError:
            connection.invalidate()
            connection.close()
            raise
        connection.close()
        return None


def _try_all(connection: Connection, request: _Request) -> bool:
    """Whether it has the first that is free: a CASE evaluates its conditions in their order, and none after a true one.

    Within this transaction the server waits for a lock, and for who holds a permit, no longer than it should.
    """
    keys = {f"of{number}": _name(request, number) for number in range(request.limit)}
    tries = " ".join(f"WHEN pg_try_advisory_xact_lock({KEY.replace('lock', key)}) THEN true" for key in keys)
    query = text(
        "SELECT set_config('idle_in_transaction_session_timeout', :held, true), "
        f"set_config('lock_timeout', :turn, true), CASE {tries} ELSE false END AS had"
    )
    held = int((request.seconds + _GRACE_SECONDS) * 1000)
    return bool(connection.execute(query, {"held": str(held), "turn": str(_TURN_MILLISECONDS), **keys}).one().had)


def _wait_for_one(connection: Connection, request: _Request) -> bool:
    """Queue for one of them, behind those that came before. Returns whether it has it."""
    name = _name(request, random.randrange(request.limit))  # noqa: S311 - spreads who waits
    try:
        connection.execute(text(f"SELECT pg_advisory_xact_lock({KEY})"), {"lock": name})
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) == _NOT_FREE:
            return False
        raise
    return True


def _name(request: _Request, number: int) -> str:
    return f"permit {number} {request.of}"


def _give_back(connection: Connection) -> None:
    """Also where the connection is gone: then the server has taken the permit back."""
    try:
        connection.rollback()
    except SQLAlchemyError:
        connection.invalidate()
    connection.close()
