"""Reads recorded cycles from the journal's pages and from blocks."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import sqlalchemy
from sqlalchemy import Connection, func, select

from autoscaler.decide import remember
from autoscaler.errors import StateError
from autoscaler.model import Autoscaler, Decision, History
from autoscaler.record import schema
from autoscaler.record.binary import unpack
from autoscaler.record.entries import HISTORY, SPEC, newest_of, target_from
from autoscaler.record.evaluation import DECISION, Columns, decision_from, observation_from
from autoscaler.record.journal import read_rows
from autoscaler.record.recording import COLUMNS_OF_A_DECISION
from autoscaler.record.rows import Row, completed, runs, unpack_rows
from autoscaler.record.series import SeriesRow, series_row
from autoscaler.record.values import Record


class RecordedAutoscaler:
    """The recorded cycles of one autoscaler with one target."""

    def __init__(self, connection: Connection, memory: sqlalchemy.Row[Any]) -> None:
        """`memory`: its row of the table `memory`, with its name and target."""
        self.id: Final[int] = memory.autoscaler_id
        self.name: Final[str] = memory.name
        self.target: Final = target_from(memory.target)
        self._memory = memory
        self._connection = connection
        self._specs: dict[int, Autoscaler] = {}

    def spec(self, number: int) -> Autoscaler:
        """Return the specification of this number. Raises StateError."""
        if number not in self._specs:
            self._specs[number] = self._read_spec(self._connection, number)
        return self._specs[number]

    def _read_spec(self, connection: Connection, number: int) -> Autoscaler:
        table = schema.spec
        query = select(table.c.body).where(table.c.autoscaler_id == self.id, table.c.number == number)
        body = connection.execute(query).scalar_one_or_none()
        if body is None:
            raise StateError("a recorded specification is missing; restore a backup of the state")
        return SPEC.load(body)

    def _know_specs(self, connection: Connection, rows: Iterable[Row]) -> None:
        """Read the specifications of these rows, which are used after the connection is closed."""
        for number in {row.spec for row in rows} - self._specs.keys():
            self._specs[number] = self._read_spec(connection, number)

    def unpacked(self) -> list[Row]:
        """Return the newest rows, which are in no block yet, in order. Raises StateError."""
        return read_rows(self._connection, self.target.adapter, self.id)

    def parts(self, since: int, until: int) -> list[int | list[Row]]:
        """Return the recorded rows from `since` to `until` (microseconds), and some around them, in order.

        A part is a block, given by the number of its first row, or rows without a gap. Each begins with a whole row.
        Raises StateError.
        """
        table = schema.detail
        query = select(table.c.first).where(
            table.c.autoscaler_id == self.id, table.c.until >= since, table.c.since <= until
        )
        blocks = list[int](self._connection.execute(query).scalars())
        unpacked = runs(self.unpacked())
        for rows in unpacked:
            self._know_specs(self._connection, rows)
        parts: dict[int, int | list[Row]] = {first: first for first in blocks}
        parts |= {rows[0].number: rows for rows in unpacked}
        return [parts[number] for number in sorted(parts)]

    def block(self, connection: Connection, first: int) -> list[Row]:
        """Return the rows of the block with this first number; empty if it was deleted. Raises StateError."""
        table = schema.detail
        query = select(table.c.body).where(table.c.autoscaler_id == self.id, table.c.first == first)
        body = connection.execute(query).scalar_one_or_none()
        rows = [] if body is None else unpack_rows(body)
        self._know_specs(connection, rows)
        return rows

    def begin(self) -> int | None:
        """Return the time of the oldest recorded row (microseconds); None if there is none. Raises StateError."""
        table = schema.detail
        query = select(func.min(table.c.since)).where(table.c.autoscaler_id == self.id)
        packed: int | None = self._connection.execute(query).scalar_one()
        times = [row.at for row in self.unpacked()]
        return min([*times, *([] if packed is None else [packed])], default=None)

    def _newest_block(self, until: int) -> list[Row]:
        """Return the rows of the newest block that began at or before `until`; empty if there is none."""
        table = schema.detail
        query = (
            select(table.c.body)
            .where(table.c.autoscaler_id == self.id, table.c.since <= until)
            .order_by(table.c.first.desc())
            .limit(1)
        )
        body = self._connection.execute(query).scalar_one_or_none()
        return [] if body is None else unpack_rows(body)

    def record_at(self, until: int) -> Record | None:
        """Return the newest cycle at or before `until`; beyond `state.detail`, the newest decision with a change."""
        unpacked = self.unpacked()
        if unpacked and unpacked[-1].number == self._memory.number and unpacked[-1].at <= until:
            return self._record_of(unpacked, unpacked[-1])
        change = self._newest_change(until)
        number = 0 if change is None else change.number
        candidates = [*runs(unpacked), self._newest_block(until)]
        fitting = [(row, rows) for rows in candidates for row in rows if row.at <= until and row.number >= number]
        if fitting:
            row, rows = max(fitting, key=lambda each: each[0].number)
            return self._record_of(rows, row)
        if self._memory.at <= until and (newest := newest_of(self._memory)) is not None:
            decision, spec = newest
            return Record(self.spec(spec), decision, None, None)
        if change is None:
            return None
        decision = decision_from(COLUMNS_OF_A_DECISION.load(unpack(change.body)), change.at, self.name, self.target)
        return Record(self.spec(change.spec), decision, None, None)

    def _newest_change(self, until: int) -> sqlalchemy.Row[Any] | None:
        table = schema.change
        query = (
            select(table)
            .where(table.c.autoscaler_id == self.id, table.c.at <= until)
            .order_by(table.c.number.desc())
            .limit(1)
        )
        return self._connection.execute(query).one_or_none()

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
            for row, columns in _completed(rows):
                if point is None or before != (columns[DECISION], row.spec):
                    before = columns[DECISION], row.spec
                    point = series_row(columns[DECISION], row.at, self._bounds(row.spec))
                found[row.number] = point._replace(at=row.at)
        return [found[number] for number in sorted(found)]

    def point_before(self, since: int) -> SeriesRow | None:
        """Return the point of the newest change at or before `since`; None if there is none. Raises StateError."""
        change = self._newest_change(since)
        return None if change is None else self._point_of(change)

    def _point_of(self, change: sqlalchemy.Row[Any]) -> SeriesRow:
        columns = COLUMNS_OF_A_DECISION.load(unpack(change.body))
        return series_row(columns, change.at, self._bounds(change.spec))._replace(metrics=(), values=())

    def _bounds(self, number: int) -> tuple[int, int]:
        spec = self.spec(number)
        return spec.min_replicas, spec.max_replicas

    def records(self, rows: Iterable[Row]) -> Iterator[Record]:
        """Yield the cycle of each of these rows, the first of which is whole. Raises StateError."""
        before: tuple[Autoscaler, History, Decision] | None = None
        for row, columns in _completed(rows):
            decision = decision_from(columns[DECISION], row.at, self.name, self.target)
            if row.history is not None:
                history = HISTORY.load(row.history)
            elif before is not None:
                history = remember(*before)
            else:
                raise StateError("a recorded cycle's whole row is incomplete; restore a backup of the state")
            scaler = self.spec(row.spec)
            before = scaler, history, decision
            yield Record(scaler, decision, observation_from(columns, row.at), history)

    def _record_of(self, rows: list[Row], row: Row) -> Record:
        """Return the cycle of one of these rows, which include its whole row and all in between. Raises StateError."""
        *_, record = self.records([each for each in rows if row.base <= each.number <= row.number])
        return record


def _completed(rows: Iterable[Row]) -> Iterator[tuple[Row, Columns]]:
    """Yield each of these rows, the first of which is whole, with all its columns. Raises StateError."""
    whole: Row | None = None
    for row in rows:
        if row.whole:
            whole = row
        if whole is None or row.base != whole.number:
            raise StateError("recorded cycles are missing; restore a backup of the state")
        yield row, completed(row, whole)


def recorded(connection: Connection, name: str) -> list[RecordedAutoscaler]:
    """Return the autoscaler of this name with each target that it had, the target of the newest decision last."""
    if "\0" in name:  # no name has it, and PostgreSQL refuses such a text
        return []
    table, memory = schema.autoscaler, schema.memory
    query = (
        select(table.c.name, table.c.target, memory)
        .join(memory, memory.c.autoscaler_id == table.c.id)
        .where(table.c.name == name, memory.c.number > 0)
        .order_by(memory.c.at)
    )
    return [RecordedAutoscaler(connection, row) for row in connection.execute(query)]
