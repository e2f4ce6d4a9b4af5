"""Every bad day against one daemon: `make bench-hostile`. Exit 1 when a row is not clean.

`python -m bench.hostile --case cookies --case flood` runs the cases whose names contain these words.
"""

import argparse
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeAlias

from bench.hostile import table
from bench.hostile.case import Case
from bench.hostile.cases import SECTIONS
from bench.hostile.daemon import BenchError
from bench.hostile.guarded import guarded_world
from bench.hostile.measure import Bounds, Row
from bench.hostile.world import World, world

Opened: TypeAlias = Callable[[Path, float, Bounds], AbstractContextManager[World]]


def main() -> None:
    """Run, print, and say by the exit status whether every row is clean."""
    parser = argparse.ArgumentParser(prog="python -m bench.hostile", description=__doc__)
    parser.add_argument("--case", action="append", default=[], help="only those whose name contains it; repeatable")
    parser.add_argument("--section", action="append", default=[], help="only these sections; repeatable")
    parser.add_argument("--period", type=float, default=2.0, help="of every autoscaler, in seconds (%(default)s)")
    arguments = parser.parse_args()
    chosen = [
        (section, case)
        for section, cases in SECTIONS.items()
        for case in cases
        if not arguments.section or section.lower() in map(str.lower, arguments.section)
        if not arguments.case or any(word.lower() in case.name.lower() for word in arguments.case)
    ]
    if not chosen:
        parser.error(f"no case is named so; the sections are {', '.join(SECTIONS)}")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # workers and folder go, as with Ctrl-C
    print(table.head(), flush=True)
    began, rows = time.monotonic(), list[Row]()
    for guarded, opened in ((False, world), (True, guarded_world)):
        for row in lived(opened, [each for each in chosen if each[1].guarded is guarded], arguments.period):
            rows.append(row)
            print(*table.lines(row), sep="\n", flush=True)
    print(f"{table.summary(rows)}\n{time.monotonic() - began:.0f} s")
    sys.exit(not all(row.clean for row in rows))


def lived(opened: Opened, cases: Sequence[tuple[str, Case]], period_seconds: float) -> Iterator[Row]:
    """A row for each case, all in one world; those without a daemon say why there is none."""
    left = list(cases)
    try:
        if left:
            with (
                tempfile.TemporaryDirectory(prefix="bench-hostile-") as folder,
                opened(Path(folder), period_seconds, Bounds()) as found,
            ):
                while left:
                    section, case = left[0]
                    row = found.endure(section, case)
                    del left[0]
                    yield row
    except BenchError as error:
        yield from (Row(section, case.name, problems=[str(error)]) for section, case in left)


if __name__ == "__main__":
    main()
