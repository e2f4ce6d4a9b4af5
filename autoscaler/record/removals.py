"""Counts scale-ins towards a connection's removal budget.

A removal is committed with its intent, before the write, so that it counts even if the daemon dies in between. What was
not written is given back with the outcome. A write without an answer stays counted.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, bindparam, insert, select, update

from autoscaler.decide.removals import Counted, count, settle
from autoscaler.model import Decision, Removal, RemovalBudget, Standing
from autoscaler.moment import Moment
from autoscaler.record import schema
from autoscaler.record.ages import booted_by, kept_age, read_database_time, time_columns
from autoscaler.record.entries import Entry
from autoscaler.record.times import from_micros

_TABLE: Final = schema.removal


class IntendedRemoval(NamedTuple):
    """A scale-in that is counted and has no outcome yet."""

    counted: Counted
    seq: int
    earlier: int
    """The `seq` of the unfinished removal that this one includes; its own if there is none."""


def read_removals(connection: Connection, name: str, budget: RemovalBudget, moment: Moment) -> tuple[Removal, ...]:
    """Return the removals of the adapter connection `name` within the budget's period, in order."""
    owner, database = schema.autoscaler, read_database_time(connection)
    query = (
        select(owner.c.name, _TABLE)
        .join(owner, owner.c.id == _TABLE.c.autoscaler_id)
        .where(owner.c.connection == name, _TABLE.c.instances > 0)
    )
    found = list[Removal]()
    for row in connection.execute(query):
        at, _ = kept_age(from_micros(row.at), booted_by(row, moment, database), moment)
        if moment.now - at < budget.period:
            found.append(Removal(row.name, at, row.instances, row.seq))
    return tuple(sorted(found, key=lambda one: one.at))


def intend_removals(
    connection: Connection, pairs: Iterable[tuple[Entry, Decision]], standing: Standing, moment: Moment
) -> Mapping[int, IntendedRemoval]:
    """Count the scale-ins among these, of a cycle that began at this moment. Returns them by autoscaler id."""
    known = {(one.name, one.at): one for one in standing.removals}
    intended, rows = dict[int, IntendedRemoval](), list[dict[str, Any]]()
    for entry, made in pairs:
        unfinished = entry.recalled.unfinished
        before = None if unfinished is None else known.get((made.name, unfinished.at))
        counted = count(made, unfinished, 0 if before is None else before.instances)
        if counted is not None:
            seq = entry.next_seq(made.now)
            intended[entry.id] = IntendedRemoval(counted, seq, seq if before is None else before.seq)
            key = {"autoscaler_id": entry.id, "seq": seq}
            rows.append(key | time_columns(moment, made.now) | {"instances": counted.instances})
    if rows:
        connection.execute(insert(_TABLE), rows)
    _count(connection, [(owner_id, one.earlier, 0) for owner_id, one in intended.items() if one.counted.before])
    return intended


def settle_removals(
    connection: Connection, pairs: Iterable[tuple[Entry, Decision]], intended: Mapping[int, IntendedRemoval]
) -> None:
    """Give back the intended removals that the outcomes of these decisions did not use."""
    changed = list[tuple[int, int, int]]()
    for entry, made in pairs:
        if entry.id not in intended:
            continue
        counted, seq, earlier = intended[entry.id]
        settled = settle(made, counted)
        if settled.instances != counted.instances:
            changed.append((entry.id, seq, settled.instances))
        if settled.before:
            changed.append((entry.id, earlier, settled.before))
    _count(connection, changed)


def _count(connection: Connection, changed: Collection[tuple[int, int, int]]) -> None:
    """Set the number of instances of removals, given by autoscaler id, `seq` and number. Their times stay."""
    if changed:
        mine = (_TABLE.c.autoscaler_id == bindparam("owner_id")) & (_TABLE.c.seq == bindparam("of_seq"))
        rows = [{"owner_id": owner_id, "of_seq": seq, "units": units} for owner_id, seq, units in sorted(changed)]
        again = update(_TABLE).where(mine)
        # sets `database` to itself, because by default an update sets it to the database's clock
        connection.execute(again.values(instances=bindparam("units"), database=_TABLE.c.database), rows)
