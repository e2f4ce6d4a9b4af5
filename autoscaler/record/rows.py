"""Recorded cycles as rows, and rows of up to CHUNK autoscalers as one block.

A row holds everything that its decision was made from, so no other row is needed to read it or to decide it again. A
block holds the rows of one commit, a page, or those of many commits packed together (`packing`). It has each value of
an autoscaler's column once, and is compressed as a whole.
"""

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from autoscaler.errors import StateError
from autoscaler.record.binary import Binary, differences, pack, running_sums, unpack
from autoscaler.record.evaluation import COLUMNS, METRICS, Columns


class Row(msgspec.Struct, frozen=True, gc=False):
    """One recorded cycle."""

    number: int
    """Counts an autoscaler's cycles in the order of their commits."""
    at: int
    """The cycle's `now` in microseconds."""
    spec: int
    """Number of the specification in force."""
    since: int | None
    """Microseconds since the decision before, by its History; None: there was none."""
    columns: Columns


class _Sheet(msgspec.Struct, array_like=True):
    """One autoscaler's rows transposed, so that similar values are adjacent. Numbers are differences to the row before.

    The metrics of the decision before are mostly those of the row before, so both share their values.
    """

    numbers: list[int]
    times: list[int]
    specs: list[int]
    since: list[int | None]
    places: list[list[int]]
    """For each column, the place of each row's value in `values`."""
    values: list[list[bytes]]
    """The distinct values of each column but the last, whose values are among those of METRICS."""


_BLOCK: Final = Binary[Mapping[int, _Sheet]](dict[int, _Sheet])
_RAW_BLOCK: Final = Binary[dict[int, msgspec.Raw]](dict[int, msgspec.Raw])
_SHEET: Final = Binary[_Sheet](_Sheet)
_PLACES_OF_ONE: Final = [[0]] * (COLUMNS - 1) + [[1]]


def pack_page(rows: Mapping[int, Row]) -> bytes:
    """Return a page: a quickly compressed block with one row of each autoscaler. `rows`: by autoscaler's id."""
    return pack(_BLOCK.dump({owner_id: _sheet_of_one(row) for owner_id, row in rows.items()}), quickly=True)


def pack_rows(rows: Mapping[int, Sequence[Row]]) -> bytes:
    """Return a block with the rows of many cycles. `rows`: by autoscaler's id, in order of time."""
    return pack(_BLOCK.dump({owner_id: _sheet(of_one) for owner_id, of_one in rows.items()}))


def rows_of(owner_id: int, block: bytes) -> list[Row]:
    """Return the rows that a block has of an autoscaler, in order; empty: none.

    Raises StateError for a damaged block; a damaged value raises ValueError or LookupError.
    """
    found = _RAW_BLOCK.load(unpack(block)).get(owner_id)
    return [] if found is None else _rows(found)


def rows_by_id(block: bytes, only: Container[int] | None = None) -> Iterator[tuple[int, list[Row] | StateError]]:
    """Yield the id and the rows of each autoscaler in a block; a StateError instead of rows that are damaged.

    `only`: the ids to yield; None: all. Raises StateError if the block itself is damaged.
    """
    for owner_id, raw in _RAW_BLOCK.load(unpack(block)).items():
        if only is not None and owner_id not in only:
            continue
        try:
            yield owner_id, _rows(raw)
        except StateError as error:
            yield owner_id, error
        except (ValueError, LookupError) as error:
            yield owner_id, StateError(f"recorded cycles cannot be read: {error!r}; restore a backup of the state")


def _sheet_of_one(row: Row) -> _Sheet:
    values = [[value] for value in row.columns[:-1]]
    values[METRICS].append(row.columns[-1])
    return _Sheet([row.number], [row.at], [row.spec], [row.since], _PLACES_OF_ONE, values)


def _sheet(rows: Sequence[Row]) -> _Sheet:
    values: list[dict[bytes, int]] = [{} for _ in range(COLUMNS - 1)]
    places = [
        [known.setdefault(row.columns[index], len(known)) for row in rows]
        for index, known in enumerate((*values, values[METRICS]))
    ]
    return _Sheet(
        differences([row.number for row in rows]),
        differences([row.at for row in rows]),
        [row.spec for row in rows],
        [row.since for row in rows],
        [differences(of_column) for of_column in places],
        [list(known) for known in values],
    )


def _rows(raw: msgspec.Raw) -> list[Row]:
    sheet = _SHEET.load(bytes(raw))
    if len(sheet.places) != COLUMNS:
        raise StateError("a recorded cycle has columns of another version; restore a backup of the state")
    columns = [
        [known[place] for place in running_sums(places)]
        for places, known in zip(sheet.places, (*sheet.values, sheet.values[METRICS]), strict=True)
    ]
    numbers, times = running_sums(sheet.numbers), running_sums(sheet.times)
    heads = zip(numbers, times, sheet.specs, sheet.since, zip(*columns, strict=True), strict=True)
    return [Row(*head) for head in heads]
