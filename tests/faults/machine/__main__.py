"""Some cases by themselves: `python -m tests.faults.machine --case disk --runs 1`. Exit 1: a promise was not kept."""

import signal
import sys
from argparse import ArgumentParser
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.faults import table
from tests.faults.machine.rehearsal import RUNS, cases, rehearsed


def main() -> int:
    """Print the table; 1 where a promise was not kept."""
    parser = ArgumentParser(prog="python -m tests.faults.machine", description=__doc__)
    parser.add_argument("--case", action="append", default=[], help="only those whose name contains it; repeatable")
    parser.add_argument("--runs", type=int, default=RUNS, help="of each (%(default)s)")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what was started is stopped, as with Ctrl-C
    names = [name for name in cases() if not asked.case or any(word in name for word in asked.case)]
    print(table.head(), flush=True)
    failed = 0
    with TemporaryDirectory(prefix="rehearse-", ignore_cleanup_errors=True) as folder:
        for row in rehearsed(Path(folder), names, asked.runs):
            failed += not row.ok
            print(*table.lines("machine", row), sep="\n", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
