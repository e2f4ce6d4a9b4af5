"""Families of series that are made of present values at each scrape."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

Values: TypeAlias = float | Mapping[Any, float]
"""The value of the only series, or the values by label (a text) or labels (a tuple of them)."""
_Family = TypeVar("_Family", CounterMetricFamily, GaugeMetricFamily)


def gauge(name: str, text: str, values: Values, *labels: str) -> Metric:
    """Return a gauge without the prefix in its `name`."""
    return _filled(GaugeMetricFamily(f"autoscaler_{name}", text, labels=labels), values)


def counter(name: str, text: str, values: Values, *labels: str) -> Metric:
    """Return a counter without the prefix and `_total` in its `name`."""
    return _filled(CounterMetricFamily(f"autoscaler_{name}", text, labels=labels), values)


def show(registry: CollectorRegistry) -> Callable[[Callable[[], Iterable[Metric]]], None]:
    """Return a decorator of the function that makes the families at each scrape, which registers it."""
    return lambda collect: registry.register(_Collected(collect))


class _Collected(Collector):
    """It describes no series, so that registration does not collect."""

    def __init__(self, collect: Callable[[], Iterable[Metric]]) -> None:
        self._collect = collect

    def describe(self) -> Sequence[Metric]:
        return ()

    def collect(self) -> Iterable[Metric]:
        return self._collect()


def _filled(family: _Family, values: Values) -> _Family:
    if isinstance(values, Mapping):
        for labels, value in values.items():
            family.add_metric((labels,) if isinstance(labels, str) else labels, value)
    else:
        family.add_metric((), values)
    return family
