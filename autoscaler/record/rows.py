"""Recorded cycles as rows of columns, and many rows as one block.

A whole row holds every column, and the History from which its decision was made. The rows after it hold only the
columns that differ. Their Histories are derived: each is the result of `remember` for the row before. If that does not
hold (after a restart or a failed commit), the next row is whole. So every recorded cycle can be decided again from the
rows alone.
"""

from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

import msgspec

from autoscaler.errors import StateError
from autoscaler.record.binary import Binary, differences, pack, running_sums, unpack
from autoscaler.record.evaluation import COLUMNS, Columns

ColumnHashes: TypeAlias = tuple[int, ...]
"""A hash of 64 bits for each column, with a key of this process. It stands for the columns, which take 4 KiB for an
autoscaler with ten instances."""


class Row(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One recorded cycle."""

    number: int
    """Counts an autoscaler's cycles in the order of their commits."""
    at: int
    """The cycle's `now` in microseconds."""
    spec: int
    """Number of the specification in force."""
    base: int
    """Number of the whole row with the omitted columns; its own number if it is whole."""
    columns: tuple[bytes | None, ...]
    """None: as in the whole row."""
    history: bytes | None
    """The History before the cycle; only in a whole row."""

    @property
    def whole(self) -> bool:
        """Whether the row has all columns."""
        return self.base == self.number


def runs(rows: Iterable[Row]) -> list[list[Row]]:
    """Return the rows, in order, as lists without missing numbers."""
    cut = list[list[Row]]()
    for row in rows:
        if cut and cut[-1][-1].number + 1 == row.number:
            cut[-1].append(row)
        else:
            cut.append([row])
    return cut


def hashes_of(columns: Sequence[bytes | None]) -> ColumnHashes:
    """Return a hash of each column."""
    return tuple(map(hash, columns))


def differing(columns: Sequence[bytes | None], base: ColumnHashes) -> tuple[bytes | None, ...]:
    """Return the columns, with None for those that equal the base's. A given None is known to be equal."""
    return tuple(
        [None if mine is None or hash(mine) == theirs else mine for mine, theirs in zip(columns, base, strict=True)]
    )


def completed(row: Row, base: Row) -> Columns:
    """Return all columns of a row whose whole row is `base`. Raises StateError."""
    complete = tuple([theirs if mine is None else mine for mine, theirs in zip(row.columns, base.columns, strict=True)])
    found = tuple([column for column in complete if column is not None])
    if len(found) != COLUMNS:
        raise StateError("a recorded cycle's whole row is incomplete; restore a backup of the state")
    return found


class _Block(msgspec.Struct, array_like=True):
    """Rows transposed, so that similar values are adjacent. Numbers and times are differences to the row before."""

    numbers: list[int]
    times: list[int]
    specs: list[int]
    bases: list[int]
    """Each row's number minus that of its whole row."""
    columns: list[list[bytes | None]]
    histories: list[bytes | None]


_BLOCK: Final = Binary[_Block](_Block)


def pack_rows(rows: Sequence[Row]) -> bytes:
    """Return one autoscaler's rows as a block. They are in order, the first whole."""
    return pack(
        _BLOCK.dump(
            _Block(
                differences([row.number for row in rows]),
                differences([row.at for row in rows]),
                [row.spec for row in rows],
                [row.number - row.base for row in rows],
                [[row.columns[index] for row in rows] for index in range(COLUMNS)],
                [row.history for row in rows],
            )
        )
    )


def unpack_rows(data: bytes) -> list[Row]:
    """Return the rows of `pack_rows`. Raises StateError."""
    block = _BLOCK.load(unpack(data))
    numbers = running_sums(block.numbers)
    return [
        Row(number, at, spec, number - back, columns, history)
        for number, at, spec, back, columns, history in zip(
            numbers,
            running_sums(block.times),
            block.specs,
            block.bases,
            zip(*block.columns, strict=True),
            block.histories,
            strict=True,
        )
    ]
