"""Rehearsals, and how each is run."""

import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

import pytest

_LAST_LINES: Final = 4
"""The number of a traceback's last lines to show."""


@dataclass(frozen=True, slots=True)
class Row:
    """One promise and its result."""

    runs: int
    """How many times it was tested."""
    promised: str
    """The promise in docs/internals/reliability.md: "no target is written twice for one decision"."""
    seen: str
    """Figures: "0 of 412 writes"."""
    broken: Sequence[str] = ()
    """Each case in which it did not hold, with details; none: it held."""

    @property
    def ok(self) -> bool:
        """Return whether the promise held, in at least one run."""
        return self.runs > 0 and not self.broken


@dataclass(frozen=True, slots=True)
class Extent:
    """The requested part of a rehearsal."""

    short: bool = False
    """Whether its short form is requested."""
    cases: Sequence[str] = ()
    """Only cases whose names contain one of these words, of a rehearsal that has cases; none: all."""
    sections: Sequence[str] = ()
    """Only cases of these sections, of a rehearsal that has sections; none: all."""
    hours: float = 24.0
    """Hours of the day, a minute each."""

    def takes(self, case: str) -> bool:
        """Return whether the case of this name is requested."""
        return not self.cases or any(word.lower() in case.lower() for word in self.cases)


Rehearse: TypeAlias = Callable[[Path, Extent], Iterator[Row]]
"""A rehearsal's function. Takes an empty folder for its files and the requested part. Stops all that it starts.

An exception, also an AssertionError of its helpers, is a promise that is not kept.
"""


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """One kind of fault."""

    what: str
    """A line that describes it."""
    rehearse: Rehearse


def run(rehearsal: Rehearsal, extent: Extent) -> Iterator[Row]:
    """Yield the rows of a rehearsal as they come. Its folder is removed afterwards.

    A rehearsal that fails or has no row ends with a row that is not ok.
    """
    with tempfile.TemporaryDirectory(prefix="rehearse-", ignore_cleanup_errors=True) as folder:
        rows = 0
        try:
            for row in rehearsal.rehearse(Path(folder), extent):
                rows += 1
                yield row
            if not rows:
                yield Row(0, "something is rehearsed", "nothing", ["no case has such a name"])
        except (pytest.skip.Exception, pytest.fail.Exception) as missing:  # a port of the tests' servers
            yield Row(1, "its servers can be had", "not here", [str(missing)])
        except Exception as error:  # noqa: BLE001 - whatever it is, the other rehearsals go on
            told = "".join(traceback.format_exception(error)).rstrip().splitlines()[-_LAST_LINES:]
            yield Row(1, "it goes through", type(error).__name__, ["\n".join(told)])
