"""One autoscaler of a state of schema version 1 as rows of today's tables."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Final, NamedTuple, TypeAlias

from sqlalchemy import Connection, bindparam, select

from autoscaler.decide import changed
from autoscaler.errors import StateError, TargetUnavailable
from autoscaler.model import Autoscaler, Decision, History, Observation, Status, TargetRef
from autoscaler.record import schema, version1
from autoscaler.record.entries import SPEC, remembered_body, target_text
from autoscaler.record.evaluation import columns_of
from autoscaler.record.packing import block, points_of
from autoscaler.record.recording import change_row
from autoscaler.record.rows import Marks, Row, differing, marks_of, pack_rows
from autoscaler.record.series import pack_points
from autoscaler.record.slots import slot_of
from autoscaler.record.times import from_micros, micros_of
from autoscaler.record.version1 import Seen, Standing, Values, unpack

Fields: TypeAlias = dict[str, Any]

PAGE: Final = 1
"""Number of the journal's page that the newest rows are in."""
_UNREADABLE: Final = "what was decided could not be read when an older version's state was taken over"

_SEEN: Final = Values[Seen](Seen)
_STANDING: Final = Values[Standing](Standing)
_SCALER: Final = Values[Autoscaler](Autoscaler)


class OldAutoscaler(NamedTuple):
    """What the tables of version 1 say of one."""

    id: int
    name: str
    target: TargetRef
    at: int
    """Of its newest decision, or of its first intent."""
    spec_at: int | None
    standing: bytes | None
    history: History
    """Recommendations and scale events."""
    numbers: Mapping[int, int]
    """Time of a cycle that is taken over -> its number."""
    first_at: int


@dataclass(slots=True)
class Taken:
    """What of it is to be written."""

    id: int
    connection: str
    """Its adapter connection."""
    rows: dict[str, list[Fields]] = field(default_factory=dict)
    """By table."""
    newest: Row | None = None
    """For the journal; None: it was never decided about."""
    period: int = 0
    """Its sync period in microseconds."""
    decisions: int = 0
    problems: list[str] = field(default_factory=list)

    def add(self, table: str, values: Fields) -> None:
        """One more row of this table."""
        self.rows.setdefault(table, []).append(values)


class _Cycle(NamedTuple):
    at: int
    spec_at: int
    seen: Seen


class _Spec(NamedTuple):
    number: int
    scaler: Autoscaler


def taken_from(connection: Connection, old: OldAutoscaler, since: int) -> Taken:
    """Its memory, and its decisions from `since` on (microseconds).

    What cannot be read of it is left out and said. Raises StateError where the database fails.
    """
    taken = Taken(old.id, old.target.adapter)
    owner = {
        "id": old.id,
        "name": old.name,
        "target": target_text(old.target),
        "connection": old.target.adapter,
        "slot": slot_of(old.target),
        "first_at": old.first_at,
    }
    taken.add(schema.autoscaler.name, owner)
    cycles = list(_cycles(connection, old, since, taken.problems))
    if not cycles or cycles[-1].at != old.at:
        cycles += _remembered(old, taken.problems)
    specs = _specs(connection, old, cycles, taken)
    cycles = [cycle for cycle in cycles if cycle.spec_at in specs]
    if not cycles or cycles[-1].at != old.at:
        return taken  # an intent was all there was of it, or nothing can be read
    rows = _rows(old, cycles, specs, taken)
    taken.decisions = len(rows)
    taken.newest = newest = rows[-1]  # whole and without a History: the journal has it as a copy
    taken.period = micros_of(specs[cycles[-1].spec_at].scaler.sync_period)
    memory = {
        "autoscaler_id": old.id,
        "number": newest.number,
        "at": newest.at,
        "period": taken.period,
        "page": PAGE,
        "base_page": PAGE,
        "body": remembered_body(old.history),
        "lead": 0,
    }
    taken.add(schema.memory.name, memory)
    bounds = {spec.number: (spec.scaler.min_replicas, spec.scaler.max_replicas) for spec in specs.values()}
    taken.add(schema.detail.name, block(old.id, rows, newest.at, pack_rows(rows)))
    taken.add(schema.series.name, block(old.id, rows, newest.at, pack_points(points_of(rows, bounds))))
    return taken


def _rows(old: OldAutoscaler, cycles: Sequence[_Cycle], specs: Mapping[int, _Spec], taken: Taken) -> list[Row]:
    """The cycles as rows, the first and the newest whole, and those in which something changed among the changes."""
    rows = list[Row]()
    base: tuple[int, Marks] | None = None
    before: Decision | None = None
    for cycle in cycles:
        number, spec, made = old.numbers[cycle.at], specs[cycle.spec_at].number, cycle.seen.decision
        columns = columns_of(cycle.seen.observation, made)
        if base is None or cycle is cycles[-1]:
            base = number, marks_of(columns)
        kept = columns if base[0] == number else differing(columns, base[1])
        rows.append(Row(number, cycle.at, spec, base[0], kept, None))
        if changed(before, made):
            taken.add(schema.change.name, change_row(old.id, rows[-1], min(cycle.at, old.at), columns))
        before = made
    return rows


def _cycles(connection: Connection, old: OldAutoscaler, since: int, problems: list[str]) -> Iterator[_Cycle]:
    """Those that can be read, in the order of their commits: the newest, and those from `since` on."""
    table = version1.decision
    query = select(table.c.at, table.c.spec_at, table.c.basis_at, table.c.body).where(
        table.c.autoscaler_id == bindparam("id"), table.c.at >= bindparam("first")
    )
    found = connection.execute(query, {"id": old.id, "first": min(since, old.at)}).all()
    bases: dict[int | None, bytes] = {None: b""}
    for row in sorted(found, key=lambda row: (row.at <= old.at, row.at)):
        if row.at < since and row.at != old.at:
            continue
        try:
            if row.basis_at not in bases:
                bases[row.basis_at] = _basis(connection, old.id, row.basis_at)
            seen = _SEEN.load(unpack(row.body, bases[row.basis_at]))
        except StateError as error:
            problems.append(f"autoscaler {old.name!r}: its decision of {from_micros(row.at).isoformat()}: {error}")
            continue
        yield _Cycle(row.at, row.spec_at, seen)


def _basis(connection: Connection, owner_id: int, at: int) -> bytes:
    """The body that others are packed against. Raises StateError."""
    table = version1.decision
    query = select(table.c.body).where(
        table.c.autoscaler_id == bindparam("id"), table.c.at == bindparam("at"), table.c.basis_at.is_(None)
    )
    body = connection.execute(query, {"id": owner_id, "at": at}).scalar_one_or_none()
    if body is None:
        raise StateError("what it was packed against is gone")
    return unpack(body)


def _remembered(old: OldAutoscaler, problems: list[str]) -> list[_Cycle]:
    """In place of a newest decision that cannot be read: one with the conditions and the status that it left."""
    if old.standing is None or old.spec_at is None:
        return []
    try:
        standing = _STANDING.load(unpack(old.standing))
    except StateError as error:
        problems.append(f"autoscaler {old.name!r}: its conditions: {error}")
        standing = Standing((), Status())
    made = Decision(
        name=old.name,
        target=old.target,
        now=from_micros(old.at),
        dry_run=False,
        current=None,
        desired=None,
        change=None,
        conditions=standing.conditions,
        events=(),
        metrics=(),
        trace=(),
        status=standing.status,
        error=_UNREADABLE,
    )
    return [_Cycle(old.at, old.spec_at, Seen(Observation(TargetUnavailable(_UNREADABLE), ()), made))]


def _specs(connection: Connection, old: OldAutoscaler, cycles: Sequence[_Cycle], taken: Taken) -> Mapping[int, _Spec]:
    """The specifications of these cycles by their time in version 1, each numbered as the first cycle with it."""
    table = version1.spec
    query = select(table.c.body).where(table.c.autoscaler_id == bindparam("id"), table.c.at == bindparam("at"))
    specs = dict[int, _Spec]()
    for at, group in groupby(cycles, key=lambda cycle: cycle.spec_at):
        number = old.numbers[next(group).at]
        if at in specs:
            continue
        try:
            body = connection.execute(query, {"id": old.id, "at": at}).scalar_one_or_none()
            scaler = _SCALER.load(unpack(body or b""))
        except StateError as error:
            taken.problems.append(
                f"autoscaler {old.name!r}: its specification of {from_micros(at).isoformat()}: {error}; what was "
                "decided with it is left out"
            )
            continue
        specs[at] = _Spec(number, scaler)
        values = {
            "autoscaler_id": old.id,
            "number": number,
            "minimum": scaler.min_replicas,
            "maximum": scaler.max_replicas,
            "body": SPEC.dump(scaler),
        }
        taken.add(schema.spec.name, values)
    return specs
