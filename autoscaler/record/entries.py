"""What one autoscaler remembers, in memory and in the state: one row holds all that its next decision needs."""

import hashlib
from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec
from sqlalchemy import Connection, insert, select

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
    later,
)
from autoscaler.moment import Moment
from autoscaler.record import schema
from autoscaler.record.ages import UNKNOWN, booted_by, kept_age, read_database_time, taken
from autoscaler.record.binary import Binary, readable
from autoscaler.record.evaluation import decision_columns, decision_from
from autoscaler.record.rows import Marks
from autoscaler.record.times import from_micros, micros_of, to_micros

Key: TypeAlias = tuple[str, str]
"""An autoscaler's name and its target: one that is pointed at another target starts fresh."""

TARGET: Final = Binary[TargetRef](TargetRef)
HISTORY: Final = Binary[History](History)
SPEC: Final = Binary[Autoscaler](Autoscaler)
SIGHTINGS: Final = Binary[Sightings](Sightings)


class _Remembered(msgspec.Struct, array_like=True):
    """The body of a row of the table `memory`. Ages are microseconds before the time of the row."""

    age: int
    """Of the newest decision; 0: the row was written with it."""
    recommendations: tuple[tuple[int, int], ...]
    scale_ups: tuple[tuple[int, int], ...]
    scale_downs: tuple[tuple[int, int], ...]
    unfinished: Intent | None
    decision: tuple[bytes, ...] | None
    """The newest one, as the columns of DECISION: the rest of the History is a part of it. None: there was none."""
    spec: int
    """Number of the specification that was recorded last; 0: there was none."""
    spec_mark: bytes
    """What tells that specification from another."""


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

    id: int = 0
    """0: the state has no row of it."""
    seq: int = 0
    """Counts the writes of its row; 0: there was none."""
    stored: int | None = None
    """The `seq` that the state's row has, as far as is known; None: there is no row."""
    number: int = 0
    """Of its newest evaluation; 0: there was none."""
    history: History = _EMPTY
    """What it remembers, equal to what was committed but for a setting of the clock since."""
    booted: datetime = UNKNOWN.booted
    """When this machine was started, by the wall clock that the times of `history` are of (`ages`)."""
    chained: History | None = None
    """The History that follows from the newest evaluation; another one begins a whole row."""
    given: History = _EMPTY
    """What the cycle under way decides from."""
    spec: int = 0
    """Number of the specification that was last recorded; 0: there was none."""
    spec_mark: bytes = b""
    """`mark_of` that specification."""
    scaler: Autoscaler | None = None
    """That specification; None: it was not recorded by this process."""
    period: int = 0
    """Of its newest row in the journal, in microseconds."""
    base: Marks | None = None
    """Of the last whole row's columns; None: the next row is whole."""
    base_target: TargetState | None = None
    """The target's state in that row, as long as nothing else has been read of it since: it need not be written anew,
    and is not kept for that alone."""
    base_number: int = 0
    base_segment: int = 0
    base_bytes: int = 0
    latest: Decision | None = None
    """The newest evaluation's."""
    counted: int | None = None
    """What size it counts as under its connection's `max_total`; None: its target was never read."""

    def follow(self, moment: Moment) -> History:
        """What it remembers, with its times as the wall clock shows them now."""
        self.history, self.booted = kept_age(self.history, self.booted, moment)
        return self.history

    def next_seq(self, now: datetime) -> int:
        """Of the next write of its row, in a cycle at `now`.

        They begin at a time, not at 1: a row that a database has lost, and given to another autoscaler, is told apart.
        """
        return self.seq + 1 if self.seq else to_micros(now)

    def stored_as(self, owner_id: int, seq: int | None) -> None:
        """The state has this of it, which is not newer: the next row of its history rests on none that may be lost."""
        self.id, self.stored = owner_id, seq
        self.base = self.base_target = None
        if seq != self.seq:
            self.scaler, self.spec_mark = None, b""


def mark_of(spec: bytes) -> bytes:
    """What tells a specification, as SPEC dumps it, from another."""
    return hashlib.blake2b(spec, digest_size=8).digest()


def in_64_bits(number: int) -> int:
    """The same. Raises OverflowError for one that no database holds."""
    if -(2**63) <= number < 2**63:
        return number
    raise OverflowError(f"{number} does not fit 64 bits")


def memory_body(
    history: History, now: datetime, decision: tuple[bytes, ...] | None, spec: int, spec_mark: bytes
) -> bytes:
    """The value of the column `memory.body` of a row written at `now`. `decision`: the newest one, as DECISION."""
    return _REMEMBERED.dump(
        _Remembered(
            0 if history.at is None else micros_of(now - history.at),
            tuple([(each.replicas, micros_of(now - each.at)) for each in history.recommendations]),
            tuple([(each.change, micros_of(now - each.at)) for each in history.scale_ups]),
            tuple([(each.change, micros_of(now - each.at)) for each in history.scale_downs]),
            history.unfinished,
            decision,
            spec,
            spec_mark,
        )
    )


def _columns_of(latest: Decision | None, history: History) -> tuple[bytes, ...] | None:
    """The newest decision as the columns of DECISION, with its times as those of the History that followed from it."""
    if latest is None or history.at is None:
        return None
    step = history.at - latest.now
    return decision_columns(later(latest, step) if step else latest)


class Intended(NamedTuple):
    """A write that is announced, on its way into the state."""

    entry: Entry
    history: History
    """What is remembered with it."""
    row: dict[str, Any]

    @classmethod
    def of(cls, entry: Entry, history: History, now: datetime, moment: Moment) -> "Intended":
        """`history`: with the unfinished write. Raises OverflowError for a size that is too large."""
        assert history.unfinished is not None  # noqa: S101 - for mypy: it is what is announced
        sizes = [history.unfinished.decided_from, *[each.size for each in history.unfinished.and_earlier]]
        return cls(
            entry,
            history,
            {
                "autoscaler_id": entry.id,
                "seq": entry.next_seq(now),
                "number": entry.number,
                **taken(moment, now),
                "body": memory_body(history, now, _columns_of(entry.latest, history), entry.spec, entry.spec_mark),
                "counted": max(map(in_64_bits, sizes)),
            },
        )

    def apply(self) -> None:
        """Let the memory follow, once the row is committed."""
        self.entry.history = self.history
        self.entry.seq = self.entry.stored = self.row["seq"]
        self.entry.counted = self.row["counted"]


def write_memory(connection: Connection, rows: Iterable[tuple[Entry, dict[str, Any]]]) -> None:
    """Write these rows over what the state held of their entries when it was read or written last.

    Raises StateError where it holds something else: what is newer than the entry is to be read, not replaced.
    """
    new, known = list[dict[str, Any]](), list[dict[str, Any]]()
    for entry, row in sorted(rows, key=lambda one: one[0].id):  # whoever waits for rows waits in one direction
        if entry.stored is None:
            new.append(row)
        else:
            row["before"] = entry.stored
            known.append(row)
    if new:
        connection.execute(insert(schema.memory), new)
    if schema.replace_known(connection, schema.memory, "seq", known) != len(known):
        raise StateError(
            "the state does not hold what this daemon wrote last: it was set back, or another process has written; "
            "nothing is scaled or recorded in this cycle, and the next one begins with what is newest"
        )


class Newest(NamedTuple):
    """An autoscaler's newest decision."""

    number: int
    decision: Decision


def newest_decisions(connection: Connection, without: Container[Key] = ()) -> Mapping[Key, Newest]:
    """Of each autoscaler and target; one that cannot be read is left out. `without`: not of these."""
    owner, memory = schema.autoscaler, schema.memory
    query = select(owner.c.name, owner.c.target, memory.c.number, memory.c.at, memory.c.body)
    found = dict[Key, Newest]()
    for row in connection.execute(query.join(memory, memory.c.autoscaler_id == owner.c.id)):
        key = row.name, row.target
        try:
            with readable(row.name):
                newest = None if key in without else newest_of(row)
        except StateError:
            continue
        if newest is not None:
            found[key] = Newest(row.number, newest[0])
    return found


def newest_of(row: Any) -> tuple[Decision, int] | None:
    """The newest decision and the number of its specification; None: there was none. Raises StateError.

    `row`: an autoscaler's name and target, and the columns at and body of its memory.
    """
    kept = _REMEMBERED.load(row.body)
    decision = _latest(kept, row)
    return None if decision is None else (decision, kept.spec)


def _latest(kept: _Remembered, row: Any) -> Decision | None:
    if kept.decision is None:
        return None
    return decision_from(kept.decision, row.at - kept.age, row.name, target_from(row.target))


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
    connection: Connection,
    name: str,
    moment: Moment,
    keys: Collection[Key] | None = None,
    held: Mapping[Key, Entry] | None = None,
) -> Loaded:
    """Everything that the autoscalers of an adapter connection remember. Raises StateError.

    `moment`: now. `keys`: only these of them. `held`: what this process remembers of them, which is newer where
    the database has lost commits: of each the newer one is taken.
    """
    owner, memory = schema.autoscaler, schema.memory
    of = owner.c.connection == name
    if keys is not None and (names := schema.few({each for each, _ in keys})) is not None:
        of &= owner.c.name.in_(names)
    query = (
        select(owner.c.id, owner.c.name, owner.c.target, memory)
        .outerjoin(memory, memory.c.autoscaler_id == owner.c.id)
        .where(of)
    )
    entries, damaged = dict[Key, Entry](), dict[Key, str]()
    lost, database = dict(held or {}), read_database_time(connection)
    for found in connection.execute(query):
        key = found.name, found.target
        if keys is not None and key not in keys:
            continue
        mine = lost.pop(key, None)
        if mine is not None and mine.seq >= (found.seq or 0):
            mine.stored_as(found.id, found.seq)
            entries[key] = mine
            continue
        try:
            with readable(found.name):
                entries[key] = Entry(found.id) if found.seq is None else _entry(found, moment, database)
        except StateError as error:
            damaged[key] = f"{error}; or give the autoscaler another name: it then begins without a memory"
    for mine in lost.values():
        mine.stored_as(0, None)
    return Loaded(entries | lost, damaged)


def _entry(row: Any, moment: Moment, database: int | None) -> Entry:
    """The entry of a row that is read at a moment. Raises StateError, and what a damaged value raises."""
    kept = _REMEMBERED.load(row.body)
    latest = _latest(kept, row)
    history = History(
        recommendations=tuple([Recommendation(size, from_micros(row.at - age)) for size, age in kept.recommendations]),
        scale_ups=tuple([ScaleEvent(change, from_micros(row.at - age)) for change, age in kept.scale_ups]),
        scale_downs=tuple([ScaleEvent(change, from_micros(row.at - age)) for change, age in kept.scale_downs]),
        unfinished=kept.unfinished,
    )
    if latest is not None:
        history = msgspec.structs.replace(
            history,
            conditions=latest.conditions,
            status=latest.status,
            at=latest.now,
            failing=latest.failing,
            brakes=latest.brake_memory,
            shadow=latest.shadow_memory,
        )
    return Entry(
        id=row.id,
        seq=row.seq,
        stored=row.seq,
        number=row.number,
        history=history,
        booted=booted_by(row, moment, database),
        spec=kept.spec,
        spec_mark=kept.spec_mark,
        latest=latest,
        counted=row.counted,
    )
