"""Transactions of PostgreSQL that wait for another."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Engine, event, text

from autoscaler.record.database import Database
from tests.waiting import until


@contextmanager
def held_after(engine: Engine, beginning: str) -> Iterator[tuple[threading.Event, threading.Event]]:
    """Stop transactions after a statement with this beginning. Yields two events: one has stopped; let it continue."""
    there, go_on = threading.Event(), threading.Event()

    def hold(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if statement.startswith(beginning):
            there.set()
            assert go_on.wait(60)

    event.listen(engine, "after_cursor_execute", hold)
    yield there, go_on
    event.remove(engine, "after_cursor_execute", hold)


def until_blocked(database: Database, transactions: int = 1) -> None:
    """Wait until so many transactions of this test wait for a lock."""
    query = text("SELECT count(*) FROM pg_stat_activity WHERE usename = current_user AND wait_event_type = 'Lock'")

    def wait() -> bool:
        with database.writing() as connection:
            return bool(connection.execute(query).scalar_one() >= transactions)

    until(wait, "waiting transactions")
