"""The processes of this machine, which tests know by their command lines and environments."""

import os
import signal
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path


def processes() -> Iterator[tuple[int, frozenset[bytes]]]:
    """Yield each process that this user may read: its pid, and the words of its command line and its variables."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            told = (entry / "cmdline").read_bytes() + b"\0" + (entry / "environ").read_bytes()
        except OSError:  # it ended meanwhile, or is another user's
            continue
        yield int(entry.name), frozenset(told.split(b"\0"))


def started_with(**variables: str) -> frozenset[int]:
    """Return the pids of the processes whose environments have all of these variables."""
    wanted = {f"{name}={value}".encode() for name, value in variables.items()}
    return frozenset(pid for pid, told in processes() if wanted <= told)


def signal_all(pids: Iterable[int], number: signal.Signals) -> None:
    """Send this signal to each process that has not ended yet."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
