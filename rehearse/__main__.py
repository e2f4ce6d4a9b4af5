"""Runs every rehearsal, one after another: `make rehearse`. Exits with 1 if a promise is not kept.

ARGS="--only kill --only answers" runs some, ARGS=--short the short forms.
"""

import signal
import sys
import time
from argparse import ArgumentParser
from collections.abc import Sequence

from rehearse import table
from rehearse.rehearsal import Extent, run
from rehearse.rehearsals import REHEARSALS


def main(arguments: Sequence[str]) -> int:
    """Print the table. Returns 1 if a promise is not kept."""
    parser = ArgumentParser(prog="python -m rehearse", description=__doc__)
    parser.add_argument("--only", action="append", choices=list(REHEARSALS), help="this rehearsal; repeatable")
    parser.add_argument("--short", action="store_true", help="the short forms, some minutes")
    parser.add_argument(
        "--case",
        action="append",
        default=[],
        help="only cases of machine, hosts or hostile with this in their names; repeatable",
    )
    parser.add_argument("--section", action="append", default=[], help="only these sections of hostile; repeatable")
    parser.add_argument("--hours", type=float, default=24.0, help="of the day, a minute each (%(default)s)")
    asked = parser.parse_args(arguments)
    extent = Extent(asked.short, asked.case, asked.section, asked.hours)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # stops the processes that were started, as Ctrl-C does
    began, failed = time.monotonic(), 0
    print(table.head(), flush=True)
    for name in asked.only or REHEARSALS:
        print(f"{name}: {REHEARSALS[name].what}", flush=True)
        failed += table.printed(name, run(REHEARSALS[name], extent))
    took = f"{(time.monotonic() - began) / 60:.0f} minutes"
    print(f"{failed} promises not kept, {took}" if failed else f"Every promise was kept, {took}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
