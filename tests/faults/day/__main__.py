"""One day by itself: `python -m tests.faults.day --hours 24`. Exit 1 when a promise was not kept."""

import math
import signal
import sys
from argparse import ArgumentParser

from tests.faults import table
from tests.faults.day.rehearsal import lived
from tests.faults.rehearsal import Rehearsal, run


def main() -> int:
    """Print the table; 1 where a promise was not kept."""
    parser = ArgumentParser(prog="python -m tests.faults.day", description=__doc__)
    parser.add_argument("--hours", type=float, default=24.0, help="of the day, a minute each (%(default)s)")
    parser.add_argument("--autoscalers", type=int, default=200, help="(%(default)s)")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what was started is stopped, as with Ctrl-C
    print(table.head(), flush=True)
    rehearsal = Rehearsal(
        "a day", lambda folder, short: lived(folder, asked.hours, asked.autoscalers, short=short), _minutes(asked.hours)
    )
    return 1 if table.printed("day", run(rehearsal, short=asked.hours < 1)) else 0


def _minutes(hours: float) -> int:
    """When it is broken off: a busy machine has longer days."""
    return 10 + 2 * math.ceil(hours)


if __name__ == "__main__":
    sys.exit(main())
