"""Pauses and overrides of operators in the state. Any process can change them; shards read them in each cycle."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final, TypeAlias

from sqlalchemy import Connection, bindparam, delete, func, select, update

from autoscaler.errors import StateError
from autoscaler.model import Event, ManualControls
from autoscaler.record import schema
from autoscaler.record.binary import Binary, readable
from autoscaler.record.database import Database
from autoscaler.record.recording import event_row
from autoscaler.record.sizes import STEERING_EVENTS, insert_counted
from autoscaler.record.times import to_micros

STEERING: Final = Binary[ManualControls](ManualControls)
SteeringChange: TypeAlias = Callable[[Mapping[str, ManualControls]], Mapping[str, ManualControls]]
"""Takes all steering by autoscaler name and returns what changes. An empty ManualControls deletes the autoscaler's."""
SteeringEvent: TypeAlias = Callable[[ManualControls, ManualControls], Event | None]
"""Takes an autoscaler's steering before and after a change and returns the event; None: no event."""


def change_steering(
    database: Database, change: SteeringChange, event: SteeringEvent, now: datetime
) -> Mapping[str, ManualControls]:
    """Change steering, with events at `now`, in one transaction. Returns what changed.

    No other process can change steering meanwhile, so simultaneous requests to two hosts are both kept. `change` and
    `event` get expired steering, too, but not damaged. An autoscaler without a decision gets no event, because events
    belong to a target. Raises StateError.
    """
    with database.writing() as connection:
        before, asked = _change(connection, change)
        events = {name: event(before.get(name, ManualControls()), one) for name, one in asked.items()}
        _write_events(connection, {name: one for name, one in events.items() if one is not None}, to_micros(now))
    return asked


def _change(
    connection: Connection, change: SteeringChange
) -> tuple[Mapping[str, ManualControls], Mapping[str, ManualControls]]:
    """Return the steering before, and what changed."""
    table = schema.steering
    # comes first, so that concurrent processes wait here and cannot deadlock on rows
    connection.execute(
        update(schema.counter).where(schema.counter.c.name == schema.STEERING).values(value=schema.counter.c.value + 1)
    )
    known = {name: one for name, one in read_steering(connection).items() if isinstance(one, ManualControls)}
    asked = change(known)
    kept = [{"name": name, "body": STEERING.dump(one)} for name, one in asked.items() if one != ManualControls()]
    taken_back = [{"gone": name} for name, one in asked.items() if one == ManualControls()]
    schema.upsert(connection, table, kept)
    if taken_back:
        connection.execute(delete(table).where(table.c.name == bindparam("gone")), taken_back)
    return known, asked


def _write_events(connection: Connection, events: Mapping[str, Event], at: int) -> None:
    """Write each event after those of its autoscaler's newest cycle."""
    owner, memory, table = schema.autoscaler, schema.memory, schema.event
    of_newest = (table.c.autoscaler_id == memory.c.autoscaler_id) & (table.c.number == memory.c.number)
    query = (
        select(owner.c.name, owner.c.id, memory.c.number, func.max(table.c.position).label("last"))
        .join(memory, memory.c.autoscaler_id == owner.c.id)
        .outerjoin(table, of_newest)
        .where(memory.c.number > 0)
        .group_by(owner.c.name, owner.c.id, memory.c.number, memory.c.at)
        .order_by(memory.c.at)  # of several targets of an autoscaler, the newest is used
    )
    names = schema.few(events)
    if names is not None:
        query = query.where(owner.c.name.in_(names))
    found = {row.name: row for row in connection.execute(query)}
    keys = {name: (row.id, row.number, 0 if row.last is None else row.last + 1) for name, row in found.items()}
    rows = [event_row(event, keys[name], at, dry_run=False) for name, event in events.items() if name in keys]
    if rows:
        insert_counted(connection, {table: rows}, STEERING_EVENTS)


def read_steering(connection: Connection) -> Mapping[str, ManualControls | StateError]:
    """Return all steering by autoscaler name, expired included. Damaged steering is its error."""
    return {row.name: _steering(row.name, row.body) for row in connection.execute(select(schema.steering))}


def _steering(name: str, body: bytes) -> ManualControls | StateError:
    try:
        with readable(name):
            return STEERING.load(body)
    except StateError as error:
        return StateError(f"{error}; or pause or override the autoscaler again, which replaces the damaged value")


class SteeringCache:
    """Reads steering again only after a change. Any number of threads can use it."""

    def __init__(self) -> None:
        self._known: tuple[int, Mapping[str, ManualControls | StateError]] | None = None
        """The counter's value, and the steering at that value. Replaced as a whole."""

    def current(self, connection: Connection) -> Mapping[str, ManualControls | StateError]:
        """Return all steering, as `read_steering`. Raises StateError."""
        counter = select(schema.counter.c.value).where(schema.counter.c.name == schema.STEERING)
        value: int = connection.execute(counter).scalar_one()
        known = self._known
        if known is None or known[0] != value:
            known = self._known = value, read_steering(connection)
        return known[1]
