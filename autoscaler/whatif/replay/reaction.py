"""Which metrics measure a load that is conserved: requests from outside do, queues and latencies do not."""

import re
from array import array
from collections.abc import Iterator
from datetime import datetime, timedelta
from statistics import StatisticsError, correlation
from typing import Final, NamedTuple

from autoscaler.model import Autoscaler, MetricSpec, MetricType, TargetState, TargetType, ValueReading
from autoscaler.quantity import format_decimal, sum_of
from autoscaler.whatif.past.past import Cycle, Finding, FindingKind
from autoscaler.whatif.replay.demand import is_at_maximum
from autoscaler.whatif.replay.fitting import Fitting

_FEWEST: Final = 30
"""Pairs of successive cycles that a correlation needs."""
_QUEUE: Final = -0.3
"""A correlation as low as this: the replicas work the metric off."""
_NO_REACTION: Final = 0.1
"""A correlation as near to 0 as this: the metric does not react to the size."""
_FARTHEST: Final = timedelta(minutes=5)
"""The longest time between two cycles from which the metric's growth is computed."""
_LATENCIES: Final = (
    (re.compile(r"\bhistogram_quantile\s*\(|\{[^}]*\bquantile\s*="), "it is a quantile of a histogram or a summary"),
    (re.compile(r"\b(\w+)_sum\b.*/.*\b\1_count\b", re.DOTALL), "it is an average: a sum divided by its count"),
    (re.compile(r"latency|response_time", re.IGNORECASE), "its name says so"),
)
"""Patterns of a name or an expression of a latency, each with the reason to give."""


def latency(metric: MetricSpec) -> str | None:
    """The reason why a metric is taken for a latency; None if it is not."""
    return next((why for pattern, why in _LATENCIES if pattern.search(f"{metric.name} {metric.query.expr}")), None)


class _Value(NamedTuple):
    """A metric in one cycle."""

    at: datetime
    value: int
    """In thousandths."""
    ready: int
    at_maximum: bool


class _Growth:
    """How one metric grows with how many ready replicas, over pairs of successive cycles."""

    def __init__(self, spec: MetricSpec) -> None:
        self._spec = spec
        self._before: _Value | None = None
        self._begin: datetime | None = None
        self._ready, self._growth = array("d"), array("d")
        """Of each pair: the ready replicas, and the growth in a minute."""
        self._grown = 0
        """At the maximum, in thousandths."""
        self._minutes = 0.0
        """At the maximum."""

    def add(self, now: _Value | None) -> None:
        """Take the next cycle; None if something is unknown."""
        before, self._before = self._before, now
        if now is None:
            return
        self._begin = self._begin or now.at
        if before is None or not timedelta(0) < now.at - before.at <= _FARTHEST:
            return
        minutes, grown = (now.at - before.at) / timedelta(minutes=1), now.value - before.value
        if before.at_maximum:
            self._grown += grown
            self._minutes += minutes
        self._ready.append(before.ready)
        self._growth.append(grown / minutes)

    def _correlation(self) -> float | None:
        """None if there are too few pairs, or either value never changed."""
        if len(self._ready) < _FEWEST:
            return None
        try:
            return correlation(self._ready, self._growth)
        except StatisticsError:
            return None

    def finding(self) -> Finding | None:
        """What the past shows of the metric; None if it shows nothing certain."""
        reaction = self._correlation()
        if reaction is None or self._begin is None or self._before is None:
            return None
        name, figure = f"{self._spec.type} metric {self._spec.name}", f"correlation {reaction:.2f}"
        if reaction <= _QUEUE and self._minutes and self._grown > 0:
            rate = format_decimal(round(self._grown / self._minutes))
            message = (
                f"{name} looks like a queue: it grew by {rate} a minute while the target was at its maximum, and grows "
                f"less the more replicas are ready ({figure}). Its load is not conserved; write kind: backlog"
            )
        elif abs(reaction) <= _NO_REACTION:
            message = f"{name} does not react to the size ({figure}); it is taken for a load from outside"
        else:
            return None
        return Finding(self._begin, self._before.at, FindingKind.LOAD, message)


class Reactions:
    """Takes each cycle in order, and finds the metrics of one configuration that are not conserved."""

    def __init__(self, scaler: Autoscaler) -> None:
        self._scaler: Final = scaler
        self._fitting: Final = Fitting(scaler)
        self._growths: Final = {
            place: _Growth(spec)
            for place, spec in enumerate(scaler.metrics)
            if spec.kind is None
            and spec.type is MetricType.EXTERNAL
            and spec.target.type is TargetType.AVERAGE_VALUE
            and latency(spec) is None
        }
        self._last: datetime | None = None

    def add(self, cycle: Cycle) -> None:
        """Take the next cycle."""
        self._last = cycle.at
        if not self._growths:
            return
        observed = self._fitting.fit(cycle)
        state = observed.target
        for place, growth in self._growths.items():
            reading = observed.readings[place]
            if not isinstance(state, TargetState) or state.ready is None or not isinstance(reading, ValueReading):
                growth.add(None)
            else:
                at_maximum = is_at_maximum(cycle, state)
                growth.add(_Value(cycle.at, sum_of(reading.values), state.ready, at_maximum))

    def findings(self) -> Iterator[Finding]:
        """A finding for each metric of which something is known."""
        yield from (found for each in self._growths.values() if (found := each.finding()) is not None)
        for spec in self._scaler.metrics:
            why = latency(spec)
            if why is not None and self._last is not None:
                message = (
                    f"{spec.type} metric {spec.name} is a latency ({why}): its value times the ready replicas is no "
                    "load, so its value at another size is a guess"
                )
                yield Finding(self._last, self._last, FindingKind.LOAD, message)
