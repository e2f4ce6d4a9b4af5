"""What was intended to leave, as a connection's removal budget counts it.

It is committed with the intents, before the first write, so that a daemon that dies in between has counted it. What
turns out not to have been written is given back with the outcome. A write without an answer stays counted.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, bindparam, insert, select, update

from autoscaler.decide.removals import Counted, count, settle
from autoscaler.model import Decision, Removal, RemovalBudget, Standing
from autoscaler.moment import Moment
from autoscaler.record import schema
from autoscaler.record.ages import booted_by, kept_age, read_database_time, taken
from autoscaler.record.entries import Entry
from autoscaler.record.times import from_micros

_TABLE: Final = schema.removal


class Intended(NamedTuple):
    """A scale-in that is counted and has no outcome yet."""

    counted: Counted
    seq: int
    earlier: int
    """The `seq` of the unfinished one before it, for which it stands as well; without one: its own."""


def read_removals(connection: Connection, name: str, budget: RemovalBudget, moment: Moment) -> tuple[Removal, ...]:
    """All of the adapter connection `name` that are younger than the budget's period at this moment, in order."""
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
) -> Mapping[int, Intended]:
    """Count the scale-ins among these, of a cycle that began at this moment. Returns them by the autoscaler's id."""
    known = {(one.name, one.at): one for one in standing.removals}
    intended, rows = dict[int, Intended](), list[dict[str, Any]]()
    for entry, made in pairs:
        unfinished = entry.given.unfinished
        before = None if unfinished is None else known.get((made.name, unfinished.at))
        counted = count(made, unfinished, 0 if before is None else before.instances)
        if counted is not None:
            seq = entry.next_seq(made.now)
            intended[entry.id] = Intended(counted, seq, seq if before is None else before.seq)
            key = {"autoscaler_id": entry.id, "seq": seq}
            rows.append(key | taken(moment, made.now) | {"instances": counted.instances})
    if rows:
        connection.execute(insert(_TABLE), rows)
    _count(connection, [(owner_id, one.earlier, 0) for owner_id, one in intended.items() if one.counted.before])
    return intended


def settle_removals(
    connection: Connection, pairs: Iterable[tuple[Entry, Decision]], intended: Mapping[int, Intended]
) -> None:
    """Give back what of it was not written, now that this is known of these."""
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
    """Count these, by the autoscaler's id and `seq`, as so many instances; their times stay."""
    if changed:
        mine = (_TABLE.c.autoscaler_id == bindparam("owner_id")) & (_TABLE.c.seq == bindparam("of_seq"))
        rows = [{"owner_id": owner_id, "of_seq": seq, "units": units} for owner_id, seq, units in sorted(changed)]
        again = update(_TABLE).where(mine)
        # not by the statement itself: the time on the database's clock stays that of the intent
        connection.execute(again.values(instances=bindparam("units"), database=_TABLE.c.database), rows)
