"""What a state of schema version 1 holds, written into tables of today's.

Both are reached over one connection: the old tables are in the schema `version1.SCHEMA`. What cannot be read costs its
own autoscaler alone, and is said; only what operators asked for must be readable, as a pause that is lost would scale.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Final

from sqlalchemy import Connection, func, insert, select, text

from autoscaler.errors import StateError
from autoscaler.model import History, Recommendation, ScaleEvent, Sightings, Steering, TargetRef
from autoscaler.record import schema, version1
from autoscaler.record.entries import SIGHTINGS, target_text
from autoscaler.record.journal import chunk_of, page_of
from autoscaler.record.old_autoscaler import PAGE, OldAutoscaler, Taken, taken_from
from autoscaler.record.recording import text_id
from autoscaler.record.rows import Row
from autoscaler.record.steering import STEERING
from autoscaler.record.times import from_micros
from autoscaler.record.version1 import SCHEMA, Values, unpack

LAST_MICROS: Final = 3_600_000_000
"""How much of the decisions is taken over (1 h)."""
MOST_DECISIONS: Final = 25_000
"""And how many at most, beside the newest of each autoscaler: what can be read in a few seconds."""

_TARGET: Final = Values[TargetRef](TargetRef)
_SIGHTINGS: Final = Values[Sightings](Sightings)
_STEERING: Final = Values[Steering](Steering)


@dataclass(slots=True)
class Converted:
    """What was taken over, and what could not be."""

    autoscalers: int = 0
    decisions: int = 0
    events: int = 0
    problems: list[str] = field(default_factory=list)


def convert(connection: Connection) -> Converted:
    """Fill today's tables, which are empty. Raises StateError."""
    converted = Converted()
    _convert_steering(connection)
    _convert_sightings(connection, converted)
    since = _since(connection)
    _number_cycles(connection, since)
    for _, owners in groupby(_owners(connection, since, converted), key=lambda old: chunk_of(old.id)):
        _write(connection, [taken_from(connection, old, since) for old in owners], converted)
    _convert_intents(connection)
    converted.events = _convert_events(connection)
    connection.execute(text("DROP TABLE old_cycle"))
    schema.number_after_rows(connection)
    return converted


def _convert_steering(connection: Connection) -> None:
    rows = []
    for row in connection.execute(select(version1.steering)):
        try:
            asked = _STEERING.load(row.body)
        except StateError as error:
            raise StateError(
                f"autoscaler {row.name!r}: its pause or override cannot be taken over from the older version's state: "
                f"{error}; resume it with the older version, or restore a backup"
            ) from error
        rows.append({"name": row.name, "body": STEERING.dump(asked)})
    schema.upsert(connection, schema.steering, rows)


def _convert_sightings(connection: Connection, converted: Converted) -> None:
    rows = []
    for row in connection.execute(select(version1.sighting)):
        try:
            target, seen = _TARGET.load(row.target.encode()), _SIGHTINGS.load(unpack(row.body))
        except StateError as error:
            converted.problems.append(f"target {row.target}: when its instances were first seen: {error}")
            continue
        rows.append({"target": target_text(target), "body": SIGHTINGS.dump(seen), "lead": 0})
    schema.upsert(connection, schema.sighting, rows)


def _since(connection: Connection) -> int:
    """From when on decisions are taken over, in microseconds."""
    at = version1.decision.c.at
    newest = connection.execute(select(func.max(version1.autoscaler.c.at))).scalar_one()
    hour = int(newest or 0) - LAST_MICROS
    query = select(at).where(at >= hour).order_by(at.desc()).offset(MOST_DECISIONS).limit(1)
    too_many: int | None = connection.execute(query).scalar_one_or_none()
    return hour if too_many is None else too_many + 1


def _number_cycles(connection: Connection, since: int) -> None:
    """Number each autoscaler's cycles in the order of their commits, as far as something of them is taken over.

    That is the order of their times, but for a clock that was set back: what is later than the newest decision (the one
    that the autoscaler's own row names) came before it.
    """
    statement = (
        "CREATE TEMPORARY TABLE old_cycle AS "  # noqa: S608 - a name of ours and a whole number
        "SELECT cycle.autoscaler_id, cycle.at, dense_rank() OVER "
        "(PARTITION BY cycle.autoscaler_id ORDER BY cycle.at <= owner.at, cycle.at) AS number "
        f"FROM (SELECT autoscaler_id, at FROM {SCHEMA}.event "
        f"UNION SELECT autoscaler_id, at FROM {SCHEMA}.decision WHERE at >= {int(since)} "
        f"UNION SELECT id, at FROM {SCHEMA}.autoscaler) AS cycle "
        f"JOIN {SCHEMA}.autoscaler AS owner ON owner.id = cycle.autoscaler_id"
    )
    connection.execute(text(statement))


def _owners(connection: Connection, since: int, converted: Converted) -> list[OldAutoscaler]:
    """All autoscalers whose target can be read, by id."""
    owner, spec = version1.autoscaler, version1.spec
    histories, numbers = _histories(connection), _numbers(connection, since)
    query = select(spec.c.autoscaler_id, func.min(spec.c.at).label("first")).group_by(spec.c.autoscaler_id)
    first = {row.autoscaler_id: row.first for row in connection.execute(query)}
    owners = []
    for row in connection.execute(select(owner).order_by(owner.c.id)):
        try:
            target = _TARGET.load(row.target.encode())
        except StateError as error:
            converted.problems.append(f"autoscaler {row.name!r}: its target: {error}; it starts anew")
            continue
        owners.append(
            OldAutoscaler(
                row.id,
                row.name,
                target,
                row.at,
                row.spec_at,
                row.standing,
                histories.get(row.id, History()),
                numbers[row.id],
                first.get(row.id, row.at),
            )
        )
    return owners


def _histories(connection: Connection) -> Mapping[int, History]:
    """By the autoscaler's id: scale events in their order, and recommendations in that of time."""
    slot = version1.slot
    kept = dict[int, dict[int, list[tuple[int, int]]]]()
    for row in connection.execute(select(slot).order_by(slot.c.autoscaler_id, slot.c.kind, slot.c.position)):
        kept.setdefault(row.autoscaler_id, {}).setdefault(row.kind, []).append((row.at, row.amount))
    histories = {}
    for owner_id, kinds in kept.items():
        recommendations = sorted(kinds.get(version1.RECOMMENDATION, ()), key=lambda each: each[0])
        ups, downs = kinds.get(version1.SCALE_UP, ()), kinds.get(version1.SCALE_DOWN, ())
        histories[owner_id] = History(
            recommendations=tuple([Recommendation(size, from_micros(at)) for at, size in recommendations]),
            scale_ups=tuple([ScaleEvent(change, from_micros(at)) for at, change in ups]),
            scale_downs=tuple([ScaleEvent(change, from_micros(at)) for at, change in downs]),
        )
    return histories


def _numbers(connection: Connection, since: int) -> Mapping[int, Mapping[int, int]]:
    """Autoscaler's id -> time of a cycle from `since` on, or of the newest -> its number."""
    query = text(
        "SELECT cycle.autoscaler_id, cycle.at, cycle.number FROM old_cycle AS cycle "  # noqa: S608 - a name of ours
        f"JOIN {SCHEMA}.autoscaler AS owner ON owner.id = cycle.autoscaler_id "
        "WHERE cycle.at >= :since OR cycle.at = owner.at"
    )
    numbers = dict[int, dict[int, int]]()
    for row in connection.execute(query, {"since": since}):
        numbers.setdefault(row.autoscaler_id, {})[row.at] = row.number
    return numbers


def _write(connection: Connection, chunk: list[Taken], converted: Converted) -> None:
    """Write what is taken over of the autoscalers that share pages of the journal."""
    rows = dict[str, list[dict[str, Any]]]()
    pages = dict[tuple[str, int], dict[int, Row]]()
    for taken in chunk:
        for table, values in taken.rows.items():
            rows.setdefault(table, []).extend(values)
        if taken.newest is not None:
            pages.setdefault((taken.connection, taken.period), {})[taken.id] = taken.newest
        converted.autoscalers += 1
        converted.decisions += taken.decisions
        converted.problems += taken.problems
    for (name, period), newest in pages.items():
        key = {"connection": name, "period": period, "chunk": chunk_of(next(iter(newest))), "number": PAGE}
        rows.setdefault(schema.journal.name, []).append(key | {"lead": 0, "body": page_of(newest)})
    for table, values in rows.items():
        connection.execute(insert(schema.metadata.tables[table]), values)


def _convert_intents(connection: Connection) -> None:
    columns = "autoscaler_id, size, decided_from, at"
    connection.execute(
        text(
            f"INSERT INTO intent ({columns}, lead) SELECT {columns}, 0 FROM {SCHEMA}.intent "  # noqa: S608 - names of ours
            "WHERE autoscaler_id IN (SELECT id FROM autoscaler)"
        )
    )


def _convert_events(connection: Connection) -> int:
    """All of them. Returns how many."""
    old = version1.event
    texts = connection.execute(select(old.c.type, old.c.reason, old.c.message).distinct())
    rows = [
        {"id": text_id(*found), "type": found.type, "reason": found.reason, "message": found.message} for found in texts
    ]
    schema.insert_absent(connection, schema.event_text, rows)
    found = connection.execute(
        text(
            "INSERT INTO event (autoscaler_id, number, position, at, recorded, dry_run, text_id) "  # noqa: S608 - a name of ours
            "SELECT old.autoscaler_id, cycle.number, row_number() OVER "
            "(PARTITION BY old.autoscaler_id, old.at ORDER BY old.id) - 1, old.at, old.at, old.dry_run, event_text.id "
            f"FROM {SCHEMA}.event AS old "
            "JOIN autoscaler ON autoscaler.id = old.autoscaler_id "
            "JOIN old_cycle AS cycle ON cycle.autoscaler_id = old.autoscaler_id AND cycle.at = old.at "
            "JOIN event_text ON event_text.type = old.type AND event_text.reason = old.reason "
            "AND event_text.message = old.message"
        )
    )
    return found.rowcount
