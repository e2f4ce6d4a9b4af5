"""Deletes the oldest data when the state is larger than `state.maxSize`."""

from typing import Final

import msgspec
from sqlalchemy import Connection, select, union_all

from autoscaler.record import schema
from autoscaler.record.binary import Binary
from autoscaler.record.kept import bodies, save
from autoscaler.record.sizes import DETAIL, HISTORY, TIERS, counted_bytes, delete_rows, size_of
from autoscaler.record.times import from_micros
from autoscaler.record.values import Cut

_ROWS_AT_ONCE: Final = 1_000
_LAST_HOUR: Final = 3_600_000_000
"""Age that is never deleted, in microseconds."""


class _Cut(msgspec.Struct, array_like=True):
    """A Cut, with times in microseconds."""

    until: int
    at: int


_CUT: Final = Binary[_Cut](_Cut)


def cut(connection: Connection, max_bytes: int, now: int) -> bool:
    """Delete some of the oldest data if there is more than `max_bytes`. Returns whether something was deleted.

    The oldest detail goes first, down to half of `max_bytes`, then the oldest of the rest, then the rest of detail: the
    events of an outage leave its decisions. The last hour and the autoscalers' memories are kept.
    """
    sizes, deleted = counted_bytes(connection), False
    excess = sizes.total - max_bytes
    for tier, most in ((DETAIL, sizes.detail - max_bytes // 2), (HISTORY, excess), (DETAIL, excess)):
        wanted = min(most, excess)
        if wanted <= 0:
            continue
        freed, rows = _cut_oldest(connection, tier, wanted, now)
        deleted |= rows > 0
        if rows == _ROWS_AT_ONCE:  # the next pass goes on here
            break
        excess -= freed
    return deleted


def _cut_oldest(connection: Connection, tier: str, excess: int, now: int) -> tuple[int, int]:
    """Delete the tier's oldest rows until `excess` bytes are freed. Returns the bytes freed, and from how many rows."""
    parts = []
    for table in TIERS[tier]:
        at = schema.newest_time(table)
        oldest = select(at.label("at"), size_of(table).label("size")).where(at < now - _LAST_HOUR)
        parts.append(select(oldest.order_by(at).limit(_ROWS_AT_ONCE).subquery()))
    found = union_all(*parts).subquery()
    freed = rows = last = 0
    for at, size in connection.execute(select(found).order_by(found.c.at).limit(_ROWS_AT_ONCE)):
        if freed >= excess:
            break
        freed, rows, last = freed + size, rows + 1, at
    if rows:
        for table in TIERS[tier]:
            delete_rows(connection, table, schema.newest_time(table) <= last)
        save(connection, schema.CUT, {tier: _CUT.dump(_Cut(last, now))})
    return freed, rows


def read_cuts(connection: Connection) -> list[Cut]:
    """Return what was deleted because of `state.maxSize`, by tier. Raises StateError."""
    found = [(tier, _CUT.load(body)) for tier, body in sorted(bodies(connection, schema.CUT).items())]
    return [Cut(tier, from_micros(cut.until), from_micros(cut.at)) for tier, cut in found]
