"""Every bad day against one daemon: `make bench-hostile`. Exit 1 when a row is not clean.

`python -m bench.hostile --case cookies --case flood` runs the cases whose names contain these words.
"""

import argparse
import signal
import sys
import tempfile
import time
from pathlib import Path

from bench.hostile import table
from bench.hostile.cases import SECTIONS
from bench.hostile.daemon import BenchError
from bench.hostile.guarded import guarded_world
from bench.hostile.measure import Bounds, Row
from bench.hostile.world import world


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
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # workers and folder go, as with Ctrl-C
    print(table.head(), flush=True)
    began, rows = time.monotonic(), list[Row]()
    try:
        for guarded, opened in ((False, world), (True, guarded_world)):
            cases = [(section, case) for section, case in chosen if case.guarded is guarded]
            if not cases:
                continue
            with (
                tempfile.TemporaryDirectory(prefix="bench-hostile-") as folder,
                opened(Path(folder), arguments.period, Bounds()) as found,
            ):
                for section, case in cases:
                    rows.append(found.endure(section, case))
                    print(*table.lines(rows[-1]), sep="\n", flush=True)
    except BenchError as error:
        print(error)
        sys.exit(2)
    print(f"{table.summary(rows)}; {time.monotonic() - began:.0f} s")
    sys.exit(not all(row.clean for row in rows))


if __name__ == "__main__":
    main()
