"""Finds what is missing in a past: times without a cycle, and outages of the target and of metrics."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from autoscaler.errors import TargetError
from autoscaler.model import Failure
from autoscaler.text import count
from autoscaler.whatif.past.past import GAP, Cycle, Finding, FindingKind, span


class MissingData:
    """Takes each cycle in order, and collects gaps and outages."""

    def __init__(self, since: datetime) -> None:
        """`since`: when the past begins."""
        self._last = since
        """When the last cycle was; at first `since`."""
        self._period = timedelta(0)
        self._outages: dict[str, _Outage] = {}
        self._findings: list[Finding] = []

    @property
    def findings(self) -> Sequence[Finding]:
        """In order of time."""
        return sorted(self._findings, key=lambda each: each.begin)

    def add(self, cycle: Cycle) -> None:
        """Take the next cycle."""
        own = cycle.scaler.sync_period
        self._add_gap(cycle.at, max(self._period, own))
        self._period, self._last = own, cycle.at
        failing = dict(_failing(cycle))
        for what in [each for each in self._outages if each not in failing]:
            self._end(what, cycle.at)
        for what, why in failing.items():
            self._outages.setdefault(what, _Outage(cycle.at, why)).cycles += 1

    def end(self, until: datetime) -> None:
        """The past ends at `until`."""
        self._add_gap(until, self._period)
        for what in list(self._outages):
            self._end(what, self._last)

    def _add_gap(self, after: datetime, period: timedelta) -> None:
        if after - self._last > GAP * period:
            message = f"no cycle is known for {span(after - self._last)}"
            self._findings.append(Finding(self._last, after, FindingKind.GAP, message))

    def _end(self, what: str, at: datetime) -> None:
        outage = self._outages.pop(what)
        message = f"{what} in {count(outage.cycles, 'cycle')}: {outage.why}"
        self._findings.append(Finding(outage.begin, at, FindingKind.OUTAGE, message))


@dataclass(slots=True)
class _Outage:
    """An outage that has not ended."""

    begin: datetime
    why: str
    cycles: int = 0


def _failing(cycle: Cycle) -> Iterator[tuple[str, str]]:
    """What has no value, and why."""
    observed = cycle.observation
    if isinstance(observed.target, TargetError):
        yield "the target could not be read", str(observed.target)
        return
    for place, reading in enumerate(observed.readings):
        if isinstance(reading, Failure):
            spec = cycle.scaler.metrics[place]
            yield f"{spec.type} metric {spec.name} had no value", str(reading)
