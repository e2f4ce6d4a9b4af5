"""One autoscaler's memory, in this process and in the state: one row holds all that its next decision needs."""

import hashlib
from collections.abc import Collection, Iterable, Mapping
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
    HpaMemory,
    PendingWrite,
    Recommendation,
    Remembered,
    ScaleEvent,
    Sightings,
    TargetRef,
    later,
)
from autoscaler.moment import Moment
from autoscaler.record import schema
from autoscaler.record.ages import UNKNOWN, booted_by, kept_age, time_columns
from autoscaler.record.binary import Binary, readable
from autoscaler.record.evaluation import decision_columns, decision_from
from autoscaler.record.times import from_micros, micros_of, to_micros
from autoscaler.target.scaled import Scaled

Key: TypeAlias = Scaled
"""What an autoscaler scales. With another target it begins without a memory, with another name it goes on."""

TARGET: Final = Binary[TargetRef](TargetRef)
SPEC: Final = Binary[Autoscaler](Autoscaler)
SIGHTINGS: Final = Binary[Sightings](Sightings)


class _Remembered(msgspec.Struct, array_like=True):
    """The body of a row of the table `memory`. Ages are microseconds before the time of the row."""

    age: int
    """Age of the newest decision; 0 if the row was written with it."""
    recommendations: tuple[tuple[int, int], ...]
    scale_ups: tuple[tuple[int, int], ...]
    scale_downs: tuple[tuple[int, int], ...]
    pending: PendingWrite | None
    decision: tuple[bytes, ...] | None
    """Columns DECISION of the newest decision, which include the rest of the History. None: there is none."""
    spec: int
    """Number of the specification recorded last; 0: there is none."""
    spec_digest: bytes
    """`digest_of` that specification and the version of the package that decided by it."""


_REMEMBERED: Final = Binary[_Remembered](_Remembered)


@lru_cache(maxsize=65_536)  # called several times a cycle for every decision
def target_text(target: TargetRef) -> str:
    """Return a target as its column: a JSON array without trailing nulls."""
    parts = [target.adapter, target.name, target.namespace, target.region]
    while parts[-1] is None:
        parts.pop()
    return msgspec.json.encode(
        [part and part.encode("utf-8", "surrogatepass").decode("latin-1") for part in parts]
    ).decode()


def target_from(text: str) -> TargetRef:
    """Return the target of `target_text`."""
    parts = msgspec.json.decode(text, type=list[str | None])
    return TargetRef(*[part and part.encode("latin-1").decode("utf-8", "surrogatepass") for part in parts])  # type: ignore[arg-type]  # the first two are never None


_EMPTY: Final = History()


@dataclass(slots=True)
class Entry:
    """One autoscaler's memory in this process."""

    id: int = 0
    """Its id in the state; 0: it has no row."""
    name: str = ""
    target: str = ""
    """The name, and the target as text, of its row in the state."""
    seq: int = 0
    """Counts the writes of its memory; 0: there was none."""
    stored: int | None = None
    """The `seq` of its row in the state, as far as this process knows; None: there is no row."""
    number: int = 0
    """Number of its newest recorded cycle; 0: there is none."""
    history: History = _EMPTY
    """The committed history, with its times shifted after steps of the wall clock."""
    booted: datetime = UNKNOWN.booted
    """When this machine was started, by the wall clock of the times in `history` (`ages`)."""
    recalled: History = _EMPTY
    """The History from which the current cycle decides."""
    spec: int = 0
    """Number of the specification recorded last; 0: there is none."""
    spec_digest: bytes = b""
    """`digest_of` that specification and the version of the package that decided by it."""
    scaler: Autoscaler | None = None
    """That specification; None: this process has not recorded it."""
    latest: Decision | None = None
    """The newest recorded decision."""
    counted: int | None = None
    """The size that counts towards its connection's `max_total`; None: its target was never read."""

    def shift(self, moment: Moment) -> History:
        """Return the history with its times by the wall clock of `moment`."""
        self.history, self.booted = kept_age(self.history, self.booted, moment)
        return self.history

    def next_seq(self, now: datetime) -> int:
        """Return the `seq` of the next write, in a cycle at `now`.

        The first is a time and not 1. So it differs from that of another autoscaler whose id was reused because the
        database lost commits. Raises OverflowError if a damaged one is the largest.
        """
        return in_64_bits(self.seq + 1) if self.seq else to_micros(now)

    def stored_as(self, owner_id: int, seq: int | None, name: str, target: str) -> None:
        """Note that the state has a row with this `seq`, or none, that is not newer than this memory."""
        self.id, self.stored, self.name, self.target = owner_id, seq, name, target
        if seq != self.seq:
            self.scaler, self.spec_digest = None, b""


def digest_of(spec: bytes) -> bytes:
    """Return a digest of a specification as SPEC dumps it."""
    return hashlib.blake2b(spec, digest_size=8).digest()


def in_64_bits(number: int) -> int:
    """Return the number. Raises OverflowError if no database holds it."""
    if -(2**63) <= number < 2**63:
        return number
    raise OverflowError(f"{number} does not fit 64 bits")


def memory_body(
    history: History, now: datetime, decision: tuple[bytes, ...] | None, spec: int, spec_digest: bytes
) -> bytes:
    """Return the column `memory.body` of a row written at `now`. `decision`: columns DECISION of the newest one."""
    return _REMEMBERED.dump(
        _Remembered(
            0 if history.at is None else micros_of(now - history.at),
            tuple([(each.replicas, micros_of(now - each.at)) for each in history.hpa.recommendations]),
            tuple([(each.change, micros_of(now - each.at)) for each in history.hpa.scale_ups]),
            tuple([(each.change, micros_of(now - each.at)) for each in history.hpa.scale_downs]),
            history.pending,
            decision,
            spec,
            spec_digest,
        )
    )


def _columns_of(latest: Decision | None, history: History) -> tuple[bytes, ...] | None:
    """Return the newest decision as the columns DECISION, with its times by the wall clock of `history`."""
    if latest is None or history.at is None:
        return None
    step = history.at - latest.now
    return decision_columns(later(latest, step) if step else latest)


class PendingRow(NamedTuple):
    """A memory with a pending write, to be committed before the write."""

    entry: Entry
    history: History
    """The History with the pending write."""
    row: dict[str, Any]

    @classmethod
    def of(cls, entry: Entry, history: History, now: datetime, moment: Moment) -> "PendingRow":
        """`history`: with the pending write. Raises OverflowError if a size is too large."""
        assert history.pending is not None  # noqa: S101 - for mypy: it is the write
        sizes = [history.pending.decided_from, *[each.size for each in history.pending.and_earlier]]
        return cls(
            entry,
            history,
            {
                "autoscaler_id": entry.id,
                "seq": entry.next_seq(now),
                "number": entry.number,
                **time_columns(moment, now),
                "body": memory_body(history, now, _columns_of(entry.latest, history), entry.spec, entry.spec_digest),
                "counted": max(map(in_64_bits, sizes)),
            },
        )

    def apply(self) -> None:
        """Update the entry after the row is committed."""
        self.entry.history = self.history
        self.entry.seq = self.entry.stored = self.row["seq"]
        self.entry.counted = self.row["counted"]


def write_memory(connection: Connection, rows: Iterable[tuple[Entry, dict[str, Any]]]) -> None:
    """Write these rows over the rows that this process read or wrote last.

    Raises StateError if the state holds other rows: a newer row must be read and not replaced.
    """
    new, known = list[dict[str, Any]](), list[dict[str, Any]]()
    for entry, row in sorted(rows, key=lambda one: one[0].id):  # one order of row locks prevents deadlocks
        if entry.stored is None:
            new.append(row)
        else:
            row["before"] = entry.stored
            known.append(row)
    if new:
        connection.execute(insert(schema.memory), new)
    if schema.replace_known(connection, schema.memory, "seq", known) != len(known):
        raise StateError(
            "the state does not hold what this daemon wrote last: an older state came back, or another process wrote; "
            "nothing is scaled or recorded in this cycle, and the next cycle reads the newest memory"
        )


class Newest(NamedTuple):
    """An autoscaler's newest decision."""

    number: int
    decision: Decision


def newest_decisions(connection: Connection, only: Collection[Key] | None = None) -> Mapping[Key, Newest]:
    """Return the newest decision of `only` these; None: of all. Skips damaged ones."""
    if only is not None and not only:
        return {}
    owner, memory = schema.autoscaler, schema.memory
    query = select(owner.c.scaled, owner.c.name, owner.c.target, memory.c.number, memory.c.at, memory.c.body)
    if only is not None and (few := schema.few(only)) is not None:
        query = query.where(owner.c.scaled.in_(few))
    found = dict[Key, Newest]()
    for row in connection.execute(query.join(memory, memory.c.autoscaler_id == owner.c.id)):
        key = row.scaled
        try:
            with readable(row.name):
                newest = newest_of(row) if only is None or key in only else None
        except StateError:
            continue
        if newest is not None:
            found[key] = Newest(row.number, newest[0])
    return found


def newest_of(row: Any) -> tuple[Decision, int] | None:
    """Return the newest decision and the number of its specification; None if there is none. Raises StateError.

    `row`: an autoscaler's name and target, and the columns `at` and `body` of its memory.
    """
    kept = _REMEMBERED.load(row.body)
    decision = _latest(kept, row)
    return None if decision is None else (decision, kept.spec)


def _latest(kept: _Remembered, row: Any) -> Decision | None:
    if kept.decision is None:
        return None
    return decision_from(kept.decision, row.at - kept.age, row.name, target_from(row.target))


class Cycle(NamedTuple):
    """An autoscaler's newest recorded cycle."""

    number: int
    at: int
    """Microseconds since 1970."""


def newest_cycles(connection: Connection) -> Mapping[Key, Cycle]:
    """Return the newest recorded cycle of each autoscaler."""
    owner, memory = schema.autoscaler, schema.memory
    query = select(owner.c.scaled, memory.c.number, memory.c.at)
    rows = connection.execute(query.join(memory, memory.c.autoscaler_id == owner.c.id))
    return {row.scaled: Cycle(row.number, row.at) for row in rows}


class Loaded(NamedTuple):
    """The memories of a shard's autoscalers."""

    entries: dict[Key, Entry]
    damaged: Mapping[Key, str]
    """Memories that cannot be read, with the reason and the remedy."""


def load_entries(
    connection: Connection,
    name: str,
    moment: Moment,
    keys: Collection[Key] | None = None,
    held: Mapping[Key, Entry] | None = None,
) -> Loaded:
    """Return the memories of these autoscalers; with `keys` None, of an adapter connection's. Raises StateError.

    `name`: the connection. `moment`: now. `held`: the memories that this process has. Of each autoscaler the newer one
    is returned: the database may have lost commits.
    """
    owner, memory = schema.autoscaler, schema.memory
    query = select(owner.c.id, owner.c.scaled, owner.c.name, owner.c.target, memory).outerjoin(
        memory, memory.c.autoscaler_id == owner.c.id
    )
    if keys is None:
        rows = connection.execute(query.where(owner.c.connection == name)).all()
    else:
        rows = [
            row for some in schema.batches(keys) for row in connection.execute(query.where(owner.c.scaled.in_(some)))
        ]
    entries, damaged = dict[Key, Entry](), dict[Key, str]()
    lost = dict(held or {})
    for found in rows:
        key = found.scaled
        mine = lost.pop(key, None)
        if mine is not None and mine.seq >= (found.seq or 0):
            mine.stored_as(found.id, found.seq, found.name, found.target)
            entries[key] = mine
            continue
        try:
            with readable(found.name):
                entries[key] = Entry(found.id, found.name, found.target) if found.seq is None else _entry(found, moment)
        except StateError as error:
            damaged[key] = f"{error}; or let it begin without a memory: `autoscaler forget {found.name}`"
    for mine in lost.values():
        mine.stored_as(0, None, "", "")
    return Loaded(entries | lost, damaged)


def _entry(row: Any, moment: Moment) -> Entry:
    """Return the entry of a row that is read at `moment`. Raises StateError, and what a damaged value raises."""
    kept = _REMEMBERED.load(row.body)
    latest = _latest(kept, row)
    new = Remembered() if latest is None else latest.remembered
    history = History(
        hpa=HpaMemory(
            recommendations=tuple(
                [Recommendation(size, from_micros(row.at - age)) for size, age in kept.recommendations]
            ),
            scale_ups=tuple([ScaleEvent(change, from_micros(row.at - age)) for change, age in kept.scale_ups]),
            scale_downs=tuple([ScaleEvent(change, from_micros(row.at - age)) for change, age in kept.scale_downs]),
            conditions=() if latest is None else latest.conditions,
            status=new.status,
        ),
        pending=kept.pending,
        at=None if latest is None else latest.now,
        warnings=() if latest is None else latest.warnings,
        rules=new.rules,
    )
    return Entry(
        id=row.id,
        name=row.name,
        target=row.target,
        seq=row.seq,
        stored=row.seq,
        number=row.number,
        history=history,
        booted=booted_by(row, moment),
        spec=kept.spec,
        spec_digest=kept.spec_digest,
        latest=latest,
        counted=row.counted,
    )
