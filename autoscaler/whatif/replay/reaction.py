"""What a metric tells of the load, before its load is taken as conserved: queues and latencies are none.

A conserved load comes from outside: as many requests, spread over more or fewer instances.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from math import sqrt
from typing import Final, NamedTuple

from autoscaler.model import Autoscaler, MetricSpec, MetricType, TargetState, TargetType, ValueReading
from autoscaler.quantity import format_decimal, sum_of
from autoscaler.whatif.past.past import Finding, FindingKind, Moment
from autoscaler.whatif.replay.demand import is_at_maximum
from autoscaler.whatif.replay.fitting import Fitting

_FEWEST: Final = 30
"""Cycles from one to the next, with different sizes among them: fewer tell nothing."""
_QUEUE: Final = -0.3
"""Correlation of a metric's growth with the ready replicas: as low as this, they work it off."""
_NO_REACTION: Final = 0.1
_FARTHEST: Final = timedelta(minutes=5)
"""From one cycle to the next: what is farther apart says nothing of how the metric grew."""
_LATENCIES: Final = (
    (re.compile(r"\bhistogram_quantile\s*\(|\{[^}]*\bquantile\s*="), "it is a quantile of a histogram or a summary"),
    (re.compile(r"\b(\w+)_sum\b.*/.*\b\1_count\b", re.DOTALL), "it is an average: a sum divided by its count"),
    (re.compile(r"latency|response_time", re.IGNORECASE), "its name says so"),
)
"""Patterns of an expression or a name that says how long something takes, and why."""


def latency(metric: MetricSpec) -> str | None:
    """Why a metric is taken for a latency; None: it is not."""
    return next((why for pattern, why in _LATENCIES if pattern.search(f"{metric.name} {metric.query.expr}")), None)


class _Sums:
    """Of a metric's growth in a minute and the ready replicas, over pairs of cycles."""

    def __init__(self) -> None:
        self.count = 0
        self._x = self._y = self._xx = self._yy = self._xy = 0.0

    def add(self, ready: float, growth: float) -> None:
        """One more pair."""
        self.count += 1
        self._x, self._y = self._x + ready, self._y + growth
        self._xx, self._yy, self._xy = self._xx + ready**2, self._yy + growth**2, self._xy + ready * growth

    def correlation(self) -> float | None:
        """None: either never changed."""
        spread = (self.count * self._xx - self._x**2) * (self.count * self._yy - self._y**2)
        return (self.count * self._xy - self._x * self._y) / sqrt(spread) if spread > 0 else None


class _Seen(NamedTuple):
    at: datetime
    value: int
    """In thousandths."""
    ready: int
    at_maximum: bool


class _Followed:
    """One metric on its way through the past."""

    def __init__(self, spec: MetricSpec) -> None:
        self._spec = spec
        self._before: _Seen | None = None
        self._begin: datetime | None = None
        self._below = _Sums()
        self._grown = 0
        self._minutes = 0.0
        """At the maximum."""

    def see(self, now: _Seen | None) -> None:
        """The next cycle; None: something is not known."""
        before, self._before = self._before, now
        if now is None:
            return
        self._begin = self._begin or now.at
        if before is None or not timedelta(0) < now.at - before.at <= _FARTHEST:
            return
        minutes = (now.at - before.at) / timedelta(minutes=1)
        if before.at_maximum:
            self._grown += now.value - before.value
            self._minutes += minutes
        self._below.add(before.ready, (now.value - before.value) / minutes)

    def finding(self) -> Finding | None:
        """What the past shows of it; None: nothing certain."""
        correlation = self._below.correlation()
        if correlation is None or self._below.count < _FEWEST or self._begin is None or self._before is None:
            return None
        name, figure = f"{self._spec.type} metric {self._spec.name}", f"correlation {correlation:.2f}"
        if correlation <= _QUEUE and self._minutes and self._grown > 0:
            rate = format_decimal(round(self._grown / self._minutes))
            message = (
                f"{name} looks like a queue: it grew by {rate} a minute while the target was at its maximum, and grows "
                f"less the more replicas are ready ({figure}). Its load is not conserved; write kind: backlog"
            )
        elif abs(correlation) <= _NO_REACTION:
            message = f"{name} does not react to the size ({figure}); it is taken for a load from outside"
        else:
            return None
        return Finding(self._begin, self._before.at, FindingKind.LOAD, message)


class Reactions:
    """Looks at each moment on its way for what the metrics of one configuration tell of the load."""

    def __init__(self, scaler: Autoscaler) -> None:
        self._scaler: Final = scaler
        self._fitting: Final = Fitting(scaler)
        self._followed: Final = {
            place: _Followed(spec)
            for place, spec in enumerate(scaler.metrics)
            if spec.kind is None
            and spec.type is MetricType.EXTERNAL
            and spec.target.type is TargetType.AVERAGE_VALUE
            and latency(spec) is None
        }
        self._last: datetime | None = None

    def see(self, moment: Moment) -> None:
        """One more moment."""
        observed, self._last = moment.observation, moment.at
        state = observed.target
        if self._followed and moment.scaler is not None:
            observed = self._fitting.fit(moment.scaler, observed)
        for place, followed in self._followed.items():
            reading = observed.readings[place]
            ready = state.ready if isinstance(state, TargetState) else None
            if ready is None or not isinstance(state, TargetState) or not isinstance(reading, ValueReading):
                followed.see(None)
            else:
                at_maximum = is_at_maximum(self._scaler, moment, state)
                followed.see(_Seen(moment.at, sum_of(reading.values), ready, at_maximum))

    @property
    def findings(self) -> Sequence[Finding]:
        """What has shown."""
        return list(self._findings())

    def _findings(self) -> Iterator[Finding]:
        yield from (found for each in self._followed.values() if (found := each.finding()) is not None)
        for spec in self._scaler.metrics:
            why = latency(spec)
            if why is not None and self._last is not None:
                message = (
                    f"{spec.type} metric {spec.name} is a latency ({why}): its value times the ready replicas is no "
                    "load, so what it would have been at another size is a guess"
                )
                yield Finding(self._last, self._last, FindingKind.LOAD, message)
