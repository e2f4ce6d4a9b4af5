"""What one autoscaler remembers, in memory and in the state: equal after every commit."""

from collections.abc import Collection, Container, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec
from msgspec.structs import replace
from sqlalchemy import ColumnElement, Connection, Row, Select, func, select, update

from autoscaler.decide import settled
from autoscaler.errors import StateError
from autoscaler.model import (
    Autoscaler,
    Decision,
    History,
    Intent,
    Recommendation,
    ScaleEvent,
    Sightings,
    TargetRef,
    TargetState,
)
from autoscaler.record import schema
from autoscaler.record.binary import Binary, readable
from autoscaler.record.evaluation import DECISION, decision_from
from autoscaler.record.journal import MISSING, Place, read_newest
from autoscaler.record.rows import Marks, completed
from autoscaler.record.times import from_micros, to_micros

Key: TypeAlias = tuple[str, str]
"""An autoscaler's name and its target: one that is pointed at another target starts fresh."""

TARGET: Final = Binary[TargetRef](TargetRef)
HISTORY: Final = Binary[History](History)
SPEC: Final = Binary[Autoscaler](Autoscaler)
SIGHTINGS: Final = Binary[Sightings](Sightings)


class _Remembered(msgspec.Struct, array_like=True):
    """What of a History the newest evaluation does not hold. Times in microseconds."""

    recommendations: tuple[tuple[int, int], ...]
    scale_ups: tuple[tuple[int, int], ...]
    scale_downs: tuple[tuple[int, int], ...]


_REMEMBERED: Final = Binary[_Remembered](_Remembered)


def key_of(name: str, target: TargetRef) -> Key:
    """The key under which an autoscaler's history is kept."""
    return name, target_text(target)


@lru_cache(maxsize=65_536)  # every decision asks for it several times a cycle
def target_text(target: TargetRef) -> str:
    """A target as its column: a JSON array, the shortest that says it."""
    parts = [target.adapter, target.name, target.namespace, target.region]
    while parts[-1] is None:
        parts.pop()
    return msgspec.json.encode(
        [part and part.encode("utf-8", "surrogatepass").decode("latin-1") for part in parts]
    ).decode()


def target_from(text: str) -> TargetRef:
    """The target of `target_text`."""
    parts = msgspec.json.decode(text.encode(), type=list[str | None])
    return TargetRef(*[part and part.encode("latin-1").decode("utf-8", "surrogatepass") for part in parts])  # type: ignore[arg-type]  # the first two are never None


_EMPTY: Final = History()


@dataclass(slots=True)
class Entry:
    """One autoscaler's memory."""

    id: int
    slot: int
    number: int = 0
    """Of its newest evaluation; 0: there was none."""
    history: History = _EMPTY
    """What it remembers, equal to what was committed but for a setting of the clock since."""
    lead: int = 0
    """Of the times of `history` (`timeline`)."""
    chained: History | None = None
    """The History that follows from the newest evaluation; another one begins a whole row."""
    given: History = _EMPTY
    """What the cycle under way decides from."""
    intent: Intent | None = None
    """What the state holds as its unfinished write."""
    spec: int = 0
    """Number of the specification that was last recorded; 0: there was none in this process."""
    scaler: Autoscaler | None = None
    """That specification."""
    period: int = 0
    """Of its newest row, in microseconds."""
    base: Marks | None = None
    """Of the last whole row's columns; None: the next row is whole."""
    base_target: TargetState | None = None
    """The target's state in that row, as long as nothing else has been read of it since: it need not be written anew,
    and is not kept for that alone."""
    base_number: int = 0
    base_page: int = 0
    base_bytes: int = 0
    latest: Decision | None = None
    """The newest evaluation's."""
    counted: int | None = None
    """What size it counts as under its connection's `max_total`; None: its target was never read."""

    def follow(self, lead: int) -> History:
        """What it remembers, with its times as the wall clock has them under this lead."""
        if lead != self.lead:
            self.history = self.history.moved(timedelta(microseconds=lead - self.lead))
            self.lead = lead
        return self.history


def intent_row(entry: Entry, intent: Intent, lead: int) -> dict[str, int | None]:
    """Its row of the table `intent`; `lead`: of its time. Raises OverflowError for sizes that no database holds."""
    return {
        "autoscaler_id": entry.id,
        "size": in_64_bits(intent.size),
        "decided_from": in_64_bits(intent.decided_from),
        "at": to_micros(intent.at),
        "scaled_to_zero": intent.scaled_to_zero,
        "lead": lead,
    }


def in_64_bits(number: int) -> int:
    """The same. Raises OverflowError for one that no database holds."""
    if -(2**63) <= number < 2**63:
        return number
    raise OverflowError(f"{number} does not fit 64 bits")


def remembered_body(history: History) -> bytes:
    """The value of the column `memory.body`."""
    return _REMEMBERED.dump(
        _Remembered(
            tuple([(each.replicas, to_micros(each.at)) for each in history.recommendations]),
            tuple([(each.change, to_micros(each.at)) for each in history.scale_ups]),
            tuple([(each.change, to_micros(each.at)) for each in history.scale_downs]),
        )
    )


def keep_settled(connection: Connection, entry: Entry, made: Decision) -> History:
    """What the entry remembers, with the write that a new intent replaces where the decision found it arrived."""
    if entry.scaler is None or not (made.scale_ups or made.scale_downs):
        return entry.history
    table = schema.memory
    mine = table.c.autoscaler_id == entry.id
    lead = connection.execute(select(table.c.lead).where(mine)).scalar_one_or_none()
    if lead is None:
        return entry.history  # one that was never recorded has no row to keep it in
    history = settled(entry.scaler, entry.history, made)
    as_recorded = history.moved(timedelta(microseconds=lead - entry.lead))
    connection.execute(update(table).where(mine).values(body=remembered_body(as_recorded)))
    return history


def history_from(remembered: bytes, latest: Decision) -> History:
    """What is remembered after the newest evaluation, but for what operators asked for and an unfinished write."""
    kept = _REMEMBERED.load(remembered)
    return History(
        recommendations=tuple([Recommendation(size, from_micros(at)) for size, at in kept.recommendations]),
        scale_ups=tuple([ScaleEvent(change, from_micros(at)) for change, at in kept.scale_ups]),
        scale_downs=tuple([ScaleEvent(change, from_micros(at)) for change, at in kept.scale_downs]),
        conditions=latest.conditions,
        status=latest.status,
        at=latest.now,
        failing=latest.failing,
        brakes=latest.brake_memory,
        shadow=latest.shadow_memory,
    )


class Newest(NamedTuple):
    """An autoscaler's newest decision."""

    recorded: int
    """When it was committed, on the state's own scale (`timeline`): the wall clock may have been set since another."""
    number: int
    decision: Decision


def newest_decisions(
    connection: Connection, of: ColumnElement[bool] | None = None, without: Container[Key] = ()
) -> Mapping[int, Newest | StateError]:
    """Of each autoscaler, by id, or what is wrong with it; `of`: which autoscalers; `without`: not of these."""
    owner, memory = schema.autoscaler, schema.memory
    query = select(
        owner.c.id,
        memory.c.number,
        owner.c.connection,
        memory.c.period,
        memory.c.page,
        memory.c.base_page,
        owner.c.name,
        owner.c.target,
        (memory.c.at - memory.c.lead).label("recorded"),
    ).join(memory, memory.c.autoscaler_id == owner.c.id)
    all_of = connection.execute(query if of is None else query.where(of)).all()
    found = [each for each in all_of if (each.name, each.target) not in without]
    rows = read_newest(connection, [Place(*each[:6]) for each in found])
    decisions = dict[int, Newest | StateError]()
    for each in found:
        try:
            with readable(each.name):
                if isinstance(pair := rows[each.id], StateError):
                    raise pair
                newest, whole = pair
                columns = completed(newest, whole)[DECISION]
                decision = decision_from(columns, newest.at, each.name, target_from(each.target))
                decisions[each.id] = Newest(each.recorded, newest.number, decision)
        except StateError as error:
            decisions[each.id] = error
    return decisions


def newest_numbers(connection: Connection) -> Mapping[Key, int]:
    """How many decisions were committed about each autoscaler and target."""
    owner, memory = schema.autoscaler, schema.memory
    query = select(owner.c.name, owner.c.target, memory.c.number).join(memory, memory.c.autoscaler_id == owner.c.id)
    return {(row.name, row.target): row.number for row in connection.execute(query)}


class Loaded(NamedTuple):
    """What the state holds of a shard's autoscalers."""

    entries: dict[Key, Entry]
    damaged: Mapping[Key, str]
    """Of those whose memory cannot be read: what is wrong, and what to do."""


def load_entries(
    connection: Connection, name: str, slots: Collection[int], names: Collection[str] | None = None
) -> Loaded:
    """Everything that the autoscalers of these slots of an adapter connection remember. Raises StateError.

    `names`: only those that are called so.
    """
    owner, memory, spec = schema.autoscaler, schema.memory, schema.spec
    of = (owner.c.connection == name) & owner.c.slot.in_(slots)
    if names is not None:
        of &= owner.c.name.in_(names)
    mine = select(owner.c.id).where(of).scalar_subquery()

    def by_owner(query: Select[Any]) -> Mapping[int, Row[Any]]:
        return {found.autoscaler_id: found for found in connection.execute(query)}

    decisions = newest_decisions(connection, of)
    memories = by_owner(select(memory).where(memory.c.autoscaler_id.in_(mine)))
    intents = by_owner(select(schema.intent).where(schema.intent.c.autoscaler_id.in_(mine)))
    last = (
        select(spec.c.autoscaler_id, func.max(spec.c.number).label("number"))
        .where(spec.c.autoscaler_id.in_(mine))
        .group_by(spec.c.autoscaler_id)
        .subquery()
    )
    query = select(spec.c.autoscaler_id, spec.c.number, spec.c.body).join(
        last, (last.c.autoscaler_id == spec.c.autoscaler_id) & (last.c.number == spec.c.number)
    )
    specs = by_owner(query)
    entries, damaged = dict[Key, Entry](), dict[Key, str]()
    for found in connection.execute(select(owner).where(of)):
        key = found.name, found.target
        newest = decisions.get(found.id)
        try:
            if isinstance(newest, StateError):
                raise newest
            with readable(found.name):
                entries[key] = _entry(
                    Entry(found.id, found.slot), newest, memories.get(found.id),
                    intents.get(found.id), specs.get(found.id),
                )  # fmt: skip
        except StateError as error:
            damaged[key] = f"{error}; or give the autoscaler another name: it then begins without a memory"
    return Loaded(entries, damaged)


def _entry(
    entry: Entry,
    newest: Newest | None,
    memory: Row[Any] | None,
    intent: Row[Any] | None,
    spec: Row[Any] | None,
) -> Entry:
    """The entry with what these rows say. Raises StateError, and what a damaged value raises."""
    if memory is not None:
        if newest is None:
            raise StateError(MISSING)
        entry.number, entry.latest = newest.number, newest.decision
        entry.history, entry.lead = history_from(memory.body, entry.latest), memory.lead
        entry.counted = memory.counted
    if intent is not None:
        at = from_micros(intent.at - intent.lead + entry.lead)
        entry.intent = Intent(intent.size, intent.decided_from, at, intent.scaled_to_zero)
        entry.history = replace(entry.history, unfinished=entry.intent)
    if spec is not None:
        entry.spec, entry.scaler = spec.number, SPEC.load(spec.body)
    return entry
