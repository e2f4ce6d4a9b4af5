"""Reads the newest decisions from the recorded cycles."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, select

from autoscaler.errors import StateError
from autoscaler.model import Decision
from autoscaler.record import schema
from autoscaler.record.binary import Binary, readable, unpack
from autoscaler.record.evaluation import DECISION, decision_from
from autoscaler.record.pages import blocks_of, chunk_of
from autoscaler.record.rows import rows_by_id
from autoscaler.record.targets import target_from
from autoscaler.target.scaled import Scaled

COLUMNS_OF_A_DECISION: Final = Binary[tuple[bytes, ...]](tuple[bytes, ...])
"""The body of a row of the table `change`."""


class Newest(NamedTuple):
    """An autoscaler's newest decision."""

    number: int
    decision: Decision


class Cycle(NamedTuple):
    """An autoscaler's newest recorded cycle."""

    number: int
    at: int
    """Microseconds since 1970."""


def newest_cycles(connection: Connection) -> Mapping[Scaled, Cycle]:
    """Return the newest recorded cycle of each autoscaler."""
    c = schema.known.c
    query = select(c.scaled, c.number, c.decided).where(c.number > 0)
    return {row.scaled: Cycle(row.number, row.decided) for row in connection.execute(query)}


def newest_decisions(connection: Connection, only: Collection[Scaled] | None = None) -> Mapping[Scaled, Newest]:
    """Return the newest decision of `only` these; None: of all. Skips damaged ones.

    Of an autoscaler without recorded cycles, it is the newest one with a change.
    """
    if only is not None and not only:
        return {}
    c = schema.known.c
    query = select(c.id, c.scaled, c.name, c.target, c.number, c.decided).where(c.number > 0)
    if only is not None and (few := schema.few(only)) is not None:
        query = query.where(c.scaled.in_(few))
    rows = [row for row in connection.execute(query) if only is None or row.scaled in only]
    found = decisions_of(connection, rows)
    for row in rows:
        if row.id not in found and (decision := _changed_last(connection, row)) is not None:
            found[row.id] = decision
    return {row.scaled: Newest(row.number, found[row.id]) for row in rows if row.id in found}


def decisions_of(connection: Connection, rows: Sequence[Any]) -> dict[int, Decision]:
    """Return the newest recorded decision of each of these, by id, but for damaged and deleted ones.

    `rows`: id, name, target, number and `decided` of autoscalers.
    """
    cycles = defaultdict[tuple[int, int], dict[int, Any]](dict)
    for row in rows:
        cycles[chunk_of(row.id), row.decided][row.id] = row
    found = dict[int, Decision]()
    for (chunk, at), wanted in cycles.items():
        query = blocks_of(select(schema.block.c.body), chunk, at, at).order_by(schema.block.c.id.desc())
        for body in connection.execute(query).scalars():
            try:
                found |= _decisions_in(body, wanted)
            except StateError:
                continue  # a damaged block
            if found.keys() >= wanted.keys():
                break
    return found


def _decisions_in(body: bytes, wanted: Mapping[int, Any]) -> dict[int, Decision]:
    found = dict[int, Decision]()
    for owner_id, rows in rows_by_id(body, wanted):
        of = wanted[owner_id]
        try:
            with readable(of.name):
                for row in () if isinstance(rows, StateError) else rows:
                    if row.number == of.number:
                        columns = row.columns[DECISION]
                        found[owner_id] = decision_from(columns, row.at, of.name, target_from(of.target))
        except StateError:
            continue
    return found


def _changed_last(connection: Connection, row: Any) -> Decision | None:
    change = newest_change(connection, row.id)
    try:
        with readable(row.name):
            return None if change is None else change_from(change, row.name, row.target)
    except StateError:
        return None


def newest_change(connection: Connection, owner_id: int, until: int | None = None) -> Any:
    """Return the row of an autoscaler's newest change, at or before `until` (microseconds); None if there is none."""
    table = schema.change
    query = select(table).where(table.c.autoscaler_id == owner_id).order_by(table.c.number.desc()).limit(1)
    if until is not None:
        query = query.where(table.c.at <= until)
    return connection.execute(query).one_or_none()


def change_from(change: Any, name: str, target: str) -> Decision:
    """Return the decision of a row of the table `change`. Raises StateError."""
    return decision_from(columns_of(change), change.at, name, target_from(target))


def columns_of(change: Any) -> tuple[bytes, ...]:
    """Return the columns DECISION of a row of the table `change`. Raises StateError."""
    return COLUMNS_OF_A_DECISION.load(unpack(change.body))
