"""PostgreSQL: a daemon of version 2 had the state for itself, and said so in a row that it renewed.

Those of today refuse to begin beside it, and leave a row in its place that it never takes over.
"""

from typing import Final

from sqlalchemy import Connection, select

from autoscaler.errors import StateError
from autoscaler.record import schema

_HOLDER: Final = "several daemons"
_FOR_EVER: Final = 2**62


def supersede_claim(connection: Connection, now: int, place: str) -> None:
    """Have the claim. `now`: the database's time; `place`: the state's. Raises StateError where a daemon holds it."""
    found = connection.execute(select(schema.owner)).one_or_none()
    if found is not None and found.holder != _HOLDER and found.until > now:
        seconds = -(-(found.until - now) // 1_000_000)
        raise StateError(
            f"{place} is in use by a daemon of an older version ({found.place}), which does not share it; stop that "
            f"one. One that was killed lets go in {seconds} s"
        )
    row = {"id": 1, "holder": _HOLDER, "place": "daemons of a newer version", "until": _FOR_EVER}
    schema.upsert(connection, schema.owner, [row])
