"""One world, in a process of its own: `python -m tests.faults.hosts OUT SEED RUNS KIND...` writes its outcomes.

OUT is a folder; the outcomes of the kinds of faults, one after another, are the files N.json in it.
"""

import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tests.faults.hosts.life import live


def main(arguments: Sequence[str]) -> None:
    """Live through these kinds."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what was started is stopped, as with Ctrl-C
    out, seed, runs, *kinds = arguments
    for number, kind in enumerate(kinds):
        with tempfile.TemporaryDirectory(dir=out) as folder:
            outcome = live(kind, int(runs), Path(folder), int(seed) + number)
        part = Path(out) / "part"
        part.write_bytes(msgspec.json.encode(outcome))
        part.replace(Path(out) / f"{number}.json")  # whole: it is looked for meanwhile


if __name__ == "__main__":
    main(sys.argv[1:])
