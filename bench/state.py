"""What an evaluation takes in the state: bytes of the file after a checkpoint, and processor time of recording it.

`make bench-state`; `ARGS=10` takes a tenth of the cycles, which is quicker and says more bytes, as the newest cycles
are not packed yet. The recorder of schema version 1 is measured beside today's where this is a clone with its history,
in turn, each in a process of its own; elsewhere a ratio that was measured once stands in for it.
"""

import json
import random
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

from autoscaler.model import Observed
from autoscaler.record import Retention, State
from bench.workload import PERIOD, START, Workload, decisions_of

CYCLES: Final = 5_760
"""A day at 15 s."""
AIM_RATIO: Final = 1 / 3
_OLD_COMMIT: Final = "37cd1b2"
_CPU_CYCLES: Final = 480
"""Two hours, so that packing has its share."""
_ROUNDS: Final = 3


class Case(NamedTuple):
    """One line of bytes."""

    name: str
    workload: Workload
    cycles: int
    aim: int | None
    """None: it has none; it shows what decisions in which something changed add."""


CASES: Final = (
    Case("10 constant", Workload(100, 10, moving=False), CYCLES, 60),
    Case("10 moving", Workload(100, 10, moving=True), CYCLES, 120),
    Case("10 restless", Workload(100, 10, moving=True, restless=True), CYCLES // 4, None),
    Case("100 moving", Workload(20, 100, moving=True), CYCLES // 4, 500),
)
AIM_SERIES: Final = 12


class Recorded(NamedTuple):
    """What recording came to, an evaluation."""

    bytes: float
    series_bytes: float
    micros: float
    """Processor time."""


def record(workload: Workload, cycles: int) -> Recorded:
    """Record that many cycles of a workload into a new SQLite state."""
    scalers, states, chance = workload.scalers(), workload.states(), random.Random(7)
    by_name = {scaler.name: scaler for scaler in scalers}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        state = State.open(None, folder, Retention())
        ledger, busy = state.ledger("fleet"), 0.0
        for number in range(cycles):
            now = START + number * PERIOD
            histories = ledger.recall(scalers)
            observed = workload.observe(scalers, states, now, chance)
            decisions = decisions_of(scalers, observed, histories, now)
            begin = time.process_time()
            ledger.record(by_name, Observed(observed), decisions)
            busy += time.process_time() - begin
        state.close()
        size, series = _bytes(folder / "state.db")
    count = cycles * len(scalers)
    return Recorded(size / count, series / count, busy / count * 10**6)


def _bytes(file: Path) -> tuple[int, int]:
    """Of the file after a checkpoint, and of its series alone with their index."""
    connection = sqlite3.connect(file, isolation_level=None)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    size = file.stat().st_size
    (page,) = connection.execute("PRAGMA page_size").fetchone()
    sizes = []
    for keep_series in (True, False):
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        for table in tables:
            if table != "series" or not keep_series:
                connection.execute(f"DELETE FROM {table}")
        connection.execute("VACUUM")
        sizes.append(connection.execute("PRAGMA page_count").fetchone()[0] * page)
    connection.close()
    return size, sizes[0] - sizes[1]


_OLD_RECORDER: Final = """
import json, random, sys, tempfile, time
from datetime import timedelta
from pathlib import Path
from autoscaler.record import Store
from workload import PERIOD, START, Workload, decisions_of
autoscalers, instances, moving, cycles = json.loads(sys.argv[1])
workload = Workload(autoscalers, instances, moving)
scalers, states, chance, busy = workload.scalers(), workload.states(), random.Random(7), 0.0
with tempfile.TemporaryDirectory() as folder, Store.open(None, Path(folder), timedelta(days=30)) as store:
    for number in range(cycles):
        now = START + number * PERIOD
        histories = store.recall(scalers)
        observed = workload.observe(scalers, states, now, chance)
        decisions = decisions_of(scalers, observed, histories, now)
        begin = time.process_time()
        store.record(observed, decisions)
        busy += time.process_time() - begin
print(busy / cycles / autoscalers * 10**6)
"""
_NEW_RECORDER: Final = """
import json, sys
from bench.state import record
from bench.workload import Workload
autoscalers, instances, moving, cycles = json.loads(sys.argv[1])
print(record(Workload(autoscalers, instances, moving), cycles).micros)
"""


def micros(workload: Workload, cycles: int) -> Sequence[tuple[float, float | None]]:
    """Processor time of recording an evaluation, in rounds: (today's code, that of version 1 where it is there)."""
    what = json.dumps([workload.autoscalers, workload.instances, workload.moving, cycles])
    here = Path(__file__).resolve().parent
    with _old_code(here.parent) as old:
        return [
            (
                _figure(_NEW_RECORDER, what, here.parent),
                None if old is None else _figure(_OLD_RECORDER, what, old, here),
            )
            for _ in range(_ROUNDS)
        ]


def _figure(program: str, argument: str, *path: Path) -> float:
    code = f"import sys; sys.path[:0] = {[str(each) for each in path]!r}\n{program}"
    done = subprocess.run((sys.executable, "-c", code, argument), capture_output=True, text=True, check=True, cwd="/")
    return float(done.stdout)


@contextmanager
def _old_code(clone: Path) -> Iterator[Path | None]:
    """A folder with the code of schema version 1; None: its commit is not here."""
    archive = subprocess.run(
        ("git", "-C", str(clone), "archive", _OLD_COMMIT, "autoscaler"), capture_output=True, check=False
    )
    with tempfile.TemporaryDirectory() as folder:
        if archive.returncode == 0:
            with tarfile.open(fileobj=BytesIO(archive.stdout)) as files:
                files.extractall(folder, filter="data")
        yield Path(folder) if archive.returncode == 0 else None


def report(what: str, found: str, aim: str) -> None:
    """One line."""
    print(f"{what:<24} {found:>22}   aim: {aim}", flush=True)


def main(fraction: int = 1) -> None:
    """Print each figure beside its aim; `fraction`: 10 takes a tenth of the cycles."""
    series = 0.0
    for case in CASES:
        found = record(case.workload, case.cycles // fraction)
        series = series or (found.series_bytes if case.workload.moving else 0.0)
        aim = "none" if case.aim is None else f"at most {case.aim}"
        report(f"state, {case.name}", f"{found.bytes:.0f} bytes", aim)
    report("series, 10 moving", f"{series:.1f} bytes", f"at most {AIM_SERIES}")
    for case in CASES[:2]:
        rounds = micros(case.workload, _CPU_CYCLES // fraction)
        own = median(new for new, _ in rounds)
        ratios = [new / old for new, old in rounds if old is not None]
        against = f" ({median(ratios):.2f} of version 1)" if ratios else ""
        report(f"record, {case.name}", f"{own:.0f} us{against}", f"at most {AIM_RATIO:.2f} of version 1")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
