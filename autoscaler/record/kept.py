"""What is known by a name alone: the table `kept`."""

from collections.abc import Callable, Collection, Mapping
from typing import Final, TypeVar

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from autoscaler.errors import StateError
from autoscaler.record import schema

_T = TypeVar("_T")
_TABLE: Final = schema.kept
_KIND_AND_KEY: Final = (_TABLE.c.kind == bindparam("of")) & (_TABLE.c.key == bindparam("gone"))


def save(connection: Connection, kind: str, bodies: Mapping[str, bytes]) -> None:
    """Save these by key, and replace what is there."""
    remove(connection, kind, sorted(bodies))
    if bodies:
        rows = [{"kind": kind, "key": key, "body": bodies[key]} for key in sorted(bodies)]
        connection.execute(insert(_TABLE), rows)


def remove(connection: Connection, kind: str, keys: Collection[str]) -> None:
    """Delete what is known by these keys."""
    if keys:
        connection.execute(delete(_TABLE).where(_KIND_AND_KEY), [{"of": kind, "gone": key} for key in keys])


def rename(connection: Connection, kind: str, keys: Mapping[str, str]) -> None:
    """Move what is known by these former keys to the new ones, which are given by them, and replace what is there."""
    remove(connection, kind, keys.values())
    rows = [{"of": kind, "gone": former, "new": new} for former, new in keys.items()]
    if rows:
        connection.execute(update(_TABLE).where(_KIND_AND_KEY).values(key=bindparam("new")), rows)


def bodies(connection: Connection, kind: str, keys: Collection[str] | None = None) -> Mapping[str, bytes]:
    """Return what is known by these keys; None: by all."""
    query = select(_TABLE.c.key, _TABLE.c.body).where(_TABLE.c.kind == kind)
    if keys is not None and (few := schema.few(keys)) is not None:
        query = query.where(_TABLE.c.key.in_(few))
    return {row.key: row.body for row in connection.execute(query) if keys is None or row.key in keys}


def read(
    connection: Connection,
    kind: str,
    keys: Collection[str] | None,
    load: Callable[[bytes], _T],
    what: str,
    damaged: dict[str, str],
) -> dict[str, _T]:
    """Return what `load` makes of these. `damaged` gets the reason of those that it cannot load; `what`: in words."""
    found = dict[str, _T]()
    for key, body in bodies(connection, kind, keys).items():
        try:
            found[key] = load(body)
        except (StateError, ValueError, TypeError, ArithmeticError) as error:
            damaged[key] = f"{what} cannot be read ({error}); the next cycle begins it anew"
    return found
