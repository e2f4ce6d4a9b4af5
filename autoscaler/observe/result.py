"""The result of an instant query, before interpretation.

Source: prometheus.io/docs/prometheus/latest/querying/api, "Instant queries" and "Expression query result formats".
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from heapq import nsmallest
from typing import Final

import msgspec

from autoscaler.errors import MetricError
from autoscaler.quantity import MAX_MILLI, Milli
from autoscaler.text import plain

_MAX_LABELS: Final = 16
"""Most labels of a sample shown."""
_MAX_LABEL: Final = 64
"""Longest label name or value shown, in bytes."""
_MAX_TEXT: Final = 256
"""Longest sample shown, in bytes."""


class ResultType(StrEnum):
    """`resultType` of the HTTP API."""

    VECTOR = "vector"
    SCALAR = "scalar"
    STRING = "string"
    MATRIX = "matrix"


class Point(msgspec.Struct, frozen=True, gc=False):
    """One sample of a vector, or the scalar. It has no reference cycles, so it needs no garbage collection."""

    labels: Mapping[str, str]
    value: float | None
    """None for a native histogram."""

    def __str__(self) -> str:
        """Format the first labels. The server controls their number and length."""
        shown = nsmallest(_MAX_LABELS, self.labels.items())
        labels = ", ".join(f'{plain(name, _MAX_LABEL)}="{plain(value, _MAX_LABEL)}"' for name, value in shown)
        return "{" + plain(labels, _MAX_TEXT) + "}"


@dataclass(frozen=True, slots=True)
class QueryResult:
    """A complete answer."""

    type: ResultType
    points: tuple[Point, ...]
    """Empty for strings and matrices."""


def milli(point: Point) -> Milli | None:
    """Return a point's value in thousandths, or None for NaN. Truncates toward zero as Kubernetes' metrics adapters do.

    Raises MetricError for a histogram, an infinity, a negative value, or a value that is too large.
    """
    value = point.value
    if value is not None and -1 < value * 1000 <= MAX_MILLI:  # a rate() of nothing may be -1e-15, which is 0
        return int(value * 1000)
    if value is None:
        raise MetricError(f"{point} is a native histogram, not a number; use histogram_quantile() or histogram_count()")
    if math.isnan(value):
        return None
    if math.isinf(value):
        raise MetricError(f"{point} is {f'{value:+}'.title()}; guard the expression against a division by zero")
    if value < 0:
        raise MetricError(f"{point} is negative ({value:g}); write clamp_min(…, 0) if that is expected")
    raise MetricError(f"{point} is too large ({value:g}): its thousandths do not fit 63 bits; divide it in the query")
