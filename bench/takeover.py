"""How long a state of schema version 1 takes to be taken over: `make rehearse-takeover`, `ARGS=0.2` for fewer GB.

The state is the one of the tests, whose decisions are copied by SQL until the file is large enough: 100 autoscalers at
a period of 15 s, each with two metrics and up to nine instances that move, so that the last hour has 24,000 decisions;
and 100,000 events. Exit 1: it took too long. The aim leaves systemd's TimeoutStartSec (90 s) to the first cycles.
"""

import sqlite3
import sys
import tempfile
from pathlib import Path
from typing import Final

from autoscaler.record import Retention, State
from tests.record import version1

AIM_SECONDS: Final = 10
_AUTOSCALERS: Final = 100
_EVENTS: Final = 100_000
_STEADY: Final = 9
"""Id of the autoscaler that is copied."""


def seconds(gigabytes: float) -> float:
    """What `State.open` took. Prints what it took over."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "state.db"
        file.write_bytes(version1.state())
        grow(file, int(gigabytes * 10**9))
        size = file.stat().st_size
        state = State.open(None, Path(folder), Retention())
        taken = state.taken_over
        state.close()
        if taken is None:
            raise AssertionError("nothing was taken over")
        print(
            f"{size / 10**9:.2f} GB: {taken.autoscalers} autoscalers, {taken.decisions:,} decisions, "
            f"{taken.events:,} events in {taken.seconds:.1f} s; the new state has {file.stat().st_size / 10**6:.1f} MB"
        )
        return taken.seconds


def grow(file: Path, size: int) -> None:
    """Copy decisions of one autoscaler to a hundred, hour by hour into the past, until the file has `size` bytes."""
    connection = sqlite3.connect(file)
    connection.executescript(
        f"""
        PRAGMA journal_mode = OFF;
        PRAGMA synchronous = OFF;
        CREATE TEMP TABLE number AS
            WITH RECURSIVE n(k) AS (SELECT 0 UNION ALL SELECT k + 1 FROM n WHERE k < {_EVENTS}) SELECT k FROM n;
        INSERT INTO autoscaler
            SELECT 1000 + k, 'copy-' || k, json_set(target, '$.name', 'copy-' || k), at, spec_at, standing
            FROM autoscaler JOIN number ON k < {_AUTOSCALERS} WHERE id = {_STEADY};
        INSERT INTO spec
            SELECT 1000 + k, at, minimum, maximum, body
            FROM spec JOIN number ON k < {_AUTOSCALERS} WHERE autoscaler_id = {_STEADY};
        INSERT INTO slot
            SELECT 1000 + k, kind, position, amount, at
            FROM slot JOIN number ON k < {_AUTOSCALERS} WHERE autoscaler_id = {_STEADY};
        INSERT INTO event (autoscaler_id, at, dry_run, type, reason, message)
            SELECT 1000 + k % {_AUTOSCALERS}, (SELECT at FROM autoscaler WHERE id = {_STEADY}) - k * 20000000, 0,
                'Normal', 'SuccessfulRescale', 'New size: ' || k FROM number;
        CREATE TEMP TABLE sample AS
            SELECT row_number() OVER (ORDER BY at) - 1 AS k, * FROM decision
            WHERE autoscaler_id = {_STEADY} AND (basis_at, autoscaler_id) IN (
                SELECT basis_at, autoscaler_id FROM decision WHERE autoscaler_id = {_STEADY}
                GROUP BY basis_at ORDER BY count(*) DESC LIMIT 1);
        CREATE TEMP TABLE basis AS
            SELECT * FROM decision WHERE autoscaler_id = {_STEADY} AND at = (SELECT min(basis_at) FROM sample);
        """
    )
    (newest,) = connection.execute("SELECT at FROM autoscaler WHERE id = ?", (_STEADY,)).fetchone()
    hour = 0
    while file.stat().st_size < size:
        _add_hour(connection, newest - hour * 3_600_000_000)
        hour += 1
    connection.close()


def _add_hour(connection: sqlite3.Connection, newest: int) -> None:
    """240 decisions of each autoscaler up to `newest`, packed against the earliest of them."""
    first = newest - 239 * 15_000_000
    columns = "spec_at, dry_run, current, desired, metrics"
    connection.execute(
        f"INSERT INTO decision (autoscaler_id, at, {columns}, basis_at, body) "
        f"SELECT 1000 + k, ?, {columns}, NULL, body FROM basis JOIN number ON k < ?",
        (first, _AUTOSCALERS),
    )
    connection.execute(
        f"INSERT INTO decision (autoscaler_id, at, {columns}, basis_at, body) "
        f"SELECT 1000 + owner.k, ?1 + cycle.k * 15000000, {columns}, ?1, body "
        "FROM number AS cycle JOIN sample ON sample.k = cycle.k % (SELECT count(*) FROM sample) "
        "JOIN number AS owner ON owner.k < ?2 WHERE cycle.k BETWEEN 1 AND 239",
        (first, _AUTOSCALERS),
    )
    connection.commit()


def main() -> int:
    """Print the figure beside its aim. Returns the exit code."""
    took = seconds(float(sys.argv[1]) if len(sys.argv) > 1 else 2.0)
    print(f"takeover           {took:>14.1f} s   aim: under {AIM_SECONDS} s")
    return int(took >= AIM_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
