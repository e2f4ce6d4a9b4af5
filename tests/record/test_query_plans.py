"""No statement of the housekeeping reads a whole table: what a million events take follows from it.

Plans are looked at instead of times. PostgreSQL gives up hashing `NOT IN` at some 250,000 rows; with the little memory
that this test allows, at a few thousand.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, event, text

from autoscaler.clock import SystemClock
from autoscaler.record.forgetting import forget
from autoscaler.record.housekeeping import Retention
from tests.record.conftest import Opener
from tests.record.samples import FLEET, at, decision, keep
from tests.record.samples import event as event_of

pytestmark = pytest.mark.slow
SCALERS, EVENTS = 5_000, 60_000
MAX_ROWS = EVENTS * 60.0
"""More than any linear plan costs, and less than a comparison of every event with every other."""
FILL = (
    (
        "INSERT INTO autoscaler (id, scaled, name, target, connection, first_at, seq, number, at, boot, elapsed, body) "
        "SELECT n, '[\"\",\"fleet\",\"name' || n || '\"]', 'name' || n, '[\"fleet\",\"name' || n || '\"]', 'fleet', 0, "
        "1, 1, 0, '', 0, '' FROM generate_series(1, :scalers) n"
    ),
    (
        "INSERT INTO kept (kind, key, body) "
        "SELECT 'sighting', '[\"\",\"fleet\",\"name' || n || '\"]', '' FROM generate_series(1, :scalers) n"
    ),
    (
        "INSERT INTO spec (autoscaler_id, number, body) "
        "SELECT n, m, '' FROM generate_series(1, :scalers) n, generate_series(1, 3) m"
    ),
    (
        "INSERT INTO change (autoscaler_id, number, at, spec, size, body) "
        "SELECT n, 3, 2 * :old, 1, 0, '' FROM generate_series(1, :scalers) n"
    ),
    (
        "INSERT INTO block (chunk, since, until, packed, size, body) "
        "SELECT n, 2 * :old, 2 * :old, n % 50 > 0, 0, '' FROM generate_series(1, :scalers) n"
    ),
    (
        "INSERT INTO event (autoscaler_id, number, position, at, dry_run, type, reason, message) "
        "SELECT n, 1, 0, CASE WHEN n < 100 THEN 0 ELSE 2 * :old + n END, false, 'Normal', 'Rescaled', 'to ' || n "
        "FROM generate_series(1, :events) n"
    ),
    "ANALYZE",
)


@contextmanager
def sent(*engines: Engine) -> Iterator[list[tuple[str, Any]]]:
    """Collect the statements that are sent, with their parameters."""
    found: list[tuple[str, Any]] = []

    def collect(_c: Any, _cursor: Any, statement: str, parameters: Any, _context: Any, many: bool) -> None:
        found.append((statement, parameters[0] if many else parameters))

    for engine in engines:
        event.listen(engine, "before_cursor_execute", collect)
    yield found
    for engine in engines:
        event.remove(engine, "before_cursor_execute", collect)


def costs(engine: Engine, statements: Sequence[tuple[str, Any]]) -> dict[str, float]:
    """Return PostgreSQL's estimate for each statement, in its unit: about a page read in order."""
    found = {}
    with engine.begin() as connection:
        connection.exec_driver_sql("SET LOCAL work_mem = '64kB'")
        for statement, parameters in statements:
            if statement.split(maxsplit=1)[0] in ("SELECT", "DELETE", "UPDATE"):
                plan = connection.exec_driver_sql(f"EXPLAIN (FORMAT JSON) {statement}", parameters).scalar_one()
                plan = json.loads(plan) if isinstance(plan, str) else plan
                found[statement] = plan[0]["Plan"]["Total Cost"]
    return found


def scans(engine: Engine, statements: Sequence[tuple[str, Any]]) -> list[str]:
    """Return the statements for which PostgreSQL has no index of a large table.

    It reads a table of this size as a whole if that is cheaper, so it is told not to.
    """
    found = list[str]()
    with engine.begin() as connection:
        connection.exec_driver_sql("SET LOCAL enable_seqscan = off")
        for statement, parameters in statements:
            if statement.split(maxsplit=1)[0] in ("SELECT", "DELETE", "UPDATE"):
                plan = connection.exec_driver_sql(f"EXPLAIN {statement}", parameters).scalars().all()
                large = ("Seq Scan on event", "Seq Scan on change", "Seq Scan on block", "Seq Scan on spec")
                found += [statement for line in plan if any(each in line for each in large)]
    return found


@pytest.fixture
def filled(postgresql_opener: Opener) -> Opener:
    """Return a state with many autoscalers and events."""
    state = postgresql_opener.state()
    with state._database.writing() as connection:
        for statement in FILL:
            given = {"scalers": SCALERS, "events": EVENTS, "old": 10**14}
            wanted = {key: value for key, value in given.items() if f":{key}" in statement}
            connection.execute(text(statement), wanted)
    postgresql_opener.close()
    return postgresql_opener


def test_no_step_of_the_housekeeping_compares_all_rows_with_all_rows(filled: Opener) -> None:
    """A million events took 198 s after each start and every six hours, with rows locked that commits need."""
    kept = Retention(timedelta(days=2), timedelta(days=30), max_bytes=1)
    state = filled.state(kept)
    database, readers = state._database._engine, state._context.readers._engine
    with sent(database, readers) as statements:
        state.tidy(at(3600 * 24 * 365 * 40))
    assert any("DELETE FROM event" in statement for statement, _ in statements)
    slow = {statement: cost for statement, cost in costs(database, statements).items() if cost > MAX_ROWS}
    assert slow == {}
    assert scans(database, statements) == []


SMALL = ("writer", "lease", "fence", "kept")
"""Tables with few rows: for each shard or target, not for each cycle."""


def test_no_statement_of_the_housekeeping_scans_a_table_of_sqlite(opener: Opener) -> None:
    """SQLite names an index that it searches, and a table that it scans."""
    state = opener.state(Retention(timedelta(days=2), timedelta(days=30), max_bytes=1))
    ledger = state.ledger(FLEET)
    for quarter in range(20):
        keep(ledger, *(decision(900 * quarter, name, size=quarter, events=[event_of()]) for name in ("web", "gone")))
    database, readers = state._database._engine, state._context.readers._engine
    with sent(database, readers) as statements:
        for days in (3, 40, 80):
            state.tidy(at(3600 * 24 * days))
    assert {"DELETE FROM event", "DELETE FROM block", "DELETE FROM autoscaler"} <= {
        " ".join(statement.split()[:3]) for statement, _ in statements
    }
    scans = set[str]()
    with database.begin() as connection:
        for statement, parameters in statements:
            if statement.split(maxsplit=1)[0] in ("SELECT", "DELETE", "UPDATE"):
                for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters):
                    name = row.detail.split()[1:2]
                    if row.detail.startswith("SCAN") and name[0] not in SMALL and not name[0].startswith("anon"):
                        scans.add(f"{row.detail}: {statement}")
    assert scans == set()


def test_forget_compares_no_table_with_another(filled: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    """It holds the lock of the housekeeping meanwhile."""
    from autoscaler.record import forgetting
    from autoscaler.record.database import Database

    found: list[tuple[str, Any]] = []
    engines: list[Engine] = []

    class Watched(Database):
        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(*arguments, **named)
            engines.append(self._engine)
            event.listen(self._engine, "before_cursor_execute", lambda *seen: found.append((seen[2], seen[3])))

    monkeypatch.setattr(forgetting, "Database", Watched)
    forget(filled.url, filled.folder, "name7", SystemClock().moment())
    database = filled.state()._database._engine
    one = [(statement, each[0] if isinstance(each, list) else each) for statement, each in found]
    assert {statement: cost for statement, cost in costs(database, one).items() if cost > MAX_ROWS} == {}
    filled.close()
