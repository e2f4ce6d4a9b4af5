"""What an instant query came back with, before anybody decides what it means.

Source: prometheus.io/docs/prometheus/latest/querying/api, "Instant queries" and "Expression query result formats".
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from autoscaler.errors import MetricError, QuantityError
from autoscaler.quantity import Milli, milli_from_float

_INFO: Final = "PromQL info:"
"""Prometheus' remarks on an expression that is answered in full all the same."""


class ResultType(StrEnum):
    """`resultType` of the HTTP API."""

    VECTOR = "vector"
    SCALAR = "scalar"
    STRING = "string"
    MATRIX = "matrix"


@dataclass(frozen=True, slots=True)
class Point:
    """One sample of a vector, or the scalar."""

    labels: Mapping[str, str]
    value: float | None
    """None: a native histogram."""

    def __str__(self) -> str:
        labels = ", ".join(f'{name}="{value}"' for name, value in sorted(self.labels.items()))
        return "{" + labels + "}"


@dataclass(frozen=True, slots=True)
class QueryResult:
    """A complete answer."""

    type: ResultType
    points: tuple[Point, ...]
    """Empty for strings and matrices, which nothing can be read from."""
    warnings: tuple[str, ...] = ()

    @property
    def partial(self) -> tuple[str, ...]:
        """The warnings that say that data is missing or doubtful."""
        return tuple(line for line in self.warnings if not line.startswith(_INFO))


def parse_result(data: Mapping[str, Any], warnings: list[str]) -> QueryResult:
    """The `data` of a successful answer. Raises KeyError, TypeError or ValueError when it has another form."""
    kind = ResultType(data["resultType"])
    points: tuple[Point, ...] = ()
    if kind is ResultType.VECTOR:
        points = tuple(Point(dict(each["metric"]), _number(each)) for each in data["result"])
    elif kind is ResultType.SCALAR:
        points = (Point({}, float(data["result"][1])),)
    return QueryResult(kind, points, tuple(map(str, warnings)))


def _number(sample: Mapping[str, Any]) -> float | None:
    return None if "histogram" in sample else float(sample["value"][1])


def milli(point: Point) -> Milli | None:
    """A point's value in thousandths, truncated toward zero; None for NaN.

    Raises MetricError for what cannot be scaled on: a histogram, an infinity, a negative value, one too large.
    """
    value = point.value
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
