"""Reads a case as a past. The file is not trusted: bad content is a CaseError, and one line is in memory."""

import gzip
import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from autoscaler.model import MAX_SIZE, Autoscaler, TargetState
from autoscaler.text import plain
from autoscaler.times import YEARS
from autoscaler.whatif.case.wire import FORMAT, MOST_LINE_BYTES, CaseError, Header, line_from, reason
from autoscaler.whatif.past.past import Cycle, Finding

MOST_CYCLES: Final = 3_000_000
"""More than a year of cycles 15 s apart."""
_WRONG_VALUES: Final = (TypeError, ValueError, ArithmeticError, LookupError, RecursionError)
"""Errors that inconsistent values raise where they are used."""


class CasePast:
    """Implements `Past` from a case. Reading raises CaseError."""

    findings: tuple[Finding, ...] = ()

    def __init__(self, file: Path) -> None:
        """Read the first line. Raises CaseError."""
        self._file: Final = file
        self._number = 0
        with self._opened() as lines:
            self.header: Final = self._header(lines)
        self.name: Final = self.header.autoscaler
        self.origin: Final = f"case {plain(file.name)}"
        self._scaler: Autoscaler | None = None
        """The last configuration that was read."""

    def cycles(self) -> Iterator[Cycle]:
        """In the order of the file, with one in memory."""
        count = 0
        with self._opened() as lines:
            self._header(lines)
            while (values := self._values(lines)) is not None:
                found = self._found(values)
                if isinstance(found, Autoscaler):
                    self._scaler = found
                    continue
                count += 1
                if count > MOST_CYCLES:
                    raise self._wrong(f"there are more than {MOST_CYCLES:,} cycles")
                self._check(found)
                yield found

    @contextmanager
    def deciding(self) -> Iterator[None]:
        """Make errors of inconsistent values a CaseError, around whatever uses the cycles."""
        try:
            yield
        except _WRONG_VALUES as error:
            raise self._wrong(f"nothing can be made of its values: {error!r}") from error

    @contextmanager
    def _opened(self) -> Iterator[gzip.GzipFile]:
        self._number = 0
        try:
            with gzip.open(self._file, "rb") as lines:
                yield lines
        except (gzip.BadGzipFile, zlib.error):
            raise CaseError(f"{self._file} is not a case, or damaged: it is not gzip's{self._place()}") from None
        except EOFError:
            raise CaseError(f"{self._file} is cut off{self._place()}; copy the file again") from None
        except (OSError, ValueError) as error:
            raise CaseError(f"{self._file} cannot be read: {reason(error)}") from None

    def _header(self, lines: gzip.GzipFile) -> Header:
        values = self._values(lines)
        if not isinstance(values, dict) or not isinstance(values.get("case"), int):
            raise CaseError(f"{self._file} is not a case: its first line has no `case`; `autoscaler export` writes one")
        if values["case"] > FORMAT:
            raise CaseError(f"{self._file} is of a newer version of this program; use that one, or a newer one")
        try:
            header = msgspec.convert(values, Header)
        except _WRONG_VALUES as error:
            raise self._wrong(str(error)) from None
        for each in (header.since, header.until):
            self._check_time(each)
        return header

    def _values(self, lines: gzip.GzipFile) -> Any:
        """The values of the next line; None at the end."""
        line = lines.readline(MOST_LINE_BYTES + 1)
        if not line:
            return None
        self._number += 1
        if len(line) > MOST_LINE_BYTES:
            raise self._wrong(f"it is longer than {MOST_LINE_BYTES:,} bytes")
        try:
            values = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise self._wrong(f"it is not valid JSON: {error}") from None
        if values is None:
            raise self._wrong("expected an object")
        return values

    def _found(self, values: Any) -> Autoscaler | Cycle:
        try:
            return line_from(values, self._scaler)
        except LookupError as error:
            raise self._wrong(f"expected the key {error}") from None
        except _WRONG_VALUES as error:
            raise self._wrong(str(error)) from None

    def _check(self, read: Cycle) -> None:
        """Raise CaseError for values that cannot be used."""
        scaler, observed = read.scaler, read.observation
        self._check_time(read.at)
        if len(observed.readings) != len(scaler.metrics):
            raise self._wrong(f"it has {len(observed.readings)} readings for {len(scaler.metrics)} metrics")
        if isinstance(observed.target, TargetState):
            state = observed.target
            for size in (state.replicas, state.status_replicas, *[each.weight for each in state.instances]):
                if not 0 <= size <= MAX_SIZE:
                    raise self._wrong(f"a size of {plain(str(size)[:20])} is not between 0 and {MAX_SIZE}")

    def _check_time(self, at: datetime) -> None:
        """Raise CaseError for a time that cannot be used."""
        if at.tzinfo is None:
            raise self._wrong("a time has no offset")
        if at.year not in YEARS:
            raise self._wrong(f"a time of the year {at.year} is not between {YEARS[0]} and {YEARS[-1]}")

    def _wrong(self, what: str) -> CaseError:
        return CaseError(f"{self._file}, line {self._number}: {plain(what)}")

    def _place(self) -> str:
        return f" after line {self._number}" if self._number else ""
