"""Sessions of PostgreSQL: their encoding, and their limits, so that no call waits for ever.

A vanished server is noticed by the kernel's probes, a slow one by `statement_timeout`. A reply that is lost on the way
(a proxy that forwards nothing and still acknowledges) is noticed by this program alone (`_Session.wait`).
"""

import re
from collections.abc import Generator
from datetime import timedelta
from time import monotonic
from typing import Any, Final, TypeVar

import psycopg
from psycopg.abc import PQGen
from sqlalchemy import URL, Engine, create_engine, event

from autoscaler.errors import StateError

_R = TypeVar("_R")
_LIMITS: Final = {
    "connect_timeout": 5,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}
"""Seconds to connect, and until the server's machine counts as gone. tcp_user_timeout: milliseconds, for data that the
server has not acknowledged. The kernel's own values are two hours and a quarter of an hour."""
_LOCK_SECONDS: Final = 5
"""How long a transaction waits for locked rows. PostgreSQL's default has no limit."""
_GRACE_SECONDS: Final = 5.0
"""How much later than the server this program gives a statement up, so that the server's error can arrive."""
_OPTION: Final = re.compile(r"(?:-c *|--)([A-Za-z_][\w.-]*)=")
"""A setting's name among the options of an address (https://www.postgresql.org/docs/current/app-postgres.html)."""


class _Session(psycopg.Connection[Any]):
    """A connection that waits only so long for a server that sends nothing."""

    silence = 60.0
    """Seconds."""

    def wait(self, gen: PQGen[_R], *arguments: Any, **named: Any) -> _R:
        """Wait for the end of a call, as psycopg does. After a silence, close the connection: its reply is lost."""
        return super().wait(self._bounded(gen), *arguments, **named)

    def _bounded(self, gen: PQGen[_R]) -> Generator[Any, Any, _R]:
        until = monotonic() + self.silence
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if ready:
                    until = monotonic() + self.silence
                elif monotonic() >= until:
                    self.pgconn.finish()
                    raise psycopg.OperationalError(
                        f"it has not answered for {self.silence:g} s; check the server and the network"
                    )
                wanted = gen.send(ready)
        except StopIteration as ended:
            result: _R = ended.value
            return result


def connect(
    url: URL, place: str, *, read_only: bool, idle: timedelta, sessions: str | None, answer: timedelta
) -> Engine:
    """Return a pool of connections, which connects at first use. `place`: the state's name in messages.

    `idle`: how long a transaction may be idle. `sessions`: the sessions' application_name; None: as in the address.
    `answer`: how long a statement may take.
    """
    limits: dict[str, Any] = {name: seen for name, seen in _LIMITS.items() if name not in url.query}
    limits["client_encoding"] = "utf8"
    if options := _options(url):
        limits["options"] = options
    if sessions is not None:
        limits["application_name"] = sessions
    engine = create_engine(
        url,
        pool_pre_ping=True,
        connect_args=limits,
        # all statements of a reader see one state, as on SQLite: otherwise rows can move into a block in between
        isolation_level="REPEATABLE READ" if read_only else "READ COMMITTED",
        pool_use_lifo=True,  # reuses one session, because tokens count by session (`lease`)
    )

    @event.listens_for(engine, "do_connect")
    def begin(_dialect: Any, _record: Any, arguments: Any, named: dict[str, Any]) -> _Session:
        session = _Session.connect(*arguments, **named)
        try:
            session.silence = answer.total_seconds() + _GRACE_SECONDS
            _require_utf8(session, place)
            _limit(session, url, place, idle, answer)
        except BaseException:
            session.close()
            raise
        return session

    return engine


def _require_utf8(session: _Session, place: str) -> None:
    """Raise StateError for another encoding: names and messages may have any character."""
    found = session.info.parameter_status("server_encoding")
    if found != "UTF8":
        raise StateError(
            f"{place}: the database's encoding is {found}, and the state needs UTF8; create a database with "
            "CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0, and name it in state.url (pg_dump and psql take an "
            "existing state over)"
        )


def _limit(session: _Session, url: URL, place: str, idle: timedelta, answer: timedelta) -> None:
    """Set the limits of a new session by SQL, except those that the address sets. Raises StateError.

    A pooler can silently drop the options of a connection (PgBouncer's ignore_startup_parameters). So this program's
    limits are not sent as options, and the options of the address are checked.
    """
    ours = {
        "lock_timeout": f"{_LOCK_SECONDS}s",
        "statement_timeout": _milliseconds(answer),
        "idle_in_transaction_session_timeout": _milliseconds(idle),
        # a session of a machine that is gone would count as a daemon that stands by, for two hours by default
        "tcp_keepalives_idle": "5",
        "tcp_keepalives_interval": "2",
        "tcp_keepalives_count": "3",
    }
    asked = {name.replace("-", "_").lower() for name in _OPTION.findall(_options(url))}
    here = "SELECT lower(name) FROM pg_settings WHERE lower(name) = ANY(%s) AND source = 'client'"
    if asked and (dropped := asked - {name for (name,) in session.execute(here, ([*asked],)).fetchall()}):
        raise StateError(
            f"{place}: {', '.join(sorted(dropped))} of the address' options did not reach PostgreSQL because a "
            "pooler drops them; set them with ALTER ROLE … SET, and remove them from state.url"
        )
    for name in ours.keys() - asked:
        session.execute("SELECT set_config(%s, %s, false)", (name, ours[name]))
    session.commit()


def _milliseconds(limit: timedelta) -> str:
    return str(max(1, limit // timedelta(milliseconds=1)))


def _options(url: URL) -> str:
    return " ".join(url.normalized_query.get("options", ()))
