"""Cycles into a case: JSON lines, compressed by gzip."""

import gzip
import json
import os
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from autoscaler.model import Autoscaler
from autoscaler.version import VERSION
from autoscaler.whatif.case.errors import CaseError, reason
from autoscaler.whatif.case.wire import Header, configuration_values, cycle_values, header_values
from autoscaler.whatif.past.past import Moment

FORMAT: Final = 1
"""Version of the format. A reader refuses a newer one."""
MOST_LINE_BYTES: Final = 8 * 2**20
"""Of one line, decompressed: a cycle of ten thousand instances takes some six million. Read, it takes twenty times."""
_OWN_ALONE: Final = 0o600
"""Names and addresses of a whole installation stand in it."""


class Written(NamedTuple):
    """What a case holds."""

    cycles: int
    first: datetime
    last: datetime
    bytes: int


def write_case(
    file: Path, name: str, since: datetime, until: datetime, moments: Iterable[Moment], *, anonymized: bool = False
) -> Written:
    """Write the moments that have a decision into a new file, which its owner alone may read.

    Raises CaseError, also when there is none, and what the moments raise; then there is no file.
    """
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWN_ALONE)
    except FileExistsError:
        raise CaseError(f"{file} already exists; name another file") from None
    except (OSError, ValueError) as error:
        raise CaseError(f"{file} cannot be written: {reason(error)}") from None
    header = Header(case=FORMAT, program=VERSION, autoscaler=name, since=since, until=until, anonymized=anonymized)
    try:
        with os.fdopen(descriptor, "wb") as raw:
            with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as compressed:
                compressed.write(_line(header_values(header)))
                cycles, first, last = _write_moments(compressed, name, moments)
            return Written(cycles, first, last, raw.tell())
    except BaseException as error:
        with suppress(OSError):
            file.unlink()
        if isinstance(error, OSError):
            raise CaseError(f"{file} cannot be written: {reason(error)}") from error
        raise


def _write_moments(compressed: gzip.GzipFile, name: str, moments: Iterable[Moment]) -> tuple[int, datetime, datetime]:
    """How many, when the first was, and the last. Raises CaseError where there is none."""
    scaler: Autoscaler | None = None
    cycles = 0
    first = last = None
    for moment in moments:
        if moment.decision is None or moment.scaler is None:
            continue
        if moment.scaler is not scaler and moment.scaler != scaler:
            compressed.write(_line(configuration_values(moment.scaler)))
        scaler = moment.scaler
        line = _line(cycle_values(moment, moment.decision))
        if len(line) > MOST_LINE_BYTES:
            at = moment.at.isoformat()
            raise CaseError(f"the cycle of {at} takes more than {MOST_LINE_BYTES:,} bytes; leave its time out")
        compressed.write(line)
        cycles, first, last = cycles + 1, first or moment.at, moment.at
    if first is None or last is None:
        raise CaseError(f"autoscaler {name!r}: no cycle of the time asked for is recorded in full")
    return cycles, first, last


def _line(values: Any) -> bytes:
    """All of it in ASCII: what is no character on its own stays as it is."""
    return json.dumps(values, separators=(",", ":")).encode() + b"\n"
