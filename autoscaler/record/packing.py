"""Turns an hour of the journal's pages into blocks, one for each autoscaler: all of it, and what charts need of it."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from sqlalchemy import Connection, delete, insert, select

from autoscaler.errors import StateError
from autoscaler.record import schema
from autoscaler.record.binary import readable
from autoscaler.record.evaluation import DECISION, Columns
from autoscaler.record.journal import rows_from
from autoscaler.record.outline import outline_from
from autoscaler.record.rows import Row, completed, pack_rows, runs
from autoscaler.record.series import Point, pack_points, point_of


def pack_pages(connection: Connection, name: str, period: int, chunk: int) -> None:
    """Pack all pages of a chunk of an adapter connection and delete them.

    What is damaged among them cannot be packed and is gone: the shard that records is not to stop for it.
    """
    table, owner = schema.journal, schema.autoscaler
    mine = (table.c.connection == name) & (table.c.period == period) & (table.c.chunk == chunk)
    rows = dict[int, dict[int, Row]]()
    recorded = dict[tuple[int, int], int]()
    for page in connection.execute(select(table.c.body, table.c.lead).where(mine).order_by(table.c.number)):
        with suppress(StateError):
            for owner_id, row in rows_from(page.body):
                if not isinstance(row, StateError):
                    rows.setdefault(owner_id, {})[row.number] = row
                    recorded[owner_id, row.number] = row.at - page.lead
    known = set(connection.execute(select(owner.c.id).where(owner.c.id.in_(list(rows)))).scalars())
    details, charts = list[dict[str, Any]](), list[dict[str, Any]]()
    bounds = bounds_of(connection, list(rows))
    for owner_id, found in rows.items():
        if owner_id not in known:
            continue  # forgotten since
        # one that changed its sync period has rows of the time between in other pages
        for run in runs(found[number] for number in sorted(found)):
            newest_of_run = max(recorded[owner_id, row.number] for row in run)
            with suppress(StateError), readable(f"of id {owner_id}"):
                points = points_of(run, bounds[owner_id])
                details.append(block(owner_id, run, newest_of_run, pack_rows(run)))
                charts.append(block(owner_id, run, newest_of_run, pack_points(points)))
    if details:
        connection.execute(insert(schema.detail), details)
        connection.execute(insert(schema.series), charts)
    connection.execute(delete(table).where(mine))


def bounds_of(connection: Connection, ids: Sequence[int]) -> Mapping[int, Mapping[int, tuple[int, int]]]:
    """Autoscaler's id -> specification's number -> the configuration's bounds."""
    spec = schema.spec
    found: dict[int, dict[int, tuple[int, int]]] = {owner_id: {} for owner_id in ids}
    query = select(spec.c.autoscaler_id, spec.c.number, spec.c.minimum, spec.c.maximum)
    for row in connection.execute(query.where(spec.c.autoscaler_id.in_(ids))):
        found[row.autoscaler_id][row.number] = (row.minimum, row.maximum)
    return found


def points_of(rows: Sequence[Row], bounds: Mapping[int, tuple[int, int]]) -> list[Point]:
    """What charts need of rows of one autoscaler, in order, each behind its whole one."""
    points, whole = list[Point](), dict[int, Row]()
    before: Columns | None = None
    outline = None
    for row in rows:
        if row.whole:
            whole = {row.number: row}
        if row.base not in whole:
            raise StateError("recorded cycles are missing their whole row; restore a backup of the state")
        columns = completed(row, whole[row.base])[DECISION]
        if outline is None or columns != before:
            before, outline = columns, outline_from(columns)
        points.append(point_of(row.at, outline, bounds[row.spec]))
    return points


def block(owner_id: int, rows: Sequence[Row], recorded: int, body: bytes) -> dict[str, Any]:
    """The row of the table `detail` or `series` with these rows packed as `body`. `recorded`: the newest of them."""
    times = [row.at for row in rows]
    return {
        "autoscaler_id": owner_id,
        "first": rows[0].number,
        "since": min(times),
        "until": max(times),
        "recorded": recorded,
        "size": len(body),
        "body": body,
    }
