"""Writes the decisions of one cycle as rows."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias

from msgspec import Struct
from sqlalchemy import Connection, Table, bindparam, insert, update

from autoscaler.changed import changed
from autoscaler.decide import remember
from autoscaler.isolation import each
from autoscaler.limits.connection_limits import counted_size
from autoscaler.model import Autoscaler, Decision, Event, History, Observation, Reason
from autoscaler.moment import Moment
from autoscaler.notices import notices
from autoscaler.record import schema
from autoscaler.record.ages import time_columns
from autoscaler.record.binary import pack
from autoscaler.record.entries import SPEC, Entry, Kept, digest_of, in_64_bits, memory_row, write_memories
from autoscaler.record.evaluation import DECISION, METRICS, METRICS_OF, Columns, all_columns, history_text
from autoscaler.record.newest import COLUMNS_OF_A_DECISION
from autoscaler.record.outbox import rows_of
from autoscaler.record.pages import pages_of
from autoscaler.record.rows import Row
from autoscaler.record.sizes import Bytes, insert_rows
from autoscaler.record.times import micros_of, to_micros
from autoscaler.record.writers import Writer, writer_of
from autoscaler.version import VERSION

Values: TypeAlias = dict[str, Any]


class Recording(Struct, frozen=True):
    """One decision to be recorded. No Entry changes before `Placed.apply`."""

    scaler: Autoscaler
    decision: Decision
    columns: Columns

    @property
    def name(self) -> str:
        """The autoscaler's."""
        return self.decision.name

    @classmethod
    def of(cls, scaler: Autoscaler, observation: Observation, decision: Decision, entry: Entry) -> "Recording":
        """Encode the decision, the costly part, before the transaction. `entry`: the autoscaler's."""
        return cls(scaler, decision, all_columns(observation, decision, entry.past_columns()))

    def place(self, entry: Entry) -> "Placed":
        """Return the rows of this decision."""
        number, before, now = in_64_bits(entry.number + 1), entry.recalled.at, self.decision.now
        new_spec, spec, spec_digest = _spec(entry, self.scaler, number)
        history = remember(self.scaler, entry.recalled, self.decision)
        counted = counted_size(self.decision, history.pending)
        text, metrics = history_text(history), history.hpa.status.metrics
        of_metrics = self.columns[METRICS] if metrics is self.decision.metrics else METRICS_OF.dump(metrics)
        row = Row(number, to_micros(now), spec, None if before is None else micros_of(now - before), self.columns)
        return Placed(
            entry,
            self,
            row,
            history,
            past=(text, of_metrics),
            seq=entry.next_seq(now),
            kept=Kept.of(history, spec, spec_digest, text),
            counted=entry.counted if counted is None else in_64_bits(counted),  # None: the size could not be read
            spec=new_spec,
            change=change_row(entry.id, row, self.columns) if changed(entry.latest, self.decision) else None,
            events=[
                event_row(event, (entry.id, number, position), row.at, dry_run=self.decision.dry_run)
                for position, event in enumerate(self.decision.events)
                if event.reason != Reason.FAILED_COMPUTE_METRICS_REPLICAS  # each failed metric has an event of its own
            ],
        )


class Placed(Struct, frozen=True):
    """The rows that one decision adds to each table, complete before the first row is written.

    What is wrong with a single decision has failed by then; an error of a statement fails all decisions of the cycle.
    """

    entry: Entry
    recording: Recording
    row: Row
    history: History
    """The History that follows from the decision."""
    past: Columns
    """Its `history_columns`."""
    seq: int
    kept: Kept
    counted: int | None
    spec: Values | None
    """None: the specification recorded last is still in force."""
    change: Values | None
    """None: nothing changed."""
    events: Sequence[Values]

    @property
    def name(self) -> str:
        """The autoscaler's."""
        return self.recording.name

    def memory(self, writer: Writer, when: Values) -> Values | None:
        """Return the row of the autoscaler's memory, which names `writer`; None: the state has this row already."""
        entry = self.entry
        if entry.writer is writer and self.kept == entry.kept and self.counted == entry.counted:
            return None
        row = memory_row(entry, self.seq, when, self.kept, self.counted)
        return {**row, "number": self.row.number, "writer": writer.id, "since": writer.commits, "decided": None}

    def apply(self, booted: datetime) -> None:
        """Update the entry after the rows are committed.

        `booted`: when this machine was started, by the wall clock of the rows' times.
        """
        entry, recording, row = self.entry, self.recording, self.row
        entry.seq, entry.number = self.seq, row.number
        entry.spec, entry.spec_digest, entry.scaler = row.spec, self.kept.spec_digest, recording.scaler
        entry.history = entry.recalled = self.history  # frees the History of the cycle
        entry.past, entry.booted = self.past, booted
        entry.latest = recording.decision
        entry.kept, entry.counted = self.kept, self.counted


class Recorded(NamedTuple):
    """The result of `write`."""

    placed: Sequence[Placed]
    broken: Mapping[str, Exception]
    """Autoscaler's name -> why its decision could not be written."""


def write(
    connection: Connection, pairs: Sequence[tuple[Entry, Recording]], moment: Moment, *, notify: bool = False
) -> Recorded:
    """Write the decisions of one shard with a constant number of statements.

    `moment`: when their cycle began. `notify`: their notices are added to the outbox.
    """
    broken = dict[str, Exception]()
    entries = {recording.name: entry for entry, recording in pairs}
    placed = each([recording for _, recording in pairs], lambda one: one.place(entries[one.name]), broken)
    if not placed:
        return Recorded(placed, broken)
    _write_specs(connection, placed)
    rows = {
        schema.block: list(pages_of({one.entry.id: one.row for one in placed})),
        schema.change: [one.change for one in placed if one.change is not None],
        schema.event: [event for one in placed for event in one.events],
    }
    _write_memories(connection, placed, time_columns(moment, moment.now), insert_rows(connection, rows))
    if notify:
        told = [each for one in placed for each in notices(one.entry.latest, one.recording.decision)]
        _insert(connection, schema.notice, rows_of(told, moment))
    return Recorded(placed, broken)


def _write_memories(connection: Connection, placed: Sequence[Placed], when: Values, written: Bytes) -> None:
    """Write those that changed, and their writer, which stands for the others."""
    writer = writer_of([one.entry for one in placed])
    writer.commit(connection, [one.entry for one in placed], when, written)
    rows = [(one.entry, row) for one in placed if (row := one.memory(writer, when)) is not None]
    write_memories(connection, rows)
    for entry, row in rows:
        writer.add(entry)
        entry.stored, entry.foreign = row["seq"], None


def _insert(connection: Connection, table: Table, rows: Sequence[Values]) -> None:
    if rows:
        connection.execute(insert(table), rows)


def _write_specs(connection: Connection, placed: Sequence[Placed]) -> None:
    new = [one for one in placed if one.spec is not None]
    if new:
        table = schema.spec
        before = (table.c.autoscaler_id == bindparam("owner_id")) & (table.c.number == bindparam("before"))
        rows = [{"owner_id": one.entry.id, "before": one.entry.spec, "replaced": one.row.at} for one in new]
        connection.execute(update(table).where(before).values(replaced=bindparam("replaced")), rows)
    _insert(connection, schema.spec, [one.spec for one in new if one.spec is not None])


def _spec(entry: Entry, scaler: Autoscaler, number: int) -> tuple[Values | None, int, bytes]:
    """Return a row of the table `spec` if the specification is new, and the number and digest in force.

    The first decision of another version of the package has a row of its own, too.
    """
    if entry.scaler is scaler or entry.scaler == scaler:
        return None, entry.spec, entry.spec_digest
    body = SPEC.dump(scaler)
    digest = digest_of(body + VERSION.encode())
    if digest == entry.spec_digest:  # recorded by an earlier process
        return None, entry.spec, digest
    row = {"autoscaler_id": entry.id, "number": number, "replaced": None, "body": body, "version": VERSION}
    return row, number, digest


def change_row(owner_id: int, row: Row, columns: Columns) -> Values:
    """Return a row of the table `change`. `columns`: all of them."""
    body = pack(COLUMNS_OF_A_DECISION.dump(columns[DECISION]))
    return {
        "autoscaler_id": owner_id,
        "number": row.number,
        "at": row.at,
        "spec": row.spec,
        "size": len(body),
        "body": body,
    }


def event_row(event: Event, key: tuple[int, int, int], at: int, *, dry_run: bool) -> Values:
    """Return a row of the table `event`. `key`: its primary key; `at`: microseconds."""
    owner, number, position = key
    return {
        "autoscaler_id": owner,
        "number": number,
        "position": position,
        "at": at,
        "dry_run": dry_run,
        "type": event.type.value,
        "reason": plain(event.reason),
        "message": plain(event.message),
        "direction": None if event.direction is None else event.direction.value,
    }


def plain(text: str) -> str:
    """Return a back end's text without what a database cannot store as text: NUL and unpaired surrogates."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")
