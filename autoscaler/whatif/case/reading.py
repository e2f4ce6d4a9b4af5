"""A case as a past. The file is not trusted: whatever it holds costs a message, and memory for one line."""

import gzip
import json
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from autoscaler.model import MAX_SIZE, Autoscaler, TargetState
from autoscaler.text import plain
from autoscaler.whatif.case.errors import CaseError, reason
from autoscaler.whatif.case.wire import Header, header_from, line_from
from autoscaler.whatif.case.writing import FORMAT, MOST_LINE_BYTES
from autoscaler.whatif.past.past import Finding, Moment
from autoscaler.whatif.past.watch import Watch

MOST_CYCLES: Final = 3_000_000
"""More than a year of cycles 15 s apart."""
_YEARS: Final = range(1970, 9000)
"""Of times: near the first and the last year there is no room to reckon."""
_DEFAULT_PERIOD: Final = timedelta(seconds=15)
_WRONG_VALUES: Final = (TypeError, ValueError, ArithmeticError, LookupError, RecursionError)
"""What values that fit together nowhere raise, wherever they are used."""


class CasePast:
    """The cycles of a case. Reading raises CaseError."""

    def __init__(self, file: Path) -> None:
        """Reads the first line. Raises CaseError."""
        self._file: Final = file
        self._number = 0
        with self._opened() as lines:
            self.header: Final = self._header(lines)
        self._watch = Watch(self.header.since, _DEFAULT_PERIOD)

    @property
    def name(self) -> str:
        """The autoscaler's."""
        return self.header.autoscaler

    @property
    def origin(self) -> str:
        """`case FILE`."""
        return f"case {plain(self._file.name)}"

    @property
    def findings(self) -> Sequence[Finding]:
        """Gaps and outages of what was read last, in order of time."""
        return self._watch.findings

    @property
    def configuration(self) -> Autoscaler | None:
        """The last one that was read; None: none was."""
        return self._scaler

    _scaler: Autoscaler | None = None

    def moments(self) -> Iterator[Moment]:
        """In the order in which they stand in the file; one is held in memory."""
        watch, cycles = self._watch, 0
        with self._opened() as lines:
            self._header(lines)
            while (values := self._values(lines)) is not None:
                found = self._found(values)
                if isinstance(found, Autoscaler):
                    self._scaler = found
                    continue
                cycles += 1
                if cycles > MOST_CYCLES:
                    raise self._wrong(f"there are more than {MOST_CYCLES:,} cycles")
                moment = self._moment(found)
                if cycles == 1:
                    watch = self._watch = Watch(found.at, _DEFAULT_PERIOD)
                watch.see(moment)
                yield moment
        watch.end(watch.last or self.header.since)

    @contextmanager
    def deciding(self) -> Iterator[None]:
        """Around what is done with the moments, and shown of it: values of no use are a CaseError, too."""
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
            header = header_from(values)
        except _WRONG_VALUES as error:
            raise self._wrong(str(error)) from None
        for each in (header.since, header.until):
            self._check_time(each)
        return header

    def _values(self, lines: gzip.GzipFile) -> Any:
        """What the next line holds; None: there is none."""
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

    def _found(self, values: Any) -> Autoscaler | Moment:
        try:
            return line_from(values)
        except LookupError as error:
            raise self._wrong(f"expected the key {error}") from None
        except _WRONG_VALUES as error:
            raise self._wrong(str(error)) from None

    def _moment(self, read: Moment) -> Moment:
        scaler, observed = self._scaler, read.observation
        if scaler is None:
            raise self._wrong("a cycle stands before the configuration that it is of")
        self._check_time(read.at)
        if len(observed.readings) != len(scaler.metrics):
            raise self._wrong(f"it has {len(observed.readings)} readings for {len(scaler.metrics)} metrics")
        if isinstance(observed.target, TargetState):
            state = observed.target
            for size in (state.replicas, state.status_replicas, *[each.weight for each in state.instances]):
                if not 0 <= size <= MAX_SIZE:
                    raise self._wrong(f"a size of {plain(str(size)[:20])} is not between 0 and {MAX_SIZE}")
        return replace(read, scaler=scaler)

    def _check_time(self, at: datetime) -> None:
        """Raise CaseError for one that nothing can be reckoned with."""
        if at.tzinfo is None:
            raise self._wrong("a time has no offset")
        if at.year not in _YEARS:
            raise self._wrong(f"a time of the year {at.year} is not between {_YEARS[0]} and {_YEARS[-1]}")

    def _wrong(self, what: str) -> CaseError:
        return CaseError(f"{self._file}, line {self._number}: {plain(what)}")

    def _place(self) -> str:
        return f" after line {self._number}" if self._number else ""
