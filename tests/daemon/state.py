"""Reads a daemon's state beside the daemon."""

import itertools
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from autoscaler.decide import remember
from autoscaler.model import PendingWrite
from autoscaler.record.archive import Archive
from autoscaler.record.entries import KEPT
from autoscaler.record.evaluation import history_of
from autoscaler.record.fence import _EPOCHS
from autoscaler.record.values import Record


def rows(folder: Path, query: str) -> list[tuple[Any, ...]]:
    """Return rows of the database of the daemon with files in `folder`."""
    address = f"{(folder / 'state' / 'state.db').as_uri()}?mode=ro"
    with closing(sqlite3.connect(address, uri=True)) as connection:
        return connection.execute(query).fetchall()


def epochs(folder: Path, connection: str) -> dict[int, str]:
    """Return number of a shard -> its epoch, for the shards of an adapter connection."""
    ((found,),) = rows(folder, "SELECT epochs FROM fence")
    shards = _EPOCHS.decode(found).get(connection)
    return {} if shards is None else shards.epochs


def announced(folder: Path) -> dict[str, PendingWrite]:
    """Return the unfinished write of each autoscaler with one."""
    query = "SELECT name, body FROM autoscaler WHERE seq > 0"
    found = {name: history_of(KEPT.load(body).history, (), 0).pending for name, body in rows(folder, query)}
    return {name: intent for name, intent in found.items() if intent is not None}


def records(folder: Path, name: str) -> list[Record]:
    """Return every recorded cycle of an autoscaler."""
    with Archive.open_archive(None, folder / "state") as archive:
        return list(archive.records(name))


def assert_unbroken(recorded: list[Record]) -> None:
    """Assert that each cycle decided from the memory of the one before, in order."""
    for before, after in itertools.pairwise(recorded):
        assert before.history is not None
        assert after.history is not None
        assert after.decision.now > before.decision.now
        left = remember(before.scaler, before.history, before.decision)
        assert (after.history.hpa.recommendations, after.history.hpa.scale_ups, after.history.at) == (
            left.hpa.recommendations,
            left.hpa.scale_ups,
            left.at,
        )
