"""The table: a line for each case, and below it what is not clean."""

from collections.abc import Iterator, Sequence
from typing import Final

from bench.hostile.measure import Row

_WIDTHS: Final = (-58, 15, 8, 7, 8, 14, 8, 7)
_NAMES: Final = ("case", "made/in time/of", "followed", "slowest", "peak", "log", "state", "page")


def head() -> str:
    """Names of the columns."""
    names = _columns(_NAMES)
    return f"{names}\n{'-' * len(names)}"


def lines(row: Row) -> Iterator[str]:
    """A row, and its problems."""
    columns = _columns(
        (
            row.case[:58],
            f"{row.made}/{row.in_time}/{row.expected}",
            f"{row.followed}/{row.moves}",
            f"{row.slowest_seconds:.1f} s",
            f"{row.peak_mebibytes:.0f} MiB",
            f"{row.log_lines}, {_size(row.log_bytes)}",
            _size(row.state_bytes),
            _size(row.page_bytes),
        )
    )
    yield f"{columns}  {'clean' if row.clean else 'NOT CLEAN'}"
    if row.note:
        yield f"    ({row.note})"
    for problem in row.problems:
        yield f"    ! {problem}"


def summary(rows: Sequence[Row]) -> str:
    """How many are clean, and which are not."""
    unclean = [row for row in rows if not row.clean]
    text = f"{len(rows) - len(unclean)} of {len(rows)} rows are clean"
    return text + "".join(f"\n  not clean: {row.section}: {row.case}" for row in unclean)


def _columns(texts: Sequence[str]) -> str:
    """Side by side; a width below zero is of a column that is flush left."""
    return " ".join(
        text.ljust(-width) if width < 0 else text.rjust(width) for text, width in zip(texts, _WIDTHS, strict=True)
    )


def _size(count: int) -> str:
    if abs(count) < 10 * 2**20:
        return f"{count / 1024:.0f}K"
    return f"{count / 2**20:.0f}M"
