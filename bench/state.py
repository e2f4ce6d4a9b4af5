"""What an evaluation costs in the state: bytes that it keeps and writes, and the CPU time to record it.

Kept are the bytes when all cycles are packed; written those at the device (SQLite) or of the log (PostgreSQL's WAL) on
the way, the housekeeping's included. A cycle begins up to 5 ms after its tick, as a daemon's does. The last rows say
how long 5 GB hold whole cycles at 15 s, on SQLite.

`make bench-state`; `ARGS=10` takes a tenth of the cycles, which is quicker and says more bytes.
"""

import random
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Final, NamedTuple

import pytest

from autoscaler.model import Observed
from bench.stores import Store, postgresql, sqlite
from bench.workload import PERIOD, START, Workload, decisions_of

CYCLES: Final = 5_760
"""A day at 15 s."""
_LATEST_TICK: Final = 5_000
"""In microseconds."""
_CHECKPOINT_CYCLES: Final = 20
"""Five minutes."""
_STORES: Final[Mapping[str, Callable[[], AbstractContextManager[Store]]]] = {"SQLite": sqlite, "PostgreSQL": postgresql}
MAX_SIZE: Final = 5 * 10**9
"""The default of `state.maxSize`."""
FLEETS: Final = (100, 1_000, 10_000)


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
    """Bytes that are kept at the end."""
    written: float
    """Bytes that were written in all."""
    micros: float
    """CPU time of this process."""


def record(workload: Workload, cycles: int, store: Store) -> Recorded:
    """Record this number of cycles of a workload in a new state."""
    scalers, chance = workload.scalers(), random.Random(7)
    by_name = {scaler.name: scaler for scaler in scalers}
    before = store.written()
    ledger, busy = store.state.ledger("fleet"), 0.0
    for number in range(cycles):
        now = START + number * PERIOD + timedelta(microseconds=chance.randrange(_LATEST_TICK))
        store.keep_lease()
        if number % _CHECKPOINT_CYCLES == 0:
            store.checkpoint()
        histories = ledger.recall(scalers)
        observed = workload.observe(scalers, workload.states(), now, chance)
        decisions = decisions_of(scalers, observed, histories, now)
        begin = time.process_time()
        failed = ledger.record(by_name, Observed(observed), decisions)
        busy += time.process_time() - begin
        assert not failed
        store.state.tidy(now)
    written = store.written() - before
    store.keep_lease()
    store.state.tidy(now + timedelta(hours=25))
    count = cycles * len(scalers)
    return Recorded(store.kept() / count, written / count, busy / count * 10**6)


def report(what: str, found: str, aim: str) -> None:
    """Print one line."""
    print(f"{what:<34} {found:>14}   aim: {aim}", flush=True)


def main(fraction: int = 1) -> None:
    """Print each figure beside its aim; `fraction`: 10 takes a tenth of the cycles."""
    kept = dict[str, float]()
    for name, opened in _STORES.items():
        for case in CASES:
            try:
                with opened() as store:
                    found = record(case.workload, case.cycles // fraction, store)
            except pytest.skip.Exception as missing:
                report(name, "not measured", str(missing))
                break
            kept.setdefault(case.name, found.kept)
            report(f"{name}: kept, {case.name}", f"{found.kept:.0f} bytes", _aim(case.kept))
            report(f"{name}: written, {case.name}", f"{found.written:.0f} bytes", _aim(case.written))
            report(f"{name}: record, {case.name}", f"{found.micros:.0f} us", "none")
    for case in CASES[:2]:
        for fleet in FLEETS:
            days = MAX_SIZE / (kept[case.name] * fleet * CYCLES)
            report(f"5 GB hold {fleet:,} x {case.name}", f"{days:,.1f} days", "none")


def _aim(most: int | None) -> str:
    return "none" if most is None else f"at most {most}"


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
