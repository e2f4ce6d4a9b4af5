"""What operators asked for, in the state: any process may change it, and every shard follows in its next cycle."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final, TypeAlias

from sqlalchemy import Connection, bindparam, delete, func, select, update

from autoscaler.errors import StateError
from autoscaler.model import Event, Steering
from autoscaler.record import schema
from autoscaler.record.binary import Binary, readable
from autoscaler.record.database import Database
from autoscaler.record.recording import event_rows, write_events
from autoscaler.record.times import to_micros

STEERING: Final = Binary[Steering](Steering)


SteeringChange: TypeAlias = Callable[[Mapping[str, Steering]], Mapping[str, Steering]]
"""From all that operators asked for so far, by the autoscaler's name, to what changes; an empty one is taken back."""
SteeringEvent: TypeAlias = Callable[[Steering, Steering], Event | None]
"""From what was asked of an autoscaler before and after a change to the event of it; None: there is none."""


def change_steering(
    database: Database, change: SteeringChange, event: SteeringEvent, now: datetime
) -> Mapping[str, Steering]:
    """Keep what operators ask of autoscalers, with an event of each, in one transaction. Returns what changed.

    No other process changes anything between what `change` is given and what it returns: a pause and an override that
    two hosts are asked for in the same moment are both kept. `change` and `event` are given what is expired, too, but
    not what cannot be read. An autoscaler without any decision yet gets no event: the
    events are those of its target. Raises StateError.
    """
    with database.writing() as connection:
        before, asked = _change(connection, change)
        told = {name: event(before.get(name, Steering()), one) for name, one in asked.items()}
        _write_events(connection, {name: one for name, one in told.items() if one is not None}, to_micros(now))
    return asked


def steer(database: Database, asked: Mapping[str, Steering]) -> None:
    """Keep this of autoscalers, whatever was asked of them before, without events. Raises StateError."""
    with database.writing() as connection:
        _change(connection, lambda _known: asked)


def _change(connection: Connection, change: SteeringChange) -> tuple[Mapping[str, Steering], Mapping[str, Steering]]:
    """What was asked for before, and what changed."""
    table = schema.steering
    # first: another process that steers waits here, and not for a row of ours while we wait for one of its own
    connection.execute(
        update(schema.counter).where(schema.counter.c.name == schema.STEERING).values(value=schema.counter.c.value + 1)
    )
    known = {name: one for name, one in read_steering(connection).items() if isinstance(one, Steering)}
    asked = change(known)
    kept = [{"name": name, "body": STEERING.dump(one)} for name, one in asked.items() if one != Steering()]
    taken_back = [{"gone": name} for name, one in asked.items() if one == Steering()]
    schema.upsert(connection, table, kept)
    if taken_back:
        connection.execute(delete(table).where(table.c.name == bindparam("gone")), taken_back)
    return known, asked


def _write_events(connection: Connection, events: Mapping[str, Event], at: int) -> None:
    """Each behind those of its autoscaler's newest cycle: a later cycle's events have another number."""
    owner, memory, table = schema.autoscaler, schema.memory, schema.event
    of_newest = (table.c.autoscaler_id == memory.c.autoscaler_id) & (table.c.number == memory.c.number)
    query = (
        select(owner.c.name, owner.c.id, memory.c.number, func.max(table.c.position).label("last"))
        .join(memory, memory.c.autoscaler_id == owner.c.id)
        .outerjoin(table, of_newest)
        .where(memory.c.number > 0)
        .group_by(owner.c.name, owner.c.id, memory.c.number, memory.c.at)
        .order_by(memory.c.at)  # of an autoscaler that had several targets, the last one stays
    )
    names = schema.few(events)
    if names is not None:
        query = query.where(owner.c.name.in_(names))
    found = {row.name: row for row in connection.execute(query)}
    keys = {name: (row.id, row.number, 0 if row.last is None else row.last + 1) for name, row in found.items()}
    rows = [event_rows(event, keys[name], at, dry_run=False) for name, event in events.items() if name in keys]
    write_events(connection, rows)


def read_steering(connection: Connection) -> Mapping[str, Steering | StateError]:
    """By the autoscaler's name, expired or not; for one that this version cannot read, what is wrong with it."""
    return {row.name: _steering(row.name, row.body) for row in connection.execute(select(schema.steering))}


def _steering(name: str, body: bytes) -> Steering | StateError:
    try:
        with readable(name):
            return STEERING.load(body)
    except StateError as error:
        return StateError(f"{error}; or pause or override it anew: what was asked for before cannot be read")


class SteeringCache:
    """The same, read again only where it has changed. Any number of threads at once."""

    def __init__(self) -> None:
        self._known: tuple[int, Mapping[str, Steering | StateError]] | None = None
        """The counter's value, and what was read at it; replaced as a whole."""

    def current(self, connection: Connection) -> Mapping[str, Steering | StateError]:
        """What is in the state now. Raises StateError."""
        counter = select(schema.counter.c.value).where(schema.counter.c.name == schema.STEERING)
        value: int = connection.execute(counter).scalar_one()
        known = self._known
        if known is None or known[0] != value:
            known = self._known = value, read_steering(connection)
        return known[1]
