"""Notices that wait to be sent.

A notice is a row, inserted by the transaction that records its decision and deleted once the receiver has it. So it is
sent at least once, whatever ends the daemon in between. The leader sends.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple
from uuid import uuid4

from sqlalchemy import Connection, delete, insert, select

from autoscaler.errors import StateError
from autoscaler.model import Notice
from autoscaler.moment import Moment
from autoscaler.record import schema
from autoscaler.record.ages import are_older, read_database_time, time_columns
from autoscaler.record.binary import Binary
from autoscaler.record.database import Database, Readers
from autoscaler.record.times import from_micros

MAX_WAITING: Final = 1_000
"""Of more, the oldest are deleted."""
MAX_WAIT: Final = timedelta(days=1)

_NOTICE: Final = Binary[Notice](Notice)
_TABLE: Final = schema.notice


class Waiting(NamedTuple):
    """A notice to be sent."""

    id: str
    """Another one for each notice; the same if it is sent again."""
    at: datetime
    notice: Notice


def rows_of(notices: Iterable[Notice], moment: Moment) -> Sequence[dict[str, Any]]:
    """Return rows of the table `notice`."""
    when = time_columns(moment, moment.now)
    return [{"id": uuid4().hex, **when, "body": _NOTICE.dump(each)} for each in notices]


class Outbox:
    """Any thread can use it."""

    def __init__(self, database: Database, readers: Readers) -> None:
        self.open = False
        """Whether notices are to be sent. While it is False, decisions add none."""
        self._database = database
        self._readers = readers

    def add(self, notices: Sequence[Notice], moment: Moment) -> None:
        """Add notices that belong to no decision. Raises StateError."""
        with self._database.writing() as connection:
            connection.execute(insert(_TABLE), rows_of(notices, self._with_database(connection, moment)))

    def trim(self, moment: Moment) -> int:
        """Delete what is too old or too much. Returns the number of deleted notices. Raises StateError.

        A step of the wall clock makes no notice old.
        """
        newest = select(_TABLE.c.id).order_by(_TABLE.c.at.desc(), _TABLE.c.id)
        with self._readers.begin() as connection:
            old = are_older(_TABLE, self._with_database(connection, moment), MAX_WAIT)
            beyond = old | _TABLE.c.id.in_(newest.offset(MAX_WAITING))
            if connection.execute(select(_TABLE.c.id).where(beyond).limit(1)).first() is None:
                return 0
        with self._database.writing() as connection:
            return connection.execute(delete(_TABLE).where(beyond)).rowcount

    def send_oldest(self, send: Callable[[Waiting], bool]) -> bool:
        """Send the oldest notice; delete it if `send` returns True. Returns whether another one may follow.

        No transaction that writes is open meanwhile, so a slow receiver delays no commit. Raises StateError.
        """
        oldest = self._oldest()
        if oldest is None or not _sent(oldest, send):
            return False
        with self._database.writing() as connection:
            connection.execute(delete(_TABLE).where(_TABLE.c.id == oldest.id))
        return True

    def _with_database(self, connection: Connection, moment: Moment) -> Moment:
        """Return the moment with PostgreSQL's clock."""
        return moment if self._database.sqlite else replace(moment, database=read_database_time(connection))

    def _oldest(self) -> Any:
        with self._readers.begin() as connection:
            return connection.execute(select(_TABLE).order_by(_TABLE.c.at, _TABLE.c.id).limit(1)).first()


def _sent(row: Any, send: Callable[[Waiting], bool]) -> bool:
    try:
        notice = _NOTICE.load(row.body)
    except StateError:
        return True  # a damaged notice is deleted, and holds up no other
    return send(Waiting(row.id, from_micros(row.at), notice))
