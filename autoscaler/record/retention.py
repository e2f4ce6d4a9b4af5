"""Deletes what is older than the retention: a little at a time, inside transactions that happen anyway."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Final

from sqlalchemy import Connection, Table, bindparam, delete, exists, select

from autoscaler.record import schema
from autoscaler.record.codec import to_micros
from autoscaler.record.memory import Entry, Key
from autoscaler.record.rows import BASIS_MICROS

_EVERY_MICROS: Final = 60_000_000
"""How often it is looked for old rows (1 min)."""
_BATCH: Final = 1_000
"""Rows deleted at once, beside twice what was just inserted: so that it keeps up however many autoscalers there are."""


class Retention:
    """How long decisions are kept, and when it was last looked for older ones."""

    def __init__(self, keep: timedelta) -> None:
        self._keep = keep
        self._due: int | None = None

    def prune(
        self, connection: Connection, now: datetime, inserted: int, idle: Iterable[tuple[Key, Entry]]
    ) -> Sequence[Key]:
        """Delete some of what is too old, when it is time to. Returns the autoscalers that are forgotten entirely.

        Decisions live an hour longer than is asked for, as later ones may be packed against them.
        """
        at = to_micros(now)
        if self._due is not None and self._due - _EVERY_MICROS <= at < self._due:
            return ()
        cutoff = to_micros(now - self._keep) - BASIS_MICROS
        limit = _BATCH + 2 * inserted
        more = [_delete_oldest(connection, table, cutoff, limit) for table in (schema.decision, schema.event)]
        gone = list(islice(((key, entry.id) for key, entry in idle if entry.at < cutoff), limit))
        if gone:
            _delete_autoscalers(connection, [{"owner_id": owner_id, "owner_target": key[1]} for key, owner_id in gone])
        self._due = at if any(more) else at + _EVERY_MICROS
        return [key for key, _ in gone]


def _delete_oldest(connection: Connection, table: Table, cutoff: int, limit: int) -> bool:
    """Delete about `limit` of the oldest rows before the cutoff. Returns whether there are more."""
    oldest = select(table.c.at).where(table.c.at < cutoff).order_by(table.c.at).offset(limit - 1).limit(1)
    last = connection.execute(oldest).scalar_one_or_none()
    connection.execute(delete(table).where(table.c.at < cutoff if last is None else table.c.at <= last))
    return last is not None


def _delete_autoscalers(connection: Connection, owners: Sequence[dict[str, Any]]) -> None:
    for table in (schema.spec, schema.slot, schema.intent, schema.decision, schema.event):
        connection.execute(delete(table).where(table.c.autoscaler_id == bindparam("owner_id")), owners)
    owner, sighting = schema.autoscaler, schema.sighting
    connection.execute(delete(owner).where(owner.c.id == bindparam("owner_id")), owners)
    still_used = exists().where(owner.c.target == sighting.c.target)
    connection.execute(delete(sighting).where(sighting.c.target == bindparam("owner_target"), ~still_used), owners)
