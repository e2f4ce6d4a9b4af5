"""Writes the decisions of one cycle as rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple, TypeAlias

from msgspec import Struct
from sqlalchemy import Connection, Table, insert

from autoscaler.changed import changed
from autoscaler.decide import remember
from autoscaler.isolation import each
from autoscaler.limits.connection_limits import counted_size
from autoscaler.model import Autoscaler, Decision, Event, History, Observation, ShardName, TargetState
from autoscaler.moment import Moment
from autoscaler.notices import notices
from autoscaler.record import schema
from autoscaler.record.ages import time_columns
from autoscaler.record.binary import Binary, pack
from autoscaler.record.entries import HISTORY, SPEC, Entry, digest_of, in_64_bits, memory_body, write_memory
from autoscaler.record.evaluation import DECISION, Columns, other_columns, target_column
from autoscaler.record.journal import SEGMENT, Page, Pages, chunk_of, newest_page, page_of
from autoscaler.record.outbox import rows_of
from autoscaler.record.rows import Row, differing, hashes_of
from autoscaler.record.times import micros_of, to_micros

Values: TypeAlias = dict[str, Any]

COLUMNS_OF_A_DECISION: Final = Binary[tuple[bytes, ...]](tuple[bytes, ...])


@dataclass(slots=True)
class Recording:
    """One decision to be recorded. No Entry changes before `Placed.apply`."""

    scaler: Autoscaler
    observation: Observation
    decision: Decision
    target: bytes | None
    """The target's column; None if the target's state equals the entry's `base_target`."""
    columns: Columns
    """The other columns."""
    period: int
    """Sync period in microseconds."""

    @property
    def name(self) -> str:
        """The autoscaler's."""
        return self.decision.name

    @classmethod
    def of(cls, scaler: Autoscaler, observation: Observation, decision: Decision, entry: Entry | None) -> "Recording":
        """Encode the decision, the costly part, before the transaction. `entry`: the autoscaler's, if any."""
        as_before = entry is not None and entry.base_target == observation.target
        target = None if as_before else target_column(observation.target)
        columns = other_columns(observation, decision)
        return cls(scaler, observation, decision, target, columns, micros_of(scaler.sync_period))

    def all_columns(self) -> Columns:
        """Return the columns of a whole row."""
        target = target_column(self.observation.target) if self.target is None else self.target
        return target, *self.columns

    def place(self, entry: Entry, page: int, when: Values) -> "Placed":
        """Return the rows of this decision. `page`: its page of the journal; `when`: the cycle's `time_columns`."""
        number = entry.number + 1
        new_spec, spec, spec_digest = _spec(entry, self.scaler, number)
        follows = entry.recalled is entry.remembered  # else the History cannot be derived from the row before
        same_segment = entry.period == self.period and entry.base_segment == page // SEGMENT
        columns: tuple[bytes | None, ...] | None = None
        if follows and same_segment and entry.base is not None:
            columns = differing((self.target, *self.columns), entry.base)
        whole = columns is None or 2 * _bytes(columns) > entry.base_bytes  # too much has changed
        if columns is None or whole:
            columns = self.all_columns()
        history = remember(self.scaler, entry.recalled, self.decision)
        counted = counted_size(self.decision, history.pending)
        counted = entry.counted if counted is None else in_64_bits(counted)  # None: the size could not be read
        row = Row(
            number,
            to_micros(self.decision.now),
            spec,
            number if whole else entry.base_number,
            columns,
            HISTORY.dump(entry.recalled) if whole else None,
        )
        return Placed(
            entry,
            self,
            page,
            row,
            history,
            memory={
                "autoscaler_id": entry.id,
                "seq": entry.next_seq(self.decision.now),
                "number": number,
                **when,
                "body": memory_body(history, self.decision.now, self.columns[DECISION], spec, spec_digest),
                "counted": counted,
            },
            spec_digest=spec_digest,
            spec=new_spec,
            change=change_row(entry.id, row, self.columns) if changed(entry.latest, self.decision) else None,
            events=[
                event_row(event, (entry.id, number, position), row.at, dry_run=self.decision.dry_run)
                for position, event in enumerate(self.decision.events)
            ],
        )


class Placed(Struct, frozen=True):
    """The rows of one decision in every table. Nothing that follows can fail for this decision alone."""

    entry: Entry
    recording: Recording
    page: int
    row: Row
    history: History
    """The History that follows from the decision."""
    memory: Values
    spec_digest: bytes
    spec: Values | None
    """None: the specification recorded last is still in force."""
    change: Values | None
    """None: nothing changed."""
    events: Sequence[Values]

    @property
    def name(self) -> str:
        """The autoscaler's."""
        return self.recording.name

    def apply(self, booted: datetime) -> None:
        """Update the entry after the rows are committed.

        `booted`: when this machine was started, by the wall clock of the rows' times.
        """
        entry, recording, row = self.entry, self.recording, self.row
        if row.whole:
            state = recording.observation.target
            entry.base, entry.base_number, entry.base_segment = hashes_of(row.columns), row.number, self.page // SEGMENT
            entry.base_bytes = _bytes(row.columns)
            entry.base_target = state if isinstance(state, TargetState) else None
        elif recording.target is not None:
            entry.base_target = None
        entry.seq = entry.stored = self.memory["seq"]
        entry.number, entry.period = row.number, recording.period
        entry.spec, entry.spec_digest, entry.scaler = row.spec, self.spec_digest, recording.scaler
        entry.history = entry.remembered = entry.recalled = self.history  # frees the History of the cycle
        entry.booted = booted
        entry.latest = recording.decision
        entry.counted = self.memory["counted"]


def _bytes(columns: Sequence[bytes | None]) -> int:
    return sum([len(column) for column in columns if column is not None])


class Recorded(NamedTuple):
    """The result of `write`."""

    placed: Sequence[Placed]
    broken: Mapping[str, Exception]
    """Autoscaler's name -> why its decision could not be written."""


def write(
    connection: Connection,
    name: ShardName,
    pages: Pages,
    pairs: Sequence[tuple[Entry, Recording]],
    moment: Moment,
    *,
    notify: bool = False,
) -> Recorded:
    """Write the decisions with a constant number of statements.

    `name`: their shard. `pages`: updated to the new pages. `moment`: when their cycle began. `notify`: their notices
    are added to the outbox.
    """
    chunks = dict[tuple[int, int], list[tuple[Entry, Recording]]]()
    for entry, recording in pairs:
        chunks.setdefault((recording.period, chunk_of(entry.id)), []).append((entry, recording))
    placed = list[Placed]()
    broken = dict[str, Exception]()
    journal = list[Values]()
    when = time_columns(moment, moment.now)
    for (period, chunk), members in chunks.items():
        known = newest_page(pages, period, chunk)
        page = known.following(period, chunk, moment.elapsed)
        entries = {recording.name: entry for entry, recording in members}
        mine = each(
            [recording for _, recording in members],
            lambda one: one.place(entries[one.name], page, when),  # noqa: B023 - called before the loop goes on
            broken,
        )
        if not mine:
            continue
        placed += mine
        body = page_of({one.entry.id: one.row for one in mine})
        place = {"connection": name.adapter, "shard": name.number, "period": period, "chunk": chunk, "number": page}
        journal.append(place | {"at": to_micros(moment.now), "body": body})
        size = len(body) if page % SEGMENT == 0 or not known.written else known.bytes + len(body)
        pages[period, chunk] = Page(page, written=True, bytes=size, at=moment.elapsed)
    _insert(connection, schema.journal, journal)
    _insert(connection, schema.spec, [one.spec for one in placed if one.spec is not None])
    write_memory(connection, [(one.entry, one.memory) for one in placed])
    _insert(connection, schema.change, [one.change for one in placed if one.change is not None])
    _insert(connection, schema.event, [event for one in placed for event in one.events])
    if notify:
        told = [each for one in placed for each in notices(one.entry.latest, one.recording.decision)]
        _insert(connection, schema.notice, rows_of(told, moment))
    return Recorded(placed, broken)


def _insert(connection: Connection, table: Table, rows: Sequence[Values]) -> None:
    if rows:
        connection.execute(insert(table), rows)


def _spec(entry: Entry, scaler: Autoscaler, number: int) -> tuple[Values | None, int, bytes]:
    """Return a row of the table `spec` if the specification is new, and the number and digest in force."""
    if entry.scaler is scaler or entry.scaler == scaler:
        return None, entry.spec, entry.spec_digest
    body = SPEC.dump(scaler)
    digest = digest_of(body)
    if digest == entry.spec_digest:  # recorded by an earlier process
        return None, entry.spec, digest
    return {"autoscaler_id": entry.id, "number": number, "body": body}, number, digest


def change_row(owner_id: int, row: Row, columns: Columns) -> Values:
    """Return a row of the table `change`. `columns`: all of them, or at least the columns DECISION."""
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
