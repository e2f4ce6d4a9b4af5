"""What operators asked for, in the state: any process may change it, and every lane follows in its next cycle."""

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from sqlalchemy import Connection, bindparam, delete, select, update

from autoscaler.errors import StateError
from autoscaler.model import Steering
from autoscaler.record import schema
from autoscaler.record.binary import Binary, readable
from autoscaler.record.database import Database

STEERING: Final = Binary[Steering](Steering)


SteeringChange: TypeAlias = Callable[[Mapping[str, Steering]], Mapping[str, Steering]]
"""From all that operators asked for so far, by the autoscaler's name, to what changes; an empty one is taken back."""


def change_steering(database: Database, change: SteeringChange) -> Mapping[str, Steering]:
    """Keep what operators ask of autoscalers, all in one transaction. Returns what changed. Raises StateError.

    Nobody else changes anything between what `change` is given and what it returns: a pause and an override that two
    hosts are asked for in the same moment are both kept. It is given what is expired, too, but not what cannot be read.
    """
    table = schema.steering
    with database.writing() as connection:
        # first: who steers beside us waits here, and not for our rows with some of his own that we would wait for
        connection.execute(
            update(schema.counter)
            .where(schema.counter.c.name == schema.STEERING)
            .values(value=schema.counter.c.value + 1)
        )
        known = read_steering(connection)
        asked = change({name: one for name, one in known.items() if isinstance(one, Steering)})
        kept = [{"name": name, "body": STEERING.dump(one)} for name, one in asked.items() if one != Steering()]
        taken_back = [{"gone": name} for name, one in asked.items() if one == Steering()]
        schema.upsert(connection, table, kept)
        if taken_back:
            connection.execute(delete(table).where(table.c.name == bindparam("gone")), taken_back)
    return asked


def steer(database: Database, asked: Mapping[str, Steering]) -> None:
    """Keep this of autoscalers, whatever was asked of them before; as `change_steering`."""
    change_steering(database, lambda _known: asked)


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
