"""The read side: what was decided, when, and why. For the command line, the page and metrics."""

from collections.abc import Collection, Container, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from heapq import merge
from pathlib import Path
from typing import Final, Self

from sqlalchemy import URL, Connection, Engine, func, select, text

from autoscaler.errors import StateError
from autoscaler.model import Autoscaler, Decision, Steering
from autoscaler.record import database as databases
from autoscaler.record import schema, versions
from autoscaler.record.binary import readable
from autoscaler.record.entries import Key, Newest, key_of, newest_decisions, newest_numbers
from autoscaler.record.events import EventPage, event_page
from autoscaler.record.leases import Leases
from autoscaler.record.members import Sharing, read_served, read_sharing
from autoscaler.record.packing import bounds_of, points_of
from autoscaler.record.reading import RecordedAutoscaler, last_specifications, recorded
from autoscaler.record.rows import runs
from autoscaler.record.series import Point, row_of, unpack_points
from autoscaler.record.sizes import recent_sizes
from autoscaler.record.steering import read_steering
from autoscaler.record.times import from_micros, to_micros
from autoscaler.record.values import Cut, EventRow, Record, SeriesRow, SizePoint, StateSize

_EARLIEST: Final = -(2**62)
_LATEST: Final = 2**62


class Archive:
    """Reads the state, on connections of its own: readers never wait for shards, nor shards for readers.

    Any number of threads at once. Every method raises StateError.
    """

    def __init__(
        self,
        url: URL,
        engine: Engine,
        published: MutableMapping[Key, Newest] | None = None,
        leases: Leases | None = None,
    ) -> None:
        """`published`: each autoscaler's newest decision, as the shards of this process commit it; None: no shards.

        `leases`: PostgreSQL, by which other daemons commit, too.
        """
        self._url = url
        self._engine = engine
        self._published = published
        self._leases = leases
        self._complete = False
        """Whether `published` holds also what was decided before this process."""
        self._of_others: Mapping[Key, Newest] = {}
        """What other daemons committed, as it was read last; replaced as a whole."""

    @classmethod
    def open_archive(cls, url: str | None, state_dir: Path) -> "Archive":
        """The state beside a running daemon or without one. Raises StateError."""
        where = databases.locate(url, state_dir)
        engine = databases.connect(where, read_only=True)
        try:
            with databases.state_errors(where), engine.begin() as connection:
                versions.require_state(connection, databases.place(where))
        except StateError:
            engine.dispose()
            raise
        return cls(where, engine)

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def latest(self) -> Mapping[str, Decision]:
        """The last decision about each autoscaler remembered, also of those that left the configuration.

        One whose record is damaged is left out: `record_at` says what is wrong with it.
        """
        found: Mapping[Key, Newest]
        if self._published is None:
            found = self._read_newest({})
        elif self._leases is None:
            found = self._published
            if not self._complete:
                for key, newest in self._read_newest(frozenset(found)).items():
                    self._published.setdefault(key, newest)
                self._complete = True
        else:
            found = self._newest_of_all(self._published)
        in_order = sorted(found.values(), key=lambda each: each.decision.now)
        return {newest.decision.name: newest.decision for newest in in_order}

    def knows(self, name: str) -> bool:
        """Whether there was ever a decision about it, within the retention. Raises StateError."""
        with self._reading() as connection, readable(name):
            return bool(recorded(connection, name))

    def record_at(self, name: str, at: datetime | None = None) -> Record | None:
        """The decision in force at a time, by default the newest, with all that is known of it; None: there was none.

        In force is the last that was committed of those made at or before the time.
        """
        until = _LATEST if at is None else to_micros(at)
        with self._reading() as connection, readable(name):
            found = [record for owner in recorded(connection, name) if (record := owner.record_at(until)) is not None]
        if at is None:
            return found[-1] if found else None
        return max(found, key=lambda record: record.decision.now, default=None)  # of several targets

    def records(self, name: str, since: datetime | None = None, until: datetime | None = None) -> Iterator[Record]:
        """Every recorded cycle from `since` to `until`, both included, in the order of their commits.

        Of the time within `state.detail` alone. A block at a time is held in memory, and read in a transaction of its
        own: whoever takes hours between two cycles holds up nothing. What is decided meanwhile is not among them.
        """
        first = _EARLIEST if since is None else to_micros(since)
        last = _LATEST if until is None else to_micros(until)
        with self._reading() as connection, readable(name):
            parts = [(owner, owner.parts(first, last)) for owner in recorded(connection, name)]
        for owner, numbers in parts:
            for part in numbers:
                rows = part
                if isinstance(rows, int):
                    with self._reading() as connection, readable(name):
                        rows = owner.block(connection, rows)
                with readable(name):
                    for record in owner.records(rows):
                        if first <= to_micros(record.decision.now) <= last:
                            yield record

    def detail_since(self, name: str) -> datetime | None:
        """From when on there is detail of it; None: there is none."""
        with self._reading() as connection, readable(name):
            begins = [owner.begin() for owner in recorded(connection, name)]
        known = [begin for begin in begins if begin is not None]
        return from_micros(min(known)) if known else None

    def events(self, name: str | None = None, since: datetime | None = None) -> Sequence[EventRow]:
        """Equal events counted, in the order in which they came last; of one autoscaler, or of all."""
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
        """The newest so many of the events, before the newest `offset` of them.

        `merged`: equal ones are one row that counts them; else each is a row.
        """
        begin = None if since is None else to_micros(since)
        with self._reading() as connection:
            return event_page(connection, name, begin, offset, limit, merged=merged)

    def series(self, name: str, since: datetime | None = None, until: datetime | None = None) -> Sequence[SeriesRow]:
        """A light row for each decision from `since` to `until`, both included, in the order of their commits."""
        first = _EARLIEST if since is None else to_micros(since)
        last = _LATEST if until is None else to_micros(until)
        with self._reading() as connection, readable(name):
            points = [
                point for owner in recorded(connection, name) for point in _points(connection, owner, first, last)
            ]
        return [row_of(point) for point in points if first <= point.at <= last]

    def recent_sizes(self, names: Collection[str], since: datetime) -> Mapping[str, Sequence[SizePoint]]:
        """The size at each decision in which something changed since a time, and at the one before; by the name.

        In order, of each at most the newest forty, in one query: a list's small charts cost what its rows do.
        """
        with self._reading() as connection:
            return recent_sizes(connection, names, to_micros(since))

    def specifications(self) -> Mapping[str, Autoscaler | StateError]:
        """What each autoscaler remembered was configured as in its last decision, by its name.

        Where that is damaged, the error.
        """
        with self._reading() as connection:
            return last_specifications(connection)

    def first_seen(self) -> Mapping[str, datetime]:
        """When each autoscaler remembered was first decided about, by its name."""
        owner = schema.autoscaler
        query = select(owner.c.name, func.min(owner.c.first_at).label("first")).group_by(owner.c.name)
        with self._reading() as connection:
            return {row.name: from_micros(row.first) for row in connection.execute(query)}

    def steering(self) -> Mapping[str, Steering]:
        """What operators asked for, by the autoscaler's name, expired or not; without what cannot be read."""
        with self._reading() as connection:
            found = read_steering(connection)
        return {name: asked for name, asked in found.items() if isinstance(asked, Steering)}

    def sharing(self) -> Sharing | None:
        """Which daemons share the state, and what each of them serves; None: it is SQLite's, which has one daemon."""
        if self._url.get_backend_name() == "sqlite":
            return None
        with self._reading() as connection:
            return read_sharing(connection)

    def served(self, names: Collection[str]) -> Mapping[str, Mapping[str, str]] | None:
        """Those of these autoscalers that a daemon serves -> target, as text -> that daemon's host and process.

        None: as of `sharing`.
        """
        if self._url.get_backend_name() == "sqlite":
            return None
        with self._reading() as connection:
            return read_served(connection, names)

    def cuts(self) -> Sequence[Cut]:
        """What `state.maxSize` has cut short."""
        with self._reading() as connection:
            return _cuts(connection)

    def size(self) -> StateSize:
        """Bytes on disk, rows of each table, and what was cut short."""
        with self._reading() as connection:
            cuts = _cuts(connection)
            if connection.dialect.name == "postgresql":
                return replace(_postgresql_size(connection), cuts=cuts)
            rows = {
                table.name: int(connection.execute(select(func.count()).select_from(table)).scalar_one())
                for table in schema.metadata.sorted_tables
            }
        database = Path(str(self._url.database))
        files = [Path(f"{database}{suffix}") for suffix in ("", "-wal")]
        return StateSize(sum(file.stat().st_size for file in files if file.exists()), rows, cuts)

    def _newest_of_all(self, published: MutableMapping[Key, Newest]) -> Mapping[Key, Newest]:
        """Whoever committed it. What is known is read again only where the state has a newer one."""
        with self._reading() as connection:
            numbers = newest_numbers(connection)
        others = {key: newest for key, newest in self._of_others.items() if numbers.get(key) == newest.number}
        for key, newest in list(published.items()):
            if newest.number < numbers.get(key, 0):  # another daemon has its shard since
                published.pop(key, None)
        others |= self._read_newest({**others, **published})
        self._of_others = others
        return {**others, **published}

    def _read_newest(self, known: Container[Key]) -> Mapping[Key, Newest]:
        """The newest decision about each autoscaler and target, without those that are known or cannot be read."""
        with self._reading() as connection:
            found = newest_decisions(connection, without=known)
        readable_ones = [newest for newest in found.values() if not isinstance(newest, StateError)]
        return {key_of(newest.decision.name, newest.decision.target): newest for newest in readable_ones}

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with databases.state_errors(self._url), self._engine.begin() as connection:
            yield connection


def _cuts(connection: Connection) -> Sequence[Cut]:
    rows = connection.execute(select(schema.cut).order_by(schema.cut.c.tier))
    return [Cut(row.tier, from_micros(row.until), from_micros(row.at)) for row in rows]


def _points(connection: Connection, owner: RecordedAutoscaler, since: int, until: int) -> Iterator[Point]:
    table = schema.series
    query = (
        select(table.c.first, table.c.body)
        .where(table.c.autoscaler_id == owner.id, table.c.until >= since, table.c.since <= until)
        .order_by(table.c.first)
    )
    bounds = bounds_of(connection, [owner.id])[owner.id]
    packed = ((row.first, unpack_points(row.body)) for row in connection.execute(query))
    unpacked = [(rows[0].number, points_of(rows, bounds)) for rows in runs(owner.unpacked())]
    for _, points in merge(packed, unpacked, key=lambda part: part[0]):
        yield from points


def _postgresql_size(connection: Connection) -> StateSize:
    names = list(schema.metadata.tables)
    query = text(
        "SELECT relname, n_live_tup, pg_total_relation_size(relid) FROM pg_stat_user_tables "
        "WHERE schemaname = current_schema()"
    )
    found = {name: (rows, size) for name, rows, size in connection.execute(query) if name in names}
    return StateSize(sum(size for _, size in found.values()), {name: rows for name, (rows, _) in found.items()})
