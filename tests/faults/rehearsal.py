"""What a rehearsal is, and how one is run within its time."""

import signal
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest

_LAST_LINES: Final = 4
"""Of a traceback: where it broke off, and with what."""


@dataclass(frozen=True, slots=True)
class Row:
    """One promise, and what was seen of it."""

    runs: int
    """How many times it was put to the test."""
    promised: str
    """As docs/internals/reliability.md says it: "no target is written twice for one decision"."""
    seen: str
    """Figures: "0 of 412 writes"."""
    broken: Sequence[str] = ()
    """Each case in which it did not hold, with what is needed to look into it; none: it held."""

    @property
    def ok(self) -> bool:
        """Whether the promise held, in one run at least."""
        return self.runs > 0 and not self.broken


@dataclass(frozen=True, slots=True)
class Extent:
    """How much of a rehearsal is wanted."""

    short: bool = False
    """Its short form."""
    cases: Sequence[str] = ()
    """Only cases whose names contain one of these words, of a rehearsal that has cases; none: all."""
    sections: Sequence[str] = ()
    """Only cases of these sections, of a rehearsal that has sections; none: all."""
    hours: float = 24.0
    """Of the day, a minute each."""

    def takes(self, case: str) -> bool:
        """Whether the case of this name is wanted."""
        return not self.cases or any(word.lower() in case.lower() for word in self.cases)


SHORT: Final = Extent(short=True)

Rehearse: TypeAlias = Callable[[Path, Extent], Iterator[Row]]
"""Takes an empty folder for its files, and how much of it is wanted; stops all that it starts.

An exception of it, an AssertionError of its helpers among them, is a promise that was not kept.
"""


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """One kind of fault."""

    what: str
    """A line that says what happens in it."""
    rehearse: Rehearse
    minutes: float
    """It is broken off after so many, in its long form; of all rehearsals together under three hours."""
    on_request: bool = False
    """It runs only where it is named, and not with the others."""


class Overdue(BaseException):
    """A rehearsal took too long. Not an Exception: nothing in it may take this for a fault that it caused itself."""


def run(rehearsal: Rehearsal, extent: Extent) -> Iterator[Row]:
    """Its rows as they come, in a folder that is removed.

    A rehearsal that breaks off, or that has no row, ends with a row that is not ok. Only in the main
    thread (signal.setitimer).
    """
    with tempfile.TemporaryDirectory(prefix="rehearse-", ignore_cleanup_errors=True) as folder:
        minutes, rows = rehearsal.minutes * max(1.0, extent.hours / 24), 0
        try:
            with _within(minutes):
                for row in rehearsal.rehearse(Path(folder), extent):
                    rows += 1
                    yield row
            if not rows:
                yield Row(0, "something is rehearsed", "nothing", ["no case has such a name"])
        except (pytest.skip.Exception, pytest.fail.Exception) as missing:  # of the tests' servers
            yield Row(1, "its servers can be had", "not here", [str(missing)])
        except Overdue:
            yield Row(1, "it ends by itself", f"not within {minutes:.0f} minutes", ["it was broken off"])
        except Exception as error:  # noqa: BLE001 - whatever it is, the other rehearsals go on
            told = "".join(traceback.format_exception(error)).rstrip().splitlines()[-_LAST_LINES:]
            yield Row(1, "it goes through", type(error).__name__, ["\n".join(told)])


def held(rows: Iterator[Row]) -> None:
    """For a short form in `make test`. Raises AssertionError: a promise was not kept, or there was no row.

    A rehearsal that skips the test, for want of what it needs, does so once its rows of before have held.
    """
    found, skipped = list[Row](), None
    try:
        found.extend(rows)
    except pytest.skip.Exception as missing:
        skipped = missing
    broken = [(row.promised, row.seen, *row.broken) for row in found if not row.ok]
    assert not broken, "\n".join("\n  ".join(each) for each in broken)
    if skipped is not None:
        raise skipped
    assert found, "nothing was rehearsed"


@contextmanager
def _within(minutes: float) -> Iterator[None]:
    def end(*_: Any) -> None:
        raise Overdue

    handler = signal.signal(signal.SIGALRM, end)
    timer = signal.setitimer(signal.ITIMER_REAL, minutes * 60)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, *timer)  # that of a test which this may be part of
        signal.signal(signal.SIGALRM, handler)
