"""Pauses and overrides of operators in the state. Any process can change them; shards read them in each cycle."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final, TypeAlias

from sqlalchemy import Connection, func, select, update

from autoscaler.errors import StateError
from autoscaler.model import Event, ManualControls
from autoscaler.record import schema
from autoscaler.record.binary import Binary, readable
from autoscaler.record.database import Database
from autoscaler.record.kept import bodies, remove, save
from autoscaler.record.recording import event_row
from autoscaler.record.sizes import count_bytes, insert_rows
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
    table = schema.writer
    # comes first, so that concurrent processes wait here and cannot deadlock on rows
    connection.execute(update(table).where(table.c.id == schema.OPERATORS).values(commits=table.c.commits + 1))
    known = {name: one for name, one in read_steering(connection).items() if isinstance(one, ManualControls)}
    asked = change(known)
    save(
        connection,
        schema.STEERING,
        {name: STEERING.dump(one) for name, one in asked.items() if one != ManualControls()},
    )
    remove(connection, schema.STEERING, [name for name, one in asked.items() if one == ManualControls()])
    return known, asked


def _write_events(connection: Connection, events: Mapping[str, Event], at: int) -> None:
    """Write each event after those of its autoscaler's newest cycle."""
    c, table = schema.known.c, schema.event
    of_newest = (table.c.autoscaler_id == c.id) & (table.c.number == c.number)
    query = (
        select(c.name, c.id, c.number, func.max(table.c.position).label("last"))
        .outerjoin(table, of_newest)
        .where(c.number > 0)
        .group_by(c.name, c.id, c.number, c.at)
        .order_by(c.at)  # of several targets of an autoscaler, the newest is used
    )
    names = schema.few(events)
    if names is not None:
        query = query.where(c.name.in_(names))
    found = {row.name: row for row in connection.execute(query)}
    keys = {name: (row.id, row.number, 0 if row.last is None else row.last + 1) for name, row in found.items()}
    rows = [event_row(event, keys[name], at, dry_run=False) for name, event in events.items() if name in keys]
    if rows:
        count_bytes(connection, schema.OPERATORS, insert_rows(connection, {table: rows}))


def read_steering(connection: Connection) -> Mapping[str, ManualControls | StateError]:
    """Return all steering by autoscaler name, expired included. Damaged steering is its error."""
    return {name: _steering(name, body) for name, body in bodies(connection, schema.STEERING).items()}


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
        """The number of changes, and the steering after them. Replaced as a whole."""

    def current(self, connection: Connection) -> Mapping[str, ManualControls | StateError]:
        """Return all steering, as `read_steering`. Raises StateError."""
        changes = select(schema.writer.c.commits).where(schema.writer.c.id == schema.OPERATORS)
        number: int = connection.execute(changes).scalar_one()
        known = self._known
        if known is None or known[0] != number:
            known = self._known = number, read_steering(connection)
        return known[1]
