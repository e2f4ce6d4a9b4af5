"""What an evaluation costs in the state: bytes that it keeps and writes, and the CPU time to record it.

Kept are the bytes of the file when all cycles are packed, without its free pages; written those that SQLite gave to the
system on the way, the housekeeping's included. A cycle begins up to 5 ms after its tick, as a daemon's does.

`make bench-state`; `ARGS=10` takes a tenth of the cycles, which is quicker and says more bytes.
"""

import random
import sqlite3
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path
from typing import Final, NamedTuple

from autoscaler.model import Observed
from autoscaler.record import Retention, State
from bench.workload import PERIOD, START, Workload, decisions_of

CYCLES: Final = 5_760
"""A day at 15 s."""


_LATEST_TICK: Final = 5_000
"""In microseconds."""


class Case(NamedTuple):
    """One row of the table of bytes."""

    name: str
    workload: Workload
    cycles: int
    kept: int | None
    """The aim for the bytes kept. None: there is no aim; the row shows what changed decisions add."""
    written: int | None
    """The aim for the bytes written."""


CASES: Final = (
    Case("10 constant", Workload(100, 10, moving=False), CYCLES, 15, 1_024),
    Case("10 moving", Workload(100, 10, moving=True), CYCLES, 40, 2_048),
    Case("10 restless", Workload(100, 10, moving=True, restless=True), CYCLES // 4, None, None),
    Case("100 moving", Workload(20, 100, moving=True), CYCLES // 4, 280, None),
)


class Recorded(NamedTuple):
    """What recording costs for each evaluation."""

    kept: float
    """Bytes in the file at the end."""
    written: float
    """Bytes that were written in all."""
    micros: float
    """CPU time."""


def record(workload: Workload, cycles: int) -> Recorded:
    """Record this number of cycles of a workload in a new SQLite state."""
    scalers, chance = workload.scalers(), random.Random(7)
    by_name = {scaler.name: scaler for scaler in scalers}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        before = _written()
        state = State.open(None, folder, Retention(detail=timedelta(days=7)))
        ledger, busy = state.ledger("fleet"), 0.0
        for number in range(cycles):
            now = START + number * PERIOD + timedelta(microseconds=chance.randrange(_LATEST_TICK))
            histories = ledger.recall(scalers)
            observed = workload.observe(scalers, workload.states(), now, chance)
            decisions = decisions_of(scalers, observed, histories, now)
            begin = time.process_time()
            ledger.record(by_name, Observed(observed), decisions)
            busy += time.process_time() - begin
            state.tidy(now)
        written = _written() - before
        state.tidy(now + timedelta(hours=25))
        state.close()
        size = _bytes(folder / "state.db")
    count = cycles * len(scalers)
    return Recorded(size / count, written / count, busy / count * 10**6)


def _bytes(file: Path) -> int:
    """Return the bytes of the pages that hold something."""
    connection = sqlite3.connect(file)
    pages, free, size = (
        connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    connection.close()
    return int((pages - free) * size)


def _written() -> int:
    """Return the bytes that this process has given to write calls."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("wchar")).split()[1])


def report(what: str, found: str, aim: str) -> None:
    """Print one line."""
    print(f"{what:<24} {found:>22}   aim: {aim}", flush=True)


def main(fraction: int = 1) -> None:
    """Print each figure beside its aim; `fraction`: 10 takes a tenth of the cycles."""
    for case in CASES:
        found = record(case.workload, case.cycles // fraction)
        report(f"kept, {case.name}", f"{found.kept:.0f} bytes", _aim(case.kept))
        report(f"written, {case.name}", f"{found.written:.0f} bytes", _aim(case.written))
        report(f"record, {case.name}", f"{found.micros:.0f} us", "none")


def _aim(most: int | None) -> str:
    return "none" if most is None else f"at most {most}"


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
