"""One autoscaler's memory, in this process and in the state: one row holds all that its next decision needs."""

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec
from sqlalchemy import Connection, select

from autoscaler.errors import StateError
from autoscaler.model import Autoscaler, Decision, History, MetricOutcome
from autoscaler.moment import Moment
from autoscaler.record import schema
from autoscaler.record.ages import UNKNOWN, booted_by, kept_age, time_columns
from autoscaler.record.binary import Binary, readable
from autoscaler.record.evaluation import Columns, history_columns, history_of, history_text
from autoscaler.record.newest import decisions_of
from autoscaler.record.times import to_micros
from autoscaler.record.writers import ReadWriter, Writer, check_read, leave, lost
from autoscaler.target.scaled import Scaled

Key: TypeAlias = Scaled
"""What an autoscaler scales. With another target it begins without a memory, with another name it goes on."""

SPEC: Final = Binary[Autoscaler](Autoscaler)


class Kept(msgspec.Struct, array_like=True, frozen=True):
    """The body of a row of the table `autoscaler`. Times are by the wall clock of the row's time."""

    history: bytes
    """`history_text`."""
    active: tuple[MetricOutcome, ...]
    """The metrics whose activity is known, without their values, which are in the recorded cycles."""
    spec: int
    """Number of the specification recorded last; 0: there is none."""
    spec_digest: bytes
    """`digest_of` that specification and the version of the package that decided by it."""

    @classmethod
    def of(cls, history: History, spec: int, spec_digest: bytes, text: bytes | None = None) -> "Kept":
        """Return the body of a row that saves `history`.

        `text`: the result of `history_text(history)`, if the caller has it already; None: it is computed here.
        """
        active = [_without_values(each) for each in history.hpa.status.metrics if each.active is not None]
        return cls(history_text(history) if text is None else text, tuple(active), spec, spec_digest)


def _without_values(metric: MetricOutcome) -> MetricOutcome:
    return MetricOutcome(metric.name, metric.type, metric.target, active=metric.active)


KEPT: Final = Binary[Kept](Kept)
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
    """Counts the commits of its memory; 0: there was none."""
    stored: int = 0
    """The `seq` that its row has, as far as this process knows. Its writer has added to it."""
    writer: Writer | None = None
    """The writer that its row names, if it is one of this ledger."""
    foreign: ReadWriter | None = None
    """The writer of another ledger that its row names; None: it names one of this ledger, or none."""
    kept: Kept | None = None
    """The body of its row; None: it is to be written again."""
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
    past: Columns | None = None
    """`history_columns` of `history`; None: they are not known."""

    def shift(self, moment: Moment) -> History:
        """Return the history with its times by the wall clock of `moment`."""
        known = self.history
        self.history, self.booted = kept_age(known, self.booted, moment)
        if self.history is not known:
            self.past = None
        return self.history

    def past_columns(self) -> Columns:
        """Return `history_columns` of the History from which the current cycle decides."""
        known = self.past if self.recalled is self.history else None
        return history_columns(self.recalled) if known is None else known

    def next_seq(self, now: datetime) -> int:
        """Return the `seq` of the next write, in a cycle at `now`.

        The first is a time and not 1. So it differs from that of another autoscaler whose id was reused because the
        database lost commits. Raises OverflowError if a damaged one is the largest.
        """
        return in_64_bits(self.seq + 1) if self.seq else to_micros(now)

    def is_as_new_as(self, row: Any) -> bool:
        """Return whether this row of `known` is not newer than this memory.

        The row as written counts first: a writer may have gone on to add to a row whose replacement was lost.
        """
        return (self.stored, self.seq) >= (row.stored, row.seq)

    def stored_as(self, row: Any) -> None:
        """Note that the state has this row of `known`, or none, that is not newer than this memory."""
        self.id, self.name, self.target = (0, "", "") if row is None else (row.id, row.name, row.target)
        self.stored, self.kept = 0 if row is None else row.stored, None
        self.foreign = ReadWriter.of(row)
        if row is None or row.seq != self.seq:
            self.scaler, self.spec_digest = None, b""


def digest_of(spec: bytes) -> bytes:
    """Return a digest of a specification as SPEC dumps it."""
    return hashlib.blake2b(spec, digest_size=8).digest()


def in_64_bits(number: int) -> int:
    """Return `number` unchanged. Raises OverflowError if it does not fit a signed column of 64 bits."""
    if -(2**63) <= number < 2**63:
        return number
    raise OverflowError(f"{number} does not fit 64 bits")


def memory_row(entry: Entry, seq: int, when: Mapping[str, Any], kept: Kept, counted: int | None) -> dict[str, Any]:
    """Return the columns of a memory that is written at `when` (`time_columns`), without a writer."""
    decided = None if entry.history.at is None else to_micros(entry.history.at)
    return {
        "id": entry.id,
        "before_seq": entry.stored,
        "seq": seq,
        "number": entry.number,
        "writer": None,
        "since": 0,
        **when,
        "decided": decided,
        "body": KEPT.dump(kept),
        "counted": counted,
    }


class PendingRow(NamedTuple):
    """A memory with a pending write, to be committed before the write."""

    entry: Entry
    history: History
    """The History with the pending write."""
    kept: Kept
    row: dict[str, Any]

    @classmethod
    def of(cls, entry: Entry, history: History, now: datetime, moment: Moment) -> "PendingRow":
        """Return the row that saves `history`, in which `pending` is the write that comes next.

        `now`: the time of the cycle. `moment`: when it began. Raises OverflowError if a size does not fit 64 bits.
        """
        assert history.pending is not None  # noqa: S101 - for mypy: it is the write
        sizes = [history.pending.decided_from, *[each.size for each in history.pending.and_earlier]]
        kept = Kept.of(history, entry.spec, entry.spec_digest)
        counted = max(map(in_64_bits, sizes))
        row = memory_row(entry, entry.next_seq(now), time_columns(moment, now), kept, counted)
        return cls(entry, history, kept, row)

    def apply(self) -> None:
        """Update the entry after the row is committed."""
        leave(self.entry)
        self.entry.foreign = None
        self.entry.history, self.entry.past, self.entry.kept = self.history, None, self.kept
        self.entry.seq = self.entry.stored = self.row["seq"]
        self.entry.counted = self.row["counted"]


def write_memories(connection: Connection, pairs: Collection[tuple[Entry, dict[str, Any]]]) -> None:
    """Write these autoscalers' rows over the rows that this process read or wrote last.

    Raises StateError if the state holds other rows, or if their writers have committed since: a newer memory must be
    read and not replaced.
    """
    check_read(connection, {entry.foreign for entry, _ in pairs if entry.foreign is not None})
    in_order = sorted([row for _, row in pairs], key=lambda row: row["id"])  # one order of row locks: no deadlock
    if schema.update_known(connection, schema.autoscaler, ("id", "before_seq"), in_order) != len(in_order):
        raise lost()


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
    query, c = select(schema.known), schema.known.c
    if keys is None:
        rows = connection.execute(query.where(c.connection == name)).all()
    else:
        rows = [row for some in schema.batches(keys) for row in connection.execute(query.where(c.scaled.in_(some)))]
    lost = dict(held or {})
    newer = [row for row in rows if row.scaled not in lost or not lost[row.scaled].is_as_new_as(row)]
    latest = decisions_of(connection, [row for row in newer if row.number])
    entries, damaged = dict[Key, Entry](), dict[Key, str]()
    for found in rows:
        mine = lost.pop(found.scaled, None)
        if mine is not None and mine.is_as_new_as(found):
            mine.stored_as(found)
            entries[found.scaled] = mine
            continue
        try:
            with readable(found.name):
                entries[found.scaled] = _entry(found, latest.get(found.id), moment)
        except StateError as error:
            damaged[found.scaled] = f"{error}; or let it begin without a memory: `autoscaler forget {found.name}`"
    for mine in lost.values():
        mine.stored_as(None)
    return Loaded(entries | lost, damaged)


def _entry(row: Any, latest: Decision | None, moment: Moment) -> Entry:
    """Return the entry of a row of `known` that is read at `moment`. `latest`: its newest decision, if it is recorded.

    Raises StateError, and what a damaged value raises.
    """
    if not row.seq:
        return Entry(row.id, row.name, row.target)
    kept = KEPT.load(row.body)
    metrics = kept.active if latest is None else latest.remembered.status.metrics
    return Entry(
        id=row.id,
        name=row.name,
        target=row.target,
        seq=row.seq,
        stored=row.stored,
        foreign=ReadWriter.of(row),
        kept=kept,
        number=row.number,
        history=history_of(kept.history, metrics, row.decided if row.number else None),
        booted=booted_by(row, moment),
        spec=kept.spec,
        spec_digest=kept.spec_digest,
        latest=latest,
        counted=row.counted,
    )
