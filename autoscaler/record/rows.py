"""Recorded cycles as rows of columns, and many rows as one block.

A whole row holds every column, and the History that its decision was made from. The rows after it hold only the
columns that differ from it, and their Histories follow from it: each is what `remember` makes of the one before and its
decision. Whatever breaks that chain (a restart, a commit that failed) begins with a whole row again. So every recorded
cycle can be decided again from the rows alone.
"""

from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

import msgspec

from autoscaler.errors import StateError
from autoscaler.record.binary import Binary, differences, pack, running_sums, unpack
from autoscaler.record.evaluation import COLUMNS, Columns

Marks: TypeAlias = tuple[int, ...]
"""What columns are recognized by: a hash of 64 bits each, with a key of this process alone. With ten instances the
columns themselves take 4 KiB for each autoscaler."""


class Row(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One recorded cycle."""

    number: int
    """Counts an autoscaler's cycles in the order of their commits."""
    at: int
    """The cycle's `now` in microseconds."""
    spec: int
    """Number of the specification in force."""
    base: int
    """Number of the whole row whose columns stand for those left out; its own: it is whole."""
    columns: tuple[bytes | None, ...]
    """None: as in the whole row."""
    history: bytes | None
    """Of a whole row: what was remembered before it."""

    @property
    def whole(self) -> bool:
        """Whether nothing is left out."""
        return self.base == self.number


def runs(rows: Iterable[Row]) -> list[list[Row]]:
    """Rows in order, cut where numbers are missing between two: those are elsewhere."""
    cut = list[list[Row]]()
    for row in rows:
        if cut and cut[-1][-1].number + 1 == row.number:
            cut[-1].append(row)
        else:
            cut.append([row])
    return cut


def marks_of(columns: Sequence[bytes | None]) -> Marks:
    """One a column, the same for equal ones."""
    return tuple(map(hash, columns))


def differing(columns: Sequence[bytes | None], base: Marks) -> tuple[bytes | None, ...]:
    """Each column where it is not the base's; None is one that is known to be."""
    return tuple(
        [None if mine is None or hash(mine) == theirs else mine for mine, theirs in zip(columns, base, strict=True)]
    )


def completed(row: Row, base: Row) -> Columns:
    """All columns of a row whose whole row is `base`. Raises StateError."""
    complete = tuple([theirs if mine is None else mine for mine, theirs in zip(row.columns, base.columns, strict=True)])
    found = tuple([column for column in complete if column is not None])
    if len(found) != COLUMNS:
        raise StateError("a recorded cycle's whole row is incomplete; restore a backup of the state")
    return found


class _Block(msgspec.Struct, array_like=True):
    """Rows turned by a quarter: what is alike stands side by side. Numbers and times as steps from the row before."""

    numbers: list[int]
    times: list[int]
    specs: list[int]
    bases: list[int]
    """How far back the whole row is."""
    columns: list[list[bytes | None]]
    histories: list[bytes | None]


_BLOCK: Final = Binary[_Block](_Block)


def pack_rows(rows: Sequence[Row]) -> bytes:
    """Rows of one autoscaler, in order, the first whole."""
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
    """The rows that were packed. Raises StateError."""
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
