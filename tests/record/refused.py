"""A database that refuses statements."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import Engine, event
from sqlalchemy.exc import OperationalError

from autoscaler.errors import StateError
from autoscaler.record.ledger import Ledger


def engine_of(ledger: Ledger) -> Engine:
    return ledger._context.database._engine


@contextmanager
def refused(ledger: Ledger, beginning: str) -> Iterator[None]:
    """Break the connection at the statement with this beginning."""

    def refuse(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if statement.startswith(beginning):
            raise OperationalError(statement, None, ConnectionResetError("connection lost"))

    event.listen(engine_of(ledger), "before_cursor_execute", refuse)
    with pytest.raises(StateError, match="connection lost"):
        yield
    event.remove(engine_of(ledger), "before_cursor_execute", refuse)
