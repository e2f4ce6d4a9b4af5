"""The read side: what was decided, when, and why. For the command line, the page and metrics."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Self

from sqlalchemy import URL, Connection, Engine, Row, Select, and_, func, or_, select, text

from autoscaler.errors import StateError
from autoscaler.model import Autoscaler, Decision, EventType, Steering
from autoscaler.record import engine as engines
from autoscaler.record import schema
from autoscaler.record.codec import Codec, from_micros, to_micros, unpack
from autoscaler.record.values import EventRow, MetricPoint, Record, Seen, SeriesRow, StateSize

SEEN: Final = Codec(Seen)
SCALER: Final = Codec(Autoscaler)
STEERING: Final = Codec(Steering)
POINTS: Final = Codec[tuple[MetricPoint, ...]](tuple[MetricPoint, ...])

_BASIS: Final = schema.decision.alias("basis")


class Archive:
    """Reads the state; any number of threads at once. Every method raises StateError."""

    def __init__(self, url: URL, engine: Engine) -> None:
        self._url = url
        self._engine = engine

    @classmethod
    def open_archive(cls, url: str | None, state_dir: Path) -> "Archive":
        """The state for reading alone, beside a running daemon or without one. Raises StateError."""
        where = engines.locate(url, state_dir)
        engine = engines.connect(where, read_only=True)
        try:
            with engines.explained(where), engine.begin() as connection:
                schema.require_current(connection, engines.place(where))
        except StateError:
            engine.dispose()
            raise
        return Archive(where, engine)

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def latest(self) -> Mapping[str, Decision]:
        """The last decision about each autoscaler remembered, also of those that left the configuration."""
        table = schema.autoscaler
        query = _decisions().where(schema.decision.c.at == table.c.at).order_by(table.c.at)
        return {row.name: _seen(row).decision for row in self._rows(query)}

    def decision_at(self, name: str, at: datetime) -> Decision | None:
        """The decision in force at a time: the last one made at or before it."""
        found = self.records(name, until=at, limit=1)
        return found[0].decision if found else None

    def decisions(
        self, name: str, since: datetime | None = None, until: datetime | None = None, limit: int = 100
    ) -> Sequence[Decision]:
        """At most `limit` decisions from `since` to `until`, both included, the newest first."""
        return [record.decision for record in self.records(name, since, until, limit)]

    def records(
        self, name: str, since: datetime | None = None, until: datetime | None = None, limit: int = 100
    ) -> Sequence[Record]:
        """The same decisions with all that they were made from, the newest first."""
        table, spec = schema.decision, schema.spec
        query = (
            _between(_decisions(), table.c.at, since, until)
            .add_columns(spec.c.body.label("spec"))
            .join(spec, and_(spec.c.autoscaler_id == table.c.autoscaler_id, spec.c.at == table.c.spec_at))
            .where(schema.autoscaler.c.name == name)
            .order_by(table.c.at.desc())
            .limit(limit)
        )
        scalers: dict[bytes, Autoscaler] = {}  # it rarely changes
        records = []
        for row in self._rows(query):
            seen = _seen(row)
            scaler = scalers.setdefault(row.spec, scalers.get(row.spec) or SCALER.load(unpack(row.spec)))
            records.append(Record(scaler, seen.observation, seen.decision))
        return records

    def events(self, name: str | None = None, since: datetime | None = None) -> Sequence[EventRow]:
        """Equal events counted, in the order of their last time; of one autoscaler, or of all."""
        table, owner = schema.event, schema.autoscaler
        same = (owner.c.name, table.c.type, table.c.reason, table.c.message, table.c.dry_run)
        last = func.max(table.c.at).label("last")
        query = (
            select(*same, func.count().label("times"), func.min(table.c.at).label("first"), last)
            .join(owner, owner.c.id == table.c.autoscaler_id)
            .group_by(*same)
            .order_by(last, func.max(table.c.id))
        )
        if name is not None:
            query = query.where(owner.c.name == name)
        return [
            EventRow(
                name=row.name,
                type=EventType(row.type),
                reason=row.reason,
                message=row.message,
                count=row.times,
                first=from_micros(row.first),
                last=from_micros(row.last),
                dry_run=row.dry_run,
            )
            for row in self._rows(_between(query, table.c.at, since, None))
        ]

    def series(self, name: str, since: datetime | None = None, until: datetime | None = None) -> Sequence[SeriesRow]:
        """A light row for each decision from `since` to `until`, both included, the oldest first."""
        table, spec, owner = schema.decision, schema.spec, schema.autoscaler
        query = (
            select(
                table.c.at,
                table.c.current,
                table.c.desired,
                spec.c.minimum,
                spec.c.maximum,
                table.c.dry_run,
                table.c.metrics,
            )
            .join(owner, owner.c.id == table.c.autoscaler_id)
            .join(spec, and_(spec.c.autoscaler_id == table.c.autoscaler_id, spec.c.at == table.c.spec_at))
            .where(owner.c.name == name)
            .order_by(table.c.at)
        )
        return [
            SeriesRow(
                at=from_micros(row.at),
                current=row.current,
                desired=row.desired,
                minimum=row.minimum,
                maximum=row.maximum,
                dry_run=row.dry_run,
                metrics=POINTS.load(row.metrics),
            )
            for row in self._rows(_between(query, table.c.at, since, until))
        ]

    def first_seen(self) -> Mapping[str, datetime]:
        """When each autoscaler remembered was first decided about, within the retention, by its name."""
        spec, owner = schema.spec, schema.autoscaler
        query = (
            select(owner.c.name, func.min(spec.c.at).label("first"))
            .join(spec, spec.c.autoscaler_id == owner.c.id)
            .group_by(owner.c.name)
        )
        return {row.name: from_micros(row.first) for row in self._rows(query)}

    def steering(self) -> Mapping[str, Steering]:
        """What operators asked for, by the autoscaler's name, expired or not."""
        return {row.name: STEERING.load(row.body) for row in self._rows(select(schema.steering))}

    def size(self) -> StateSize:
        """Bytes on disk and rows of each table."""
        tables = schema.metadata.sorted_tables
        with engines.explained(self._url), self._engine.begin() as connection:
            if connection.dialect.name == "postgresql":
                return _postgresql_size(connection)
            rows = {table.name: _sqlite_rows(connection, table.name) for table in tables}
        database = Path(str(self._url.database))
        files = [Path(f"{database}{suffix}") for suffix in ("", "-wal")]
        return StateSize(sum(file.stat().st_size for file in files if file.exists()), rows)

    def _rows(self, query: Select[Any]) -> Sequence[Row[Any]]:
        with engines.explained(self._url), self._engine.begin() as connection:
            return connection.execute(query).all()


def _decisions() -> Select[Any]:
    """Decisions with their bodies and their dictionaries.

    One whose dictionary is gone is past the retention and on its way out itself: it is not shown.
    """
    table, owner = schema.decision, schema.autoscaler
    return (
        select(owner.c.name, table.c.body, _BASIS.c.body.label("basis"))
        .join(owner, owner.c.id == table.c.autoscaler_id)
        .outerjoin(_BASIS, and_(_BASIS.c.autoscaler_id == table.c.autoscaler_id, _BASIS.c.at == table.c.basis_at))
        .where(or_(table.c.basis_at.is_(None), _BASIS.c.at.is_not(None)))
    )


def _seen(row: Row[Any]) -> Seen:
    return SEEN.load(unpack(row.body, unpack(row.basis) if row.basis is not None else b""))


def _between(query: Select[Any], column: Any, since: datetime | None, until: datetime | None) -> Select[Any]:
    if since is not None:
        query = query.where(column >= to_micros(since))
    return query if until is None else query.where(column <= to_micros(until))


def _sqlite_rows(connection: Connection, table: str) -> int:
    """Exact where rows cannot be many; else the span of row numbers, as only the oldest are ever deleted."""
    if table in ("decision", "event"):
        span = f"SELECT coalesce(max(rowid) - min(rowid) + 1, 0) FROM {table}"  # noqa: S608  a name from our own schema
        return int(connection.execute(text(span)).scalar_one())
    return int(connection.execute(select(func.count()).select_from(schema.metadata.tables[table])).scalar_one())


def _postgresql_size(connection: Connection) -> StateSize:
    names = list(schema.metadata.tables)
    query = text(
        "SELECT relname, n_live_tup, pg_total_relation_size(relid) FROM pg_stat_user_tables "
        "WHERE schemaname = current_schema()"
    )
    found = {name: (rows, size) for name, rows, size in connection.execute(query) if name in names}
    return StateSize(sum(size for _, size in found.values()), {name: rows for name, (rows, _) in found.items()})
