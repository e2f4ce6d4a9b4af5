"""Every fault rehearsed, one rehearsal after another: `make rehearse`. Exit 1 when a promise was not kept.

It ends by itself in under three hours. ARGS="--only kill" runs one of them, ARGS=--short the short forms.
"""

import signal
import sys
import time
from argparse import ArgumentParser
from collections.abc import Sequence

from tests.faults import table
from tests.faults.rehearsal import run
from tests.faults.rehearsals import REHEARSALS


def main(arguments: Sequence[str]) -> int:
    """Print the table; 1 where a promise was not kept."""
    parser = ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--only", action="append", choices=list(REHEARSALS), help="this rehearsal; repeatable")
    parser.add_argument("--short", action="store_true", help="the short forms, as `make test` has them")
    asked = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what was started is stopped, as with Ctrl-C
    began, failed = time.monotonic(), 0
    print(table.head(), flush=True)
    for name, rehearsal in REHEARSALS.items():
        if asked.only and name not in asked.only:
            continue
        print(f"{name}: {rehearsal.what}", flush=True)
        failed += table.printed(name, run(rehearsal, short=asked.short))
    took = f"{(time.monotonic() - began) / 60:.0f} minutes"
    print(f"{failed} promises not kept, {took}" if failed else f"Every promise was kept, {took}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
