"""Reads past decisions and their reasons, for the command line, the page and the metrics."""

from collections.abc import Callable, Collection, Container, Iterator, Mapping, MutableMapping, Sequence
from contextlib import suppress
from datetime import datetime
from heapq import nlargest
from pathlib import Path
from typing import Final, Self

from sqlalchemy import Connection, func, select, text

from autoscaler.errors import StateError
from autoscaler.model import Decision, ManualControls
from autoscaler.record import schema, versions
from autoscaler.record.binary import readable
from autoscaler.record.daemons import Daemons, read_daemons, read_leader
from autoscaler.record.database import Readers, locate, place
from autoscaler.record.entries import Key
from autoscaler.record.events import EventPage, event_page
from autoscaler.record.max_size import read_cuts
from autoscaler.record.newest import Newest, newest_cycles, newest_decisions
from autoscaler.record.reading import recorded
from autoscaler.record.series import SeriesRow
from autoscaler.record.steering import read_steering
from autoscaler.record.times import from_micros, to_micros
from autoscaler.record.values import Cut, EventRow, Record, StateSize

_EARLIEST: Final = -(2**62)
_LATEST: Final = 2**62
_MAX_LEFT: Final = 1_000
"""Autoscalers listed that no configuration has any more: those that were decided last."""


class Archive:
    """Any number of threads can use it at once. Every method raises StateError."""

    def __init__(
        self,
        readers: Readers,
        published: MutableMapping[Key, Newest] | None = None,
        configured: Callable[[], Container[Key]] = tuple,
    ) -> None:
        """`published`: each autoscaler's newest decision that this process committed; None if it has no shards.

        `configured`: returns the autoscalers that this process is to serve.
        """
        self._readers = readers
        self._published = published
        self._configured = configured
        self._alone: frozenset[Key] | None = None
        """On SQLite, the keys of `published` when the state had no others. While all stay, no list reads the state."""
        self._of_others: Mapping[Key, Newest] = {}
        """The newest decisions of other daemons and earlier processes, as last read. Replaced as a whole.

        It has autoscalers of the configuration alone: a team may rename its own without end.
        """

    @classmethod
    def open_archive(cls, url: str | None, state_dir: Path) -> "Archive":
        """Open the state for reading, with or without a running daemon. Raises StateError."""
        readers = Readers(locate(url, state_dir))
        try:
            with readers.begin() as connection:
                versions.require_state(connection, place(readers.url))
        except StateError:
            readers.close()
            raise
        return cls(readers)

    def close(self) -> None:
        """Close every connection."""
        self._readers.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def latest(self) -> Mapping[str, Decision]:
        """Return the newest decision of every autoscaler in the state, with the last of those no longer configured.

        An autoscaler with a damaged record is left out; `record_at` raises the reason.
        """
        found = self._read_newest(None) if self._published is None else self._newest_of_all(self._published)
        in_order = sorted(found.values(), key=lambda each: each.decision.now)
        return {newest.decision.name: newest.decision for newest in in_order}

    def knows(self, name: str) -> bool:
        """Return whether the state holds a decision of this autoscaler."""
        with self._readers.begin() as connection, readable(name):
            return bool(recorded(connection, name))

    def record_at(self, name: str, at: datetime | None = None) -> Record | None:
        """Return the decision in force at a time, by default the newest, with all that is recorded of it.

        In force is the last committed decision made at or before the time. None if there is none.
        """
        until = _LATEST if at is None else to_micros(at)
        with self._readers.begin() as connection, readable(name):
            found = [record for owner in recorded(connection, name) if (record := owner.record_at(until)) is not None]
        if at is None:
            return found[-1] if found else None
        return max(found, key=lambda record: record.decision.now, default=None)  # of several targets

    def records(self, name: str, since: datetime | None = None, until: datetime | None = None) -> Iterator[Record]:
        """Yield every recorded cycle from `since` to `until`, both included, in the order of their commits.

        Only cycles within `state.detail` are recorded whole. One block at a time is in memory, read in a transaction of
        its own, so a slow caller delays nothing. Cycles committed after the first `next` are not included.
        """
        first = _EARLIEST if since is None else to_micros(since)
        last = _LATEST if until is None else to_micros(until)
        with self._readers.begin() as connection, readable(name):
            parts = [(owner, owner.parts(first, last)) for owner in recorded(connection, name)]
        for owner, numbers in parts:
            for part in numbers:
                rows = part
                if isinstance(rows, int):
                    with self._readers.begin() as connection, readable(name):
                        rows = owner.block(connection, rows)
                with readable(name):
                    for row in rows:
                        if first <= row.at <= last:
                            yield owner.record(row)

    def detail_since(self, name: str) -> datetime | None:
        """Return the time of the oldest cycle that is recorded whole; None if there is none."""
        with self._readers.begin() as connection, readable(name):
            begins = [owner.begin() for owner in recorded(connection, name)]
        known = [begin for begin in begins if begin is not None]
        return from_micros(min(known)) if known else None

    def events(self, name: str | None = None, since: datetime | None = None) -> Sequence[EventRow]:
        """Return equal events as one row with a count, ordered by their last occurrence, of one or all autoscalers."""
        return self.event_page(name, since).rows

    def event_page(
        self,
        name: str | None = None,
        since: datetime | None = None,
        offset: int = 0,
        limit: int | None = None,
        *,
        merged: bool = True,
    ) -> EventPage:
        """Return one page: at most `limit` events after skipping the newest `offset`.

        `merged`: equal events are one row with a count. Otherwise each event is a row.
        """
        begin = None if since is None else to_micros(since)
        with self._readers.begin() as connection:
            return event_page(connection, name, begin, offset, limit, merged=merged)

    def series(self, name: str, since: datetime | None = None, until: datetime | None = None) -> Sequence[SeriesRow]:
        """Return a chart's rows from `since` to `until`, both included, in the order of commits.

        Within `state.detail` each decision has a row. Older ones have a row without metrics for each change, and the
        first row is at `since` if a change before it was in force.
        """
        first = _EARLIEST if since is None else to_micros(since)
        last = _LATEST if until is None else to_micros(until)
        with self._readers.begin() as connection, readable(name):
            owners = recorded(connection, name)
            rows = [row for owner in owners for row in owner.points(first, last) if first <= row.at <= last]
            begins = [begin for owner in owners if (begin := owner.begin()) is not None]
            if min(begins, default=_LATEST) <= first:
                return rows
            before = [point for owner in owners if (point := owner.point_before(first)) is not None]
        if before:
            rows.insert(0, max(before, key=lambda point: point.at)._replace(at=first))
        return rows

    def last_cycle(self) -> datetime | None:
        """Return the time of the last recorded cycle; None: there is none, or it is damaged."""
        with self._readers.begin() as connection:
            newest = connection.execute(select(func.max(schema.known.c.decided))).scalar_one()
        with suppress(ValueError, TypeError, ArithmeticError):
            return from_micros(newest)
        return None

    def first_seen(self) -> Mapping[str, datetime]:
        """Return the time of the first decision, by autoscaler name. Leaves out damaged ones."""
        owner = schema.autoscaler
        query = select(owner.c.name, func.min(owner.c.first_at).label("first")).group_by(owner.c.name)
        found = dict[str, datetime]()
        with self._readers.begin() as connection:
            for row in connection.execute(query):
                with suppress(ValueError, TypeError, ArithmeticError):
                    found[row.name] = from_micros(row.first)
        return found

    def steering(self) -> Mapping[str, ManualControls]:
        """Return pauses and overrides by autoscaler name, expired ones included, damaged ones left out."""
        with self._readers.begin() as connection:
            found = read_steering(connection)
        return {name: asked for name, asked in found.items() if isinstance(asked, ManualControls)}

    def is_led(self) -> bool:
        """Return whether a daemon leads those that share the state; True on SQLite, which has one daemon."""
        if self._readers.url.get_backend_name() == "sqlite":
            return True
        with self._readers.begin(of_any_version=True) as connection:
            return read_leader(connection) is not None

    def daemons(self) -> Daemons | None:
        """Return the daemons that share the state; None on SQLite."""
        if self._readers.url.get_backend_name() == "sqlite":
            return None
        with self._readers.begin(of_any_version=True) as connection:
            return read_daemons(connection)

    def cuts(self) -> Sequence[Cut]:
        """Return what was deleted because of `state.maxSize`."""
        with self._readers.begin() as connection:
            return read_cuts(connection)

    def size(self) -> StateSize:
        """Return the bytes on disk, and what was deleted because of `state.maxSize`."""
        with self._readers.begin() as connection:
            cuts = read_cuts(connection)
            if connection.dialect.name == "postgresql":
                return StateSize(_postgresql_bytes(connection), cuts)
        database = Path(str(self._readers.url.database))
        files = [Path(f"{database}{suffix}") for suffix in ("", "-wal")]
        return StateSize(sum(file.stat().st_size for file in files if file.exists()), cuts)

    def _newest_of_all(self, published: MutableMapping[Key, Newest]) -> Mapping[Key, Newest]:
        """Return the newest decision of every daemon. A known decision is read again only if the state has a newer."""
        if self._alone is not None and self._alone <= published.keys():
            return dict(published)
        with self._readers.begin() as connection:
            cycles = newest_cycles(connection)
            sqlite = connection.dialect.name == "sqlite"  # else other daemons commit, too
        for key, newest in list(published.items()):
            if key in cycles and newest.number < cycles[key].number:  # another daemon leads now
                published.pop(key, None)
        mine, configured = dict(published), self._configured()
        others = {key: cycle for key, cycle in cycles.items() if key not in mine}
        self._alone = frozenset(mine) if sqlite and not others else None
        served = {key for key in others if key in configured}
        left = nlargest(_MAX_LEFT, others.keys() - served, key=lambda key: others[key].at)
        kept = {key: one for key, one in self._of_others.items() if key in served and one.number == others[key].number}
        read = self._read_newest((served - kept.keys()).union(left))
        self._of_others = kept | {key: one for key, one in read.items() if key in served}
        return {**kept, **read, **mine}

    def _read_newest(self, only: Collection[Key] | None) -> Mapping[Key, Newest]:
        """Return the newest decision of each of these autoscalers and targets; None: of all. Skips damaged ones."""
        with self._readers.begin() as connection:
            return newest_decisions(connection, only)


def _postgresql_bytes(connection: Connection) -> int:
    names = list(schema.metadata.tables)
    query = text(
        "SELECT relname, pg_total_relation_size(relid) FROM pg_stat_user_tables WHERE schemaname = current_schema()"
    )
    return sum(size for name, size in connection.execute(query) if name in names)
