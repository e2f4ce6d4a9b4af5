"""The contents of a state, table by table."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sqlalchemy import select

from autoscaler.model import Direction, ManualControls, Pause
from autoscaler.record import schema
from autoscaler.record.database import locate, opened
from autoscaler.record.folder import make_private_folder
from autoscaler.record.state import State
from tests.record.conftest import Opener
from tests.record.samples import FLEET, at, decision, event, keep, rising, written
from tests.steering import steer

Tables = Mapping[str, Sequence[Mapping[str, Any]]]


def tables_of(url: str | None, folder: Path) -> Tables:
    """Return every row, without the lease and the notices, which end with a restore."""
    with opened(locate(url, folder), read_only=True) as connection:
        return {
            table.name: [dict(row) for row in connection.execute(select(table).order_by(*table.c)).mappings()]
            for table in schema.metadata.sorted_tables
            if table not in (schema.lease, schema.notice)
        }


def content_of(url: str | None, folder: Path) -> Tables:
    """Return the same without the fence: generations and epochs begin anew after a restore."""
    tables = dict(tables_of(url, folder))
    del tables["fence"]
    return tables


def live(opener: Opener, decisions: int = 10) -> State:
    """A state with cycles, events, an unfinished write, a pause and a second autoscaler."""
    if opener.url is not None:
        return _live(opener, decisions)
    make_private_folder(opener.folder)
    (opener.folder / "state.db").write_bytes(_past(decisions))
    return opener.state()


@cache
def _past(decisions: int) -> bytes:
    """The file of such a state, made once."""
    with TemporaryDirectory() as folder:
        opener = Opener(None, Path(folder))
        _live(opener, decisions)
        opener.close()
        return Path(folder, "state.db").read_bytes()


def _live(opener: Opener, decisions: int) -> State:
    state = opener.state()
    ledger = state.ledger(FLEET)
    for number in range(decisions):
        keep(ledger, decision(number * 15, size=5 + number % 3, events=[event(message=f"New size: {number}")]))
    keep(ledger, written(rising(decisions * 15)), decision(decisions * 15, name="api", target="api-asg"))
    ledger.intend([rising(decisions * 15 + 15)])
    steer(state, "web", ManualControls(pause=Pause(Direction.IN, "ops", "sale", at(0), None)))
    return state


def of_version(number: int, state: State) -> None:
    """Mark the state as written by another version."""
    if state.lease is not None:
        state.lease.resign()
    with state._database.writing() as connection:
        connection.execute(schema.schema_version.update().values(version=number))
