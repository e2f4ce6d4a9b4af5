"""What is missing in a past: times without a cycle, and outages of the target and of metrics."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from autoscaler.errors import MetricError, TargetError
from autoscaler.foresee.shadow_comparison import GAP
from autoscaler.whatif.past.past import Finding, FindingKind, Moment, span


class Watch:
    """Looks at each moment on its way. None of what it finds is ever read as zero."""

    def __init__(self, since: datetime, period: timedelta) -> None:
        """`since`: from when on there should be cycles; `period`: how far apart, where a moment does not say it."""
        self._since: Final = since
        self._period = period
        self.last: datetime | None = None
        """When the last moment was; None: there was none."""
        self._outages: dict[str, _Outage] = {}
        self._findings: list[Finding] = []

    @property
    def findings(self) -> Sequence[Finding]:
        """In order of time."""
        return sorted(self._findings, key=lambda each: each.begin)

    def see(self, moment: Moment) -> None:
        """One more moment, after those before it."""
        period = self._period if moment.scaler is None else max(self._period, moment.scaler.sync_period)
        before = self._since if self.last is None else self.last
        self._tell_gap(before, moment.at, period)
        if moment.scaler is not None:
            self._period = moment.scaler.sync_period
        self.last = moment.at
        failing = dict(_failing(moment))
        for what in [each for each in self._outages if each not in failing]:
            self._end(what, moment.at)
        for what, why in failing.items():
            self._outages.setdefault(what, _Outage(moment.at, why)).cycles += 1

    def end(self, until: datetime) -> None:
        """There are no more moments up to this time."""
        before = self._since if self.last is None else self.last
        self._tell_gap(before, until, self._period)
        for what in list(self._outages):
            self._end(what, before)

    def _tell_gap(self, before: datetime, after: datetime, period: timedelta) -> None:
        if after - before > GAP * period:
            message = f"no cycle is known for {span(after - before)}"
            self._findings.append(Finding(before, after, FindingKind.GAP, message))

    def _end(self, what: str, at: datetime) -> None:
        outage = self._outages.pop(what)
        cycles = "1 cycle" if outage.cycles == 1 else f"{outage.cycles:,} cycles"
        message = f"{what} in {cycles}: {outage.why}"
        self._findings.append(Finding(outage.begin, at, FindingKind.OUTAGE, message))


class _Outage:
    """One that goes on."""

    __slots__ = ("begin", "cycles", "why")

    def __init__(self, begin: datetime, why: str) -> None:
        self.begin, self.why, self.cycles = begin, why, 0


def _failing(moment: Moment) -> "list[tuple[str, str]]":
    """What had no value, and why."""
    observed = moment.observation
    if isinstance(observed.target, TargetError):
        return [("the target could not be read", str(observed.target))]
    names = _names(moment)
    return [
        (f"{names[place]} had no value", str(reading))
        for place, reading in enumerate(observed.readings)
        if isinstance(reading, MetricError)
    ]


def _names(moment: Moment) -> list[str]:
    if moment.scaler is None:
        return [f"metric {number}" for number in range(1, len(moment.observation.readings) + 1)]
    return [f"{spec.type} metric {spec.name}" for spec in moment.scaler.metrics]
