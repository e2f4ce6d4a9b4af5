"""The steps from each version of the schema to the next one.

A later version that changes a type that a step uses leaves a copy of it here, as it was.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final, TypeAlias

import msgspec
from sqlalchemy import Connection, text

from autoscaler.errors import StateError
from autoscaler.model import History, HpaMemory, PendingWrite, Recommendation, Remembered, ScaleEvent, Sightings
from autoscaler.record import schema
from autoscaler.record.binary import Binary, readable
from autoscaler.record.entries import KEPT, Kept
from autoscaler.record.evaluation import decision_from
from autoscaler.record.sighting_cache import SEEN, Seen
from autoscaler.record.targets import target_from
from autoscaler.record.times import from_micros

Migration: TypeAlias = Callable[[Connection], None]


def _say_which_version_decided(connection: Connection) -> None:
    """To 14: a specification has the version of the package, so each decision has it, too."""
    connection.execute(text("ALTER TABLE spec ADD COLUMN version TEXT"))


def _write_what_changes(connection: Connection) -> None:
    """To 15: a memory is part of the autoscaler's row, without its newest decision, and a writer stands for its time.

    What is known by a name alone is in one table, and the bytes of each tier are in that of the writers.
    """
    for table in (schema.writer, schema.kept):
        table.create(connection)
    connection.execute(schema.writer.insert(), first_writers())
    for tier in ("detail", "history"):
        counted = f"SELECT coalesce(sum(value), 0) FROM counter WHERE name LIKE '{tier} %'"  # noqa: S608 - constants
        connection.execute(text(f"UPDATE writer SET {tier} = ({counted}) WHERE id = {schema.HOUSEKEEPING}"))  # noqa: S608 - constants
    body = "BYTEA" if connection.dialect.name == "postgresql" else "BLOB"
    for column in (
        "seq BIGINT NOT NULL DEFAULT 0",
        "number BIGINT NOT NULL DEFAULT 0",
        "writer BIGINT",
        "since BIGINT NOT NULL DEFAULT 0",
        "at BIGINT",
        "boot TEXT",
        "elapsed BIGINT",
        "database BIGINT",
        "decided BIGINT",
        f"body {body}",
        "counted BIGINT",
    ):
        connection.execute(text(f"ALTER TABLE autoscaler ADD COLUMN {column}"))
    connection.execute(text("CREATE INDEX autoscaler_writer ON autoscaler (writer)"))
    _move_memories(connection)
    _move_kept(connection)
    for index in ("block_chunk", "block_pages"):
        connection.execute(text(f"DROP INDEX {index}"))
    connection.execute(text("CREATE INDEX block_chunk ON block (packed, chunk, until)"))
    for gone in ("memory", "sighting", "adapter_memory", "steering", "cut", "counter"):
        connection.execute(text(f"DROP TABLE {gone}"))
    connection.execute(text("ALTER TABLE fence DROP COLUMN commits"))


_MEMORY: Final = (
    "UPDATE autoscaler SET seq = :seq, number = :number, at = :at, boot = :boot, elapsed = :elapsed, "
    "database = :database, decided = :decided, body = :body, counted = :counted WHERE id = :autoscaler_id"
)
_AT_ONCE: Final = 1_000
MIGRATIONS: Final[Mapping[int, Migration]] = {13: _say_which_version_decided, 14: _write_what_changes}
"""Version -> the step from it to the next one. No step changes `lease`, `schema_version` or their columns: daemons of
other versions read them."""


def first_writers() -> list[dict[str, Any]]:
    """Return the rows of the writers that each state has."""
    row = {"commits": 0, "at": 0, "boot": "", "elapsed": 0, "database": None, "detail": 0, "history": 0}
    return [{"id": number, **row} for number in (schema.OPERATORS, schema.HOUSEKEEPING)]


def _move_memories(connection: Connection) -> None:
    query = text("SELECT owner.name, owner.target, memory.* FROM memory JOIN autoscaler AS owner ON id = autoscaler_id")
    rows = connection.execute(query).all()
    for start in range(0, len(rows), _AT_ONCE):
        moved = [{**row._asdict(), **_kept_of(row)} for row in rows[start : start + _AT_ONCE]]
        connection.execute(text(_MEMORY), moved)


class _Remembered(msgspec.Struct, array_like=True):
    """The body of a memory of version 14. Ages are microseconds before the time of the row."""

    age: int
    recommendations: tuple[tuple[int, int], ...]
    scale_ups: tuple[tuple[int, int], ...]
    scale_downs: tuple[tuple[int, int], ...]
    pending: PendingWrite | None
    decision: tuple[bytes, ...] | None
    spec: int
    spec_digest: bytes


_REMEMBERED: Final = Binary[_Remembered](_Remembered)
_SIGHTINGS: Final = Binary[Sightings](Sightings)


def _kept_of(row: Any) -> dict[str, Any]:
    """Return the columns `body` and `decided` of a memory of version 14. A damaged one stays damaged."""
    try:
        with readable(row.name):
            kept, decision = _REMEMBERED.load(row.body), None
            if kept.decision is not None:
                decision = decision_from(kept.decision, row.at - kept.age, row.name, target_from(row.target))
    except StateError:
        return {"decided": None}
    new = Remembered() if decision is None else decision.remembered
    history = History(
        hpa=HpaMemory(
            tuple([Recommendation(size, from_micros(row.at - age)) for size, age in kept.recommendations]),
            tuple([ScaleEvent(change, from_micros(row.at - age)) for change, age in kept.scale_ups]),
            tuple([ScaleEvent(change, from_micros(row.at - age)) for change, age in kept.scale_downs]),
            () if decision is None else decision.conditions,
            new.status,
        ),
        pending=kept.pending,
        at=None if decision is None else decision.now,
        warnings=() if decision is None else decision.warnings,
        rules=new.rules,
    )
    decided = None if decision is None else row.at - kept.age
    return {"decided": decided, "body": KEPT.dump(Kept.of(history, kept.spec, kept.spec_digest))}


def _move_kept(connection: Connection) -> None:
    moved = text("INSERT INTO kept (kind, key, body) VALUES (:kind, :key, :body)")
    for kind, query in (("steering", "SELECT name, body FROM steering"), ("adapter", "SELECT * FROM adapter_memory")):
        for key, body in connection.execute(text(query)).all():
            connection.execute(moved, {"kind": kind, "key": key, "body": body})
    for row in connection.execute(text("SELECT * FROM sighting")).all():
        with suppress(StateError):  # what is damaged begins anew
            seen = Seen(row.at, row.boot, row.elapsed, row.database, _SIGHTINGS.load(row.body))
            connection.execute(moved, {"kind": "sighting", "key": row.scaled, "body": SEEN.dump(seen)})
    for tier, until, at in connection.execute(text("SELECT tier, until, at FROM cut")).all():
        connection.execute(moved, {"kind": "cut", "key": tier, "body": msgspec.msgpack.encode((until, at))})
