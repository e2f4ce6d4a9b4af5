"""What makes a part of a past in Prometheus less than it seems: gaps, resets, failed scrapes, other labels."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from typing import Final

from autoscaler.config.kept_labels import instance_labels
from autoscaler.errors import MetricError, TargetError
from autoscaler.model import Autoscaler, MetricSpec, Observation
from autoscaler.observe.join import first_label
from autoscaler.observe.ranges import Grid
from autoscaler.text import plain
from autoscaler.whatif.past.past import Finding, FindingKind
from autoscaler.whatif.prometheus.inference import Lifetime
from autoscaler.whatif.prometheus.rows import Row, Runs, complement, covers, union

UNSCRAPED: Final = timedelta(minutes=3)
"""Without any scrape, after which it counts as a gap: three times the longest interval that is common."""
_MOST: Final = 1_000
"""Findings of one kind: a counter that begins anew all the time says nothing new."""
_LOOKBACK: Final = timedelta(minutes=5)
"""For so long Prometheus answers with the last sample of a series that was not marked as ended."""
_MOST_NAMED: Final = 5
_LONGEST: Final = 100
"""Bytes of a label's value that are shown."""


def found(span: Grid, begin: int, end: int, kind: FindingKind, message: str) -> Finding:
    """What is so from one step up to, and without, another."""
    return Finding(span.at(begin), span.at(max(begin, min(end, span.count) - 1)), kind, message)


def gaps_of(scraped: Sequence[Row], span: Grid) -> Runs:
    """When nothing was scraped. `scraped`: has samples where something was, within `UNSCRAPED` before.

    For five minutes after a last scrape Prometheus answers with its samples, as if all were well.
    """
    since = max(0, UNSCRAPED // span.step - 1)
    missing = complement(union(run for row in scraped for run in row.runs), span.count)
    return union((max(0, begin - since) if begin else 0, end) for begin, end in missing)


def gap_findings(gaps: Runs, jobs: Sequence[str], span: Grid) -> Iterator[Finding]:
    """Those, in words."""
    for begin, end in gaps[:_MOST]:
        yield found(span, begin, end, FindingKind.GAP, f"nothing of {_listed('job', jobs)} was scraped")


def scrape_findings(known: Iterable[Lifetime], gaps: Runs, span: Grid) -> Iterator[Finding]:
    """Scrapes of instances that failed, and instances that were scraped and had no sample of the metric."""
    failed: dict[tuple[int, int], list[str]] = {}
    for each in known:
        for run in each.down:
            if not covers(gaps, run[0]):
                failed.setdefault(run, []).append(each.name)
    for (begin, end), names in sorted(failed.items())[:_MOST]:
        yield found(span, begin, end, FindingKind.OUTAGE, f"scrapes of {_listed('instance', names)} failed")


def reset_findings(
    rows: Iterable[Row], metric: MetricSpec, names: frozenset[str] | None, span: Grid
) -> Iterator[Finding]:
    """Counters of a metric that began anew. `names`: of the instances that count; None: any series does."""
    begun: dict[int, list[str]] = {}
    for row in rows:
        name = first_label(row.labels, instance_labels(metric.query.instance_label))[1]
        if names is None or name in names:
            for begin, _ in row.runs:
                if begin > 0:  # it may have been before the first step
                    begun.setdefault(begin, []).append(name)
    for begin, instances in sorted(begun.items())[:_MOST]:
        who = _listed("instance", [each for each in instances if each])
        yield Finding(
            span.at(begin - 1),
            span.at(begin),
            FindingKind.RESET,
            f"counters of metric {metric.name!r}{who and f' of {who}'} began anew",
        )


def label_findings(rows: Sequence[Row], metric: MetricSpec, span: Grid) -> Iterator[Finding]:
    """Series of a metric that went on under other labels."""
    names, lookback = instance_labels(metric.query.instance_label), _LOOKBACK // span.step
    by_name: dict[str, list[tuple[int, int, Mapping[str, str]]]] = {}
    for row in rows:
        for begin, end in row.runs:
            by_name.setdefault(first_label(row.labels, names)[1], []).append((begin, end, row.labels))
    count = 0
    for name, runs in sorted(by_name.items()):
        runs.sort(key=lambda run: run[:2])
        for (_, end, before), (begin, _, after) in pairwise(runs):
            is_next = end <= begin + lookback if name else end == begin
            if is_next and before != after and count < _MOST:
                count += 1
                whose = f" of instance {plain(name, _LONGEST)}" if name else ""
                yield found(
                    span,
                    begin,
                    begin + 1,
                    FindingKind.LABELS,
                    f"the series of metric {metric.name!r}{whose} goes on with other labels: {_changed(before, after)}",
                )


@dataclass(slots=True)
class _Outage:
    """One that goes on."""

    begin: int
    message: str


class Outages:
    """When the target or a metric had no value, told one step after another."""

    def __init__(self, scaler: Autoscaler, span: Grid) -> None:
        self._names = [f"metric {metric.name!r}: " for metric in scaler.metrics]
        self._span = span
        self._open: dict[int, _Outage] = {}
        self._closed: list[Finding] = []
        self._last = 0

    def note(self, index: int, seen: Observation) -> None:
        """What was seen at a step."""
        self._last = index
        self._note(-1, index, seen.target if isinstance(seen.target, TargetError) else None, "")
        for number, (name, reading) in enumerate(zip(self._names, seen.readings, strict=True)):
            self._note(number, index, reading if isinstance(reading, MetricError) else None, name)

    def findings(self) -> Sequence[Finding]:
        """All of them, those included that go on at the last step."""
        still = [self._finding(each, self._last + 1) for each in self._open.values()]
        return [*self._closed, *still]

    def _note(self, number: int, index: int, error: Exception | None, name: str) -> None:
        known = self._open.get(number)
        if error is None:
            if known is not None:
                self._closed.append(self._finding(known, index))
                del self._open[number]
        elif known is None:
            self._open[number] = _Outage(index, f"{name}{error}")

    def _finding(self, outage: _Outage, end: int) -> Finding:
        return found(self._span, outage.begin, end, FindingKind.OUTAGE, outage.message)


def _changed(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    labels = [name for name in sorted({*before, *after}) if before.get(name) != after.get(name)]
    return ", ".join(
        f'{name}="{plain(before.get(name, ""), _LONGEST)}" is now "{plain(after.get(name, ""), _LONGEST)}"'
        for name in labels[:_MOST_NAMED]
    )


def _listed(what: str, names: Sequence[str]) -> str:
    """`instances a, b and 3 more`."""
    if not names:
        return ""
    shown = ", ".join(plain(each, _LONGEST) for each in sorted(names)[:_MOST_NAMED])
    more = len(names) - _MOST_NAMED
    return f"{what}{'s' if len(names) > 1 else ''} {shown}{f' and {more} more' if more > 0 else ''}"
