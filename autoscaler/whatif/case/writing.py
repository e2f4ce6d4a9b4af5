"""Writes a case: JSON lines, compressed by gzip."""

import gzip
import json
import os
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from autoscaler.model import Autoscaler
from autoscaler.version import VERSION
from autoscaler.whatif.case.wire import FORMAT, MOST_LINE_BYTES, CaseError, Header, cycle_values, reason
from autoscaler.whatif.past.past import Cycle

_OWNER_ONLY: Final = 0o600
"""A case has the names and addresses of a whole installation."""


class Written(NamedTuple):
    """What was written."""

    cycles: int
    first: datetime
    last: datetime
    bytes: int


def write_case(
    file: Path, name: str, since: datetime, until: datetime, cycles: Iterable[Cycle], *, anonymized: bool = False
) -> Written:
    """Write the cycles that have a decision into a new file, which only its owner can read.

    Raises CaseError, also if there is no such cycle, and what the cycles raise; then there is no file.
    """
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNER_ONLY)
    except FileExistsError:
        raise CaseError(f"{file} already exists; name another file") from None
    except (OSError, ValueError) as error:
        raise CaseError(f"{file} cannot be written: {reason(error)}") from None
    header = Header(case=FORMAT, program=VERSION, autoscaler=name, since=since, until=until, anonymized=anonymized)
    try:
        with os.fdopen(descriptor, "wb") as raw:
            with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as compressed:
                compressed.write(_line(msgspec.to_builtins(header)))
                count, first, last = _write_cycles(compressed, name, cycles)
            return Written(count, first, last, raw.tell())
    except BaseException as error:
        with suppress(OSError):
            file.unlink()
        if isinstance(error, OSError):
            raise CaseError(f"{file} cannot be written: {reason(error)}") from error
        raise


def _write_cycles(compressed: gzip.GzipFile, name: str, cycles: Iterable[Cycle]) -> tuple[int, datetime, datetime]:
    """Return their number, and the times of the first and the last. Raises CaseError if there is none."""
    scaler: Autoscaler | None = None
    count = 0
    first = last = None
    for cycle in cycles:
        if cycle.decision is None:
            continue
        if cycle.scaler is not scaler and cycle.scaler != scaler:
            compressed.write(_line({"configuration": msgspec.to_builtins(cycle.scaler)}))
        scaler = cycle.scaler
        line = _line(cycle_values(cycle, cycle.decision))
        if len(line) > MOST_LINE_BYTES:
            at = cycle.at.isoformat()
            raise CaseError(f"the cycle of {at} takes more than {MOST_LINE_BYTES:,} bytes; leave out its time")
        compressed.write(line)
        count, first, last = count + 1, first or cycle.at, cycle.at
    if first is None or last is None:
        raise CaseError(f"autoscaler {name!r}: no cycle of that time is recorded in full")
    return count, first, last


def _line(values: Any) -> bytes:
    """In ASCII, so that lone surrogates are kept."""
    return json.dumps(values, separators=(",", ":")).encode() + b"\n"
