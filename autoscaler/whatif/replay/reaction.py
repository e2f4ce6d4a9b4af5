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
_FARTHEST: Final = timedelta(minutes=5)
"""The longest time between two cycles from which the metric's growth is computed."""
_LATENCIES: Final = (
    (re.compile(r"\bhistogram_quantile\s*\(|\{[^}]*\bquantile\s*="), "it is a quantile of a histogram or a summary"),
    (re.compile(r"\b(\w+)_sum\b.*/.*\b\1_count\b", re.DOTALL), "it is an average: a sum divided by its count"),
    (re.compile(r"latency|response_time", re.IGNORECASE), "its name says so"),
)
"""Patterns of a name or an expression of a latency, each with the reason to give."""
_QUEUES: Final = re.compile(r"queue|backlog|waiting|pending|(?:\b|_)lag(?:\b|_)", re.IGNORECASE)
"""An expression of a queue. A metric's own name is only shown, and may say anything."""
_TOTALS: Final = (MetricType.EXTERNAL, MetricType.OBJECT)


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

    def __init__(self) -> None:
        self._before: _Value | None = None
        self._ready, self._growth = array("d"), array("d")
        """Of each pair: the ready replicas, and the growth in a minute."""
        self._grown = 0
        """At the maximum, in thousandths."""
        self._minutes = 0.0
        """At the maximum."""

    def add(self, now: _Value | None) -> None:
        """Take the next cycle; None if something is unknown."""
        before, self._before = self._before, now
        if now is None or before is None or not timedelta(0) < now.at - before.at <= _FARTHEST:
            return
        minutes, grown = (now.at - before.at) / timedelta(minutes=1), now.value - before.value
        if before.at_maximum:
            self._grown += grown
            self._minutes += minutes
        self._ready.append(before.ready)
        self._growth.append(grown / minutes)

    def why_queue(self) -> str | None:
        """Why the metric is taken for a queue; None if nothing certain shows it."""
        if len(self._ready) < _FEWEST or not self._minutes or self._grown <= 0:
            return None
        try:
            found = correlation(self._ready, self._growth)
        except StatisticsError:  # one of them never changed
            return None
        if found > _QUEUE:
            return None
        rate = format_decimal(round(self._grown / self._minutes))
        return (
            f"it grew by {rate} a minute while the target was at its maximum, and grows less the more replicas are "
            f"ready (correlation {found:.2f})"
        )


class Reactions:
    """Takes each cycle in order, and finds the metrics of one configuration that are not conserved."""

    def __init__(self, scaler: Autoscaler) -> None:
        self._scaler: Final = scaler
        self._fitting: Final = Fitting(scaler)
        self._growths: Final = {
            place: _Growth()
            for place, spec in enumerate(scaler.metrics)
            if spec.type is MetricType.EXTERNAL and spec.target.type is TargetType.AVERAGE_VALUE
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
        """A finding for each metric that is no load. With one, the demand is unknown."""
        for place, spec in enumerate(self._scaler.metrics):
            message = self._message(place, spec)
            if message is not None and self._last is not None:
                yield Finding(self._last, self._last, FindingKind.LOAD, f"{spec.type} metric {spec.name} {message}")

    def _message(self, place: int, spec: MetricSpec) -> str | None:
        if (why := latency(spec)) is not None:
            return f"is a latency ({why}): what it would have been at another size is unknown"
        why = self._growths[place].why_queue() if place in self._growths else None
        if why is None and spec.type in _TOTALS and _QUEUES.search(spec.query.expr):
            why = "its expression says so"
        if why is None:
            return None
        return f"is a queue ({why}): how fast replicas work it off is unknown, and so is the demand"
