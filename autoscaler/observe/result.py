"""What an instant query came back with, before anybody decides what it means.

Source: prometheus.io/docs/prometheus/latest/querying/api, "Instant queries" and "Expression query result formats".
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from heapq import nsmallest
from typing import Final

import msgspec

from autoscaler.errors import MetricError, QuantityError
from autoscaler.quantity import Milli, milli_from_float
from autoscaler.text import plain

_MOST_LABELS: Final = 16
"""Of a sample that are shown."""
_LONGEST_LABEL: Final = 64
"""Bytes that are shown of a label's name, and of its value."""
_SURELY_FITS: Final = 9e15
"""Thousandths of less fit 63 bits."""
_LONGEST_TEXT: Final = 256
"""Bytes that are shown of a sample."""


class ResultType(StrEnum):
    """`resultType` of the HTTP API."""

    VECTOR = "vector"
    SCALAR = "scalar"
    STRING = "string"
    MATRIX = "matrix"


class Point(msgspec.Struct, frozen=True, gc=False):
    """One sample of a vector, or the scalar. Nothing in it can refer back to it, so it needs no garbage collector."""

    labels: Mapping[str, str]
    value: float | None
    """None: a native histogram."""

    def __str__(self) -> str:
        """Its labels, the first of many: a server chooses how many and how long they are."""
        shown = nsmallest(_MOST_LABELS, self.labels.items())
        labels = ", ".join(f'{plain(name, _LONGEST_LABEL)}="{plain(value, _LONGEST_LABEL)}"' for name, value in shown)
        return "{" + plain(labels, _LONGEST_TEXT) + "}"


@dataclass(frozen=True, slots=True)
class QueryResult:
    """A complete answer."""

    type: ResultType
    points: tuple[Point, ...]
    """Empty for strings and matrices, which nothing can be read from."""


def milli(point: Point) -> Milli | None:
    """A point's value in thousandths, truncated toward zero; None for NaN.

    Raises MetricError for what cannot be scaled on: a histogram, an infinity, a negative value, one too large.
    """
    value = point.value
    if value is not None and 0 <= value < _SURELY_FITS:
        return int(value * 1000)
    if value is None:
        raise MetricError(f"{point} is a native histogram, not a number; use histogram_quantile() or histogram_count()")
    if math.isnan(value):
        return None
    if math.isinf(value):
        sign = "+" if value > 0 else "-"
        raise MetricError(f"{point} is {sign}Inf; guard the expression against a division by zero")
    if value < 0:
        raise MetricError(f"{point} is negative ({value:g}); write clamp_min(…, 0) if that is expected")
    try:
        return milli_from_float(value)
    except QuantityError as error:
        raise MetricError(f"{point}: {error}") from None
