"""What was intended to leave, as a connection's removal budget counts it.

It is committed with the intents, before the first write, so that a daemon that dies in between has counted it. What
turns out not to have been written is given back with the outcome. A write without an answer stays counted.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final, NamedTuple

from sqlalchemy import ColumnElement, Connection, bindparam, delete, select

from autoscaler.decide.removals import Counted, count, settle
from autoscaler.model import Decision, Removal, RemovalBudget, Standing
from autoscaler.record import schema
from autoscaler.record.entries import Entry
from autoscaler.record.times import from_micros, micros_of, to_micros

_TABLE: Final = schema.removal


class Intended(NamedTuple):
    """A scale-in that is counted and has no outcome yet. Times in microseconds, on the state's own scale."""

    counted: Counted
    now: int
    earlier: int
    """When the unfinished one before it was intended; without one: now."""


def read_removals(
    connection: Connection, name: str, budget: RemovalBudget, now: datetime, lead: int
) -> tuple[Removal, ...]:
    """All of the adapter connection `name` within the budget's period, in order of time; `lead`: of now."""
    owner = schema.autoscaler
    query = (
        select(owner.c.name, _TABLE.c.recorded, _TABLE.c.instances)
        .join(owner, owner.c.id == _TABLE.c.autoscaler_id)
        .where(owner.c.connection == name, _TABLE.c.recorded > to_micros(now) - lead - micros_of(budget.period))
        .order_by(_TABLE.c.recorded)
    )
    return tuple(
        [Removal(row.name, from_micros(row.recorded + lead), row.instances) for row in connection.execute(query)]
    )


def intend_removals(
    connection: Connection, pairs: Iterable[tuple[Entry, Decision]], standing: Standing, lead: int
) -> Mapping[int, Intended]:
    """Count the scale-ins among these; `lead`: of their times. Returns them by the autoscaler's id."""
    counts = {(one.name, one.at): one.instances for one in standing.removals}
    intended = dict[int, Intended]()
    for entry, made in pairs:
        now, unfinished = to_micros(made.now) - lead, entry.given.unfinished
        found = 0 if unfinished is None else counts.get((made.name, unfinished.at), 0)
        counted = count(made, unfinished, found)
        if counted is not None:
            earlier = now if unfinished is None else to_micros(unfinished.at) - lead
            intended[entry.id] = Intended(counted, now, earlier)
            if counted.before:  # the new row stands for both
                connection.execute(delete(_TABLE).where(_is(entry.id, earlier)))
    rows = [_row(owner_id, one.now, one.counted.instances) for owner_id, one in intended.items()]
    schema.upsert(connection, _TABLE, rows)
    return intended


def settle_removals(
    connection: Connection, pairs: Iterable[tuple[Entry, Decision]], intended: Mapping[int, Intended]
) -> None:
    """Give back what of it was not written, now that this is known of these."""
    kept, gone = [], []
    for entry, made in pairs:
        if entry.id not in intended:
            continue
        counted, now, earlier = intended[entry.id]
        settled = settle(made, counted)
        if settled.instances == 0:
            gone.append({"owner_id": entry.id, "at": now})
        elif settled.instances != counted.instances:
            kept.append(_row(entry.id, now, settled.instances))
        if settled.before:
            kept.append(_row(entry.id, earlier, settled.before))
    if gone:
        mine = (_TABLE.c.autoscaler_id == bindparam("owner_id")) & (_TABLE.c.recorded == bindparam("at"))
        connection.execute(delete(_TABLE).where(mine), gone)
    schema.upsert(connection, _TABLE, kept)


def _is(owner_id: int, recorded: int) -> ColumnElement[bool]:
    return (_TABLE.c.autoscaler_id == owner_id) & (_TABLE.c.recorded == recorded)


def _row(owner_id: int, recorded: int, instances: int) -> dict[str, int]:
    return {"autoscaler_id": owner_id, "recorded": recorded, "instances": instances}
