"""Some cases by themselves: `python -m tests.faults.machine --case disk --runs 1`. Exit 1: a promise was not kept."""

import signal
import sys
from argparse import ArgumentParser
from typing import Final

from tests.faults import table
from tests.faults.machine.rehearsal import CASES, RUNS, rehearsed
from tests.faults.rehearsal import Rehearsal, run

_MOST_MINUTES: Final = 180


def main() -> int:
    """Print the table; 1 where a promise was not kept."""
    parser = ArgumentParser(prog="python -m tests.faults.machine", description=__doc__)
    parser.add_argument("--case", action="append", default=[], help="only those whose name contains it; repeatable")
    parser.add_argument("--runs", type=int, default=RUNS, help="of each (%(default)s)")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what was started is stopped, as with Ctrl-C
    names = [name for name in CASES if not asked.case or any(word in name for word in asked.case)]
    print(table.head(), flush=True)
    rehearsal = Rehearsal("a machine", lambda folder, _: rehearsed(folder, names, asked.runs), _MOST_MINUTES)
    return 1 if table.printed("machine", run(rehearsal, short=False)) else 0


if __name__ == "__main__":
    sys.exit(main())
