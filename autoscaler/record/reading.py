"""Reads recorded cycles."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

import sqlalchemy
from sqlalchemy import Connection, Select, case, select

from autoscaler.errors import StateError
from autoscaler.model import Autoscaler
from autoscaler.record import schema
from autoscaler.record.entries import SPEC
from autoscaler.record.evaluation import DECISION, Columns, decision_from, history_from, observation_from
from autoscaler.record.newest import columns_of, newest_change
from autoscaler.record.pages import blocks_of, chunk_of
from autoscaler.record.rows import Row, rows_of
from autoscaler.record.series import SeriesRow, series_row
from autoscaler.record.targets import target_from
from autoscaler.record.values import Record

_EARLIEST: Final = -(2**62)


class Spec(NamedTuple):
    """A recorded specification."""

    scaler: Autoscaler
    version: str | None
    """Of the package that decided by it; None: not known."""


class RecordedAutoscaler:
    """The recorded cycles of one autoscaler with one target."""

    def __init__(self, connection: Connection, memory: sqlalchemy.Row[Any]) -> None:
        """`memory`: its row of `schema.known`."""
        self.id: Final[int] = memory.id
        self.name: Final[str] = memory.name
        self.target: Final = target_from(memory.target)
        self._memory = memory
        self._connection = connection
        self._specs: dict[int, Spec] = {}

    def spec(self, number: int) -> Spec:
        """Return the specification of this number. Raises StateError."""
        if number not in self._specs:
            self._specs[number] = self._read_spec(self._connection, number)
        return self._specs[number]

    def _read_spec(self, connection: Connection, number: int) -> Spec:
        table = schema.spec
        query = select(table.c.body, table.c.version).where(table.c.autoscaler_id == self.id, table.c.number == number)
        row = connection.execute(query).one_or_none()
        if row is None:
            raise StateError("a recorded specification is missing; restore a backup of the state")
        return Spec(SPEC.load(row.body), row.version)

    def _know_specs(self, connection: Connection, rows: Iterable[Row]) -> None:
        """Read the specifications of these rows, which are used after the connection is closed."""
        for number in {row.spec for row in rows} - self._specs.keys():
            self._specs[number] = self._read_spec(connection, number)

    def parts(self, since: int, until: int) -> list[int | list[Row]]:
        """Return the recorded rows from `since` to `until` (microseconds), and some around them, in order.

        A part is the id of a packed block, or the rows of a page. Raises StateError.
        """
        c = schema.block.c
        within = self._blocks(since, until).add_columns(case((~c.packed, c.body)).label("page"))
        parts = list[int | list[Row]]()
        for found in self._connection.execute(within.order_by(c.id)):
            if found.page is None:
                parts.append(found.id)
            elif rows := rows_of(self.id, found.page):
                self._know_specs(self._connection, rows)
                parts.append(rows)
        return parts

    def block(self, connection: Connection, block_id: int) -> list[Row]:
        """Return the rows of this block; empty if it was deleted. Raises StateError."""
        body = connection.execute(select(schema.block.c.body).where(schema.block.c.id == block_id)).scalar_one_or_none()
        rows = [] if body is None else rows_of(self.id, body)
        self._know_specs(connection, rows)
        return rows

    def _blocks(self, since: int, until: int) -> Select[Any]:
        """Select the ids of the blocks of this autoscaler's chunk with times from `since` to `until`."""
        return blocks_of(select(schema.block.c.id), chunk_of(self.id), since, until)

    def _ids(self, query: Select[Any]) -> Sequence[int]:
        return self._connection.execute(query).scalars().all()

    def begin(self) -> int | None:
        """Return the time of the oldest recorded row (microseconds); None if there is none. Skips damaged ones."""
        newest = self._memory.at
        first = min(self._memory.first_at, newest)  # the clock may have been set back
        for block_id in self._ids(self._blocks(first, newest).order_by(schema.block.c.id)):
            with suppress(StateError):
                if rows := self.block(self._connection, block_id):
                    return min(row.at for row in rows)
        return None

    def record_at(self, until: int) -> Record | None:
        """Return the newest cycle at or before `until`; beyond `state.detail`, the newest decision with a change."""
        change = newest_change(self._connection, self.id, until)
        number = 0 if change is None else change.number
        newest_first = self._blocks(_EARLIEST, min(until, self._memory.at)).order_by(schema.block.c.id.desc())
        for block_id in self._ids(newest_first):
            rows = self.block(self._connection, block_id)
            if fitting := [row for row in rows if row.at <= until and row.number >= number]:
                return self.record(fitting[-1])
            if rows and rows[0].number <= number:
                break
        if change is None:
            return None
        scaler = self.spec(change.spec).scaler
        return Record(scaler, decision_from(columns_of(change), change.at, scaler.name, scaler.target), None, None)

    def points(self, since: int, until: int) -> list[SeriesRow]:
        """Return a point for each recorded cycle, and for each change that has no such cycle any more, in order.

        Includes all from `since` to `until` (microseconds), and some around them. Raises StateError.
        """
        table = schema.change
        found = dict[int, SeriesRow]()
        within = (table.c.autoscaler_id == self.id) & table.c.at.between(since, until)
        for change in self._connection.execute(select(table).where(within)):
            found[change.number] = self._point_of(change)
        for part in self.parts(since, until):
            rows = self.block(self._connection, part) if isinstance(part, int) else part
            point: SeriesRow | None = None
            before: tuple[Columns, int] | None = None
            for row in rows:
                columns = row.columns[DECISION]
                if point is None or before != (columns, row.spec):
                    before = columns, row.spec
                    point = self._point(columns, row.at, row.spec)
                found[row.number] = point._replace(at=row.at)
        return [found[number] for number in sorted(found)]

    def point_before(self, since: int) -> SeriesRow | None:
        """Return the point of the newest change at or before `since`; None if there is none. Raises StateError."""
        change = newest_change(self._connection, self.id, since)
        return None if change is None else self._point_of(change)

    def _point_of(self, change: sqlalchemy.Row[Any]) -> SeriesRow:
        return self._point(columns_of(change), change.at, change.spec)._replace(metrics=(), values=())

    def _point(self, columns: Columns, at: int, number: int) -> SeriesRow:
        scaler = self.spec(number).scaler
        made = decision_from(columns, at, self.name, self.target)
        return series_row(made, at, (scaler.min_replicas, scaler.max_replicas))

    def record(self, row: Row) -> Record:
        """Return the cycle of a row. Raises StateError."""
        scaler, version = self.spec(row.spec)  # with the name and the target of then
        decision = decision_from(row.columns[DECISION], row.at, scaler.name, scaler.target)
        history = history_from(row.columns, None if row.since is None else row.at - row.since)
        return Record(scaler, decision, observation_from(row.columns, row.at), history, version)


def recorded(connection: Connection, name: str) -> list[RecordedAutoscaler]:
    """Return the autoscaler of this name with each target that it had, the target of the newest decision last."""
    if "\0" in name:  # no name has it, and PostgreSQL refuses such a text
        return []
    c = schema.known.c
    query = select(schema.known).where(c.name == name, c.number > 0).order_by(c.at)
    return [RecordedAutoscaler(connection, row) for row in connection.execute(query)]
