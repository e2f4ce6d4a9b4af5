"""One cycle's decisions as the rows that keep them."""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from sqlalchemy import Connection, bindparam, delete, insert, update

from autoscaler.decide import changed, remember
from autoscaler.model import Autoscaler, Decision, History, Observation
from autoscaler.record import schema
from autoscaler.record.binary import Binary, pack
from autoscaler.record.entries import HISTORY, SPEC, Entry, intent_row, remembered_body
from autoscaler.record.evaluation import DECISION, Columns, columns_of
from autoscaler.record.journal import Pages, chunk_of, page_of
from autoscaler.record.packing import pack_pages
from autoscaler.record.rows import Row, differing
from autoscaler.record.times import micros_of, to_micros

Values: TypeAlias = dict[str, Any]

COLUMNS_OF_A_DECISION: Final = Binary[tuple[bytes, ...]](tuple[bytes, ...])


@dataclass(slots=True)
class Recording:
    """One decision on its way into the state. Nothing of an Entry changes before `apply`."""

    scaler: Autoscaler
    decision: Decision
    columns: Columns
    """All that the decision was made from and came to."""
    period: int
    """Microseconds."""
    history: History | None = None
    """What is remembered after it."""
    row: Row | None = None
    page: int = 0

    @classmethod
    def of(cls, scaler: Autoscaler, observation: Observation, decision: Decision) -> "Recording":
        """The costly part of recording it, for which no other lane needs to wait."""
        return cls(scaler, decision, columns_of(observation, decision), micros_of(scaler.sync_period))

    def place(self, entry: Entry, page: int, *, begins: bool) -> Row:
        """Decide how it stands in a page of the journal; `begins`: in the first after the ones before were packed."""
        number = entry.number + 1
        spec = entry.spec if entry.scaler == self.scaler else number
        whole = begins or entry.base is None or entry.given is not entry.chained or entry.period != self.period
        columns: tuple[bytes | None, ...] = self.columns
        if not whole and entry.base is not None:
            columns = differing(self.columns, entry.base)
            whole = 2 * _bytes(columns) > entry.base_bytes  # too much has changed since
        if whole:
            columns = self.columns
        self.page = page
        self.history = remember(self.scaler, entry.given, self.decision)
        self.row = Row(
            number,
            to_micros(self.decision.now),
            spec,
            number if whole else entry.base_number,
            columns,
            HISTORY.dump(entry.given) if whole else None,
        )
        return self.row

    def apply(self, entry: Entry, lead: int) -> None:
        """Let the memory follow, once the rows are committed. `lead`: of its times."""
        if self.row is None or self.history is None:
            return
        if self.row.whole:
            entry.base, entry.base_number, entry.base_page = self.columns, self.row.number, self.page
            entry.base_bytes = _bytes(self.columns)
        entry.number, entry.spec, entry.scaler, entry.period = self.row.number, self.row.spec, self.scaler, self.period
        entry.history = entry.chained = self.history
        entry.lead = lead
        entry.intent = self.history.unfinished
        entry.latest = self.decision


def _bytes(columns: Sequence[bytes | None]) -> int:
    return sum([len(column) for column in columns if column is not None])


Placed: TypeAlias = tuple[Entry, Recording, Row, History]


def write(
    connection: Connection,
    name: str,
    pages: dict[tuple[int, int], Pages],
    pairs: Sequence[tuple[Entry, Recording]],
    lead: int,
) -> Collection[int]:
    """A handful of statements, however many decisions.

    `name`: of their adapter connection; `pages` follows; `lead`: of all their times (`timeline`). Returns the ids of
    autoscalers not among them whose newest row was carried to another page.
    """
    if not pairs:
        return ()
    chunks = dict[tuple[int, int], list[tuple[Entry, Recording]]]()
    for entry, recording in pairs:
        chunks.setdefault((recording.period, chunk_of(entry.id)), []).append((entry, recording))
    carried = set[int]()
    placed = list[Placed]()
    journal = list[Values]()
    for (period, chunk), members in chunks.items():
        known = pages.get((period, chunk), Pages(0, 0, 0))
        full, page = known.is_full(chunk), known.last + 1
        rows = dict[int, Row]()
        for entry, recording in members:
            rows[entry.id] = row = recording.place(entry, page, begins=full)
            placed.append((entry, recording, row, recording.history or History()))
        if full:
            others = pack_pages(connection, name, period, chunk, rows.keys())
            _move(connection, others, page)
            carried |= others.keys()
            rows |= others
            known = Pages(known.last, 0, 0)
        body = page_of(rows)
        place = {"connection": name, "period": period, "chunk": chunk, "number": page}
        journal.append(place | {"lead": lead, "body": body})
        pages[period, chunk] = Pages(page, known.unpacked + 1, known.bytes + len(body))
    connection.execute(insert(schema.journal), journal)
    _write_specs(connection, placed)
    schema.upsert(connection, schema.memory, [_memory(*each, lead) for each in placed])
    changes = [
        change_row(entry.id, row, row.at - lead, recording.columns)
        for entry, recording, row, _ in placed
        if changed(entry.latest, recording.decision)
    ]
    if changes:
        connection.execute(insert(schema.change), changes)
    _write_events(connection, placed, lead)
    _write_intents(connection, placed, lead)
    return carried


def _write_intents(connection: Connection, placed: Sequence[Placed], lead: int) -> None:
    """Follow what became of announced writes. One without an answer stays, also where a later one was not sent."""
    settled = [{"owner_id": entry.id} for entry, _, _, after in placed if entry.intent and after.unfinished is None]
    if settled:
        connection.execute(delete(schema.intent).where(schema.intent.c.autoscaler_id == bindparam("owner_id")), settled)
    open_still = [
        intent_row(entry, after.unfinished, lead)
        for entry, _, _, after in placed
        if after.unfinished is not None and after.unfinished != entry.intent
    ]
    schema.upsert(connection, schema.intent, open_still)


def _move(connection: Connection, rows: Mapping[int, Row], page: int) -> None:
    """The newest rows of these autoscalers stand in this page now."""
    table = schema.memory
    if rows:
        moved = update(table).where(table.c.autoscaler_id.in_(list(rows)))
        connection.execute(moved.values(page=page, base_page=page))


def _memory(entry: Entry, recording: Recording, row: Row, history: History, lead: int) -> Values:
    return {
        "autoscaler_id": entry.id,
        "number": row.number,
        "at": row.at,
        "period": recording.period,
        "page": recording.page,
        "base_page": recording.page if row.whole else entry.base_page,
        "body": remembered_body(history),
        "lead": lead,
    }


def _write_specs(connection: Connection, placed: Sequence[Placed]) -> None:
    rows = [
        {
            "autoscaler_id": entry.id,
            "number": row.number,
            "minimum": recording.scaler.min_replicas,
            "maximum": recording.scaler.max_replicas,
            "body": SPEC.dump(recording.scaler),
        }
        for entry, recording, row, _ in placed
        if row.spec == row.number
    ]
    if rows:
        connection.execute(insert(schema.spec), rows)


def change_row(owner_id: int, row: Row, recorded: int, columns: Columns) -> Values:
    """Its row of the table `change`, of all columns. `recorded`: on the state's own scale."""
    body = pack(COLUMNS_OF_A_DECISION.dump(columns[DECISION]))
    return {
        "autoscaler_id": owner_id,
        "number": row.number,
        "at": row.at,
        "recorded": recorded,
        "spec": row.spec,
        "size": len(body),
        "body": body,
    }


def _write_events(connection: Connection, placed: Sequence[Placed], lead: int) -> None:
    texts, rows = dict[int, Values](), []
    for entry, recording, row, _ in placed:
        for position, event in enumerate(recording.decision.events):
            text = {"type": event.type.value, "reason": plain(event.reason), "message": plain(event.message)}
            key = text_id(**text)
            texts[key] = {"id": key, **text}
            rows.append(
                {
                    "autoscaler_id": entry.id,
                    "number": row.number,
                    "position": position,
                    "at": row.at,
                    "recorded": row.at - lead,
                    "dry_run": recording.decision.dry_run,
                    "text_id": key,
                }
            )
    if rows:
        in_order = [texts[key] for key in sorted(texts)]  # lanes that wait for each other's rows wait in one direction
        schema.insert_absent(connection, schema.event_text, in_order)
        connection.execute(insert(schema.event), rows)


def text_id(type: str, reason: str, message: str) -> int:  # noqa: A002 - named as its column
    """The same for equal texts: 63 bits of a hash."""
    digest = hashlib.blake2b("\0".join((type, reason, message)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def plain(text: str) -> str:
    """A back end's words, without what a database cannot keep as text: NUL and unpaired surrogates."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")
