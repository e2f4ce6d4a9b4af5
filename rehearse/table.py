"""The table that `make rehearse` prints: a line for each promise, and below it the failed cases."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from textwrap import wrap
from typing import Final

from rehearse.rehearsal import Row

_WIDTHS: Final = (12, -6, 50, 44, 6)
"""The widths of the columns. A negative one means aligned to the right."""
_SHOWN: Final = 10
"""The number of shown cases of a broken promise. The others are only counted."""


def head() -> str:
    """Return the names of the columns."""
    (names,) = _columns(("rehearsal", "runs", "promised", "seen", ""))
    return f"{names}\n{'-' * (sum(map(abs, _WIDTHS)) + 2 * len(_WIDTHS) - 2)}"


def printed(name: str, rows: Iterable[Row]) -> int:
    """Print the rows of the rehearsal of this name as they come. Returns how many promises were not kept."""
    failed = 0
    for row in rows:
        failed += not row.ok
        print(*lines(name, row), sep="\n", flush=True)
    return failed


def lines(name: str, row: Row) -> Iterator[str]:
    """Return the lines of a row of the rehearsal of this name."""
    yield from _columns((name, f"{row.runs:,}", row.promised, row.seen, "ok" if row.ok else "FAILED"))
    for each in row.broken[:_SHOWN]:
        yield "    ! " + each.replace("\n", "\n      ")
    if len(row.broken) > _SHOWN:
        yield f"    ! and {len(row.broken) - _SHOWN:,} more"


def _columns(texts: Sequence[str]) -> Iterator[str]:
    """Return these texts side by side, each wrapped in its column."""
    cells = [wrap(text, abs(width)) for text, width in zip(texts, _WIDTHS, strict=True)]
    for line in zip_longest(*cells, fillvalue=""):
        each = [f"{text:{'<' if width > 0 else '>'}{abs(width)}}" for text, width in zip(line, _WIDTHS, strict=True)]
        yield "  ".join(each).rstrip()
