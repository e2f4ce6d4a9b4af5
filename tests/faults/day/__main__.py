"""One day by itself: `python -m tests.faults.day --hours 24`. Exit 1 when a promise was not kept."""

import signal
import sys
from argparse import ArgumentParser
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.faults import table
from tests.faults.day.rehearsal import lived


def main() -> int:
    """Print the table; 1 where a promise was not kept."""
    parser = ArgumentParser(prog="python -m tests.faults.day", description=__doc__)
    parser.add_argument("--hours", type=float, default=24.0, help="of the day, a minute each (%(default)s)")
    parser.add_argument("--autoscalers", type=int, default=200, help="(%(default)s)")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what was started is stopped, as with Ctrl-C
    print(table.head(), flush=True)
    failed = 0
    with TemporaryDirectory(prefix="rehearse-") as folder:
        for row in lived(Path(folder), asked.hours, asked.autoscalers, short=asked.hours < 1):
            failed += not row.ok
            print(*table.lines("day", row), sep="\n", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
