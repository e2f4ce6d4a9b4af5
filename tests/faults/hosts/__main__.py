"""Runs one world in its own process: `python -m tests.faults.hosts OUT SEED RUNS KIND...` writes its outcomes.

OUT is a folder. The outcomes of the kinds of faults, in order, are the files N.json in it.
"""

import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tests.faults.hosts.life import live


def main(arguments: Sequence[str]) -> None:
    """Run these kinds of faults."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # stops the processes that were started, as Ctrl-C does
    out, seed, runs, *kinds = arguments
    for number, kind in enumerate(kinds):
        with tempfile.TemporaryDirectory(dir=out) as folder:
            outcome = live(kind, int(runs), Path(folder), int(seed) + number)
        part = Path(out) / "part"
        part.write_bytes(msgspec.json.encode(outcome))
        part.replace(Path(out) / f"{number}.json")  # in one step, because another process waits for it


if __name__ == "__main__":
    main(sys.argv[1:])
