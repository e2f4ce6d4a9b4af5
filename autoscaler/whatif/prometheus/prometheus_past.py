"""One autoscaler's past from Prometheus alone: what the daemon would have seen, had it asked at each of these times.

Readings are made by the code that reads live ones. What no series tells is inferred, and said to be (`findings`).
"""

import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property, partial
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

from autoscaler.errors import MetricError, PastError
from autoscaler.model import MAX_SIZE, Autoscaler, Instance, MetricSpec, MetricType, Query
from autoscaler.observe.answers import Answers
from autoscaler.observe.join import of_container
from autoscaler.observe.observation import observation
from autoscaler.observe.plan import Question, question, questions_of
from autoscaler.observe.ranges import Grid
from autoscaler.observe.result import Point, QueryResult
from autoscaler.observe.victims import rank
from autoscaler.quantity import Milli, format_duration
from autoscaler.whatif.past.past import Finding, FindingKind, Moment
from autoscaler.whatif.prometheus.asked import any_scrape, as_asked, own_size, presence, resets, scrapes, sources_of
from autoscaler.whatif.prometheus.fetching import Fetcher, Recording
from autoscaler.whatif.prometheus.inference import UNKNOWN, Durations, Lifetime, States, durations, lifetimes
from autoscaler.whatif.prometheus.rows import Row, Runs, complement, rows_of, union
from autoscaler.whatif.prometheus.traces import (
    UNSCRAPED,
    Outages,
    found,
    gap_findings,
    gaps_of,
    label_findings,
    reset_findings,
    scrape_findings,
)

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
_MOST_STEPS: Final = 3_000_000
"""More than a year of cycles 15 s apart: each takes memory, and all are asked for."""
_Merge: TypeAlias = Callable[[Iterable[float]], float | None]
"""Makes one value of several."""


@dataclass(frozen=True, slots=True)
class Given:
    """What is known of the target from elsewhere."""

    size: Query | None = None
    """Tells its size: the sum of its samples. None: the autoscaler's own metric where it is scraped, else inferred."""
    phase: timedelta = timedelta(0)
    """How long after each whole sync period since 1970 the daemon's cycles were; below one period."""
    requests: Mapping[str, Milli] = field(default_factory=dict)
    """What each instance has reserved of a resource, for a Utilization that has no `request`."""


def phase_of(at: datetime, period: timedelta) -> timedelta:
    """Of a daemon of which one cycle was at this time."""
    return (at - _EPOCH) % period // _MILLISECOND * _MILLISECOND


class PrometheusPast:
    """Implements `Past`. All is fetched before the first moment; then one block of each answer is in memory."""

    def __init__(
        self,
        scaler: Autoscaler,
        fetcher: Fetcher,
        since: datetime,
        until: datetime,
        prometheus: str | None = None,
        given: Given | None = None,
        also: Sequence[Autoscaler] = (),
    ) -> None:
        """`prometheus`: the source that is asked in place of the queries' own, as for long-term storage.

        `also`: other configurations of the same autoscaler, whose metrics are read as well. Raises PastError for a time
        that is too long, and for one that has not come yet; what of it has come is read.
        """
        self._fetcher, self._given = fetcher, given or Given()
        asks = _with_metrics_of(scaler, also)
        self._recorded = asks if also else None
        self._asked = as_asked(asks, prometheus)
        self._lead, self._span = _span(scaler, since, min(until, fetcher.now()), self._given.phase)
        names = sources_of(self._asked)
        self._source = prometheus or next(iter(names), "default")
        self._origin = f"prometheus {prometheus or ', '.join(names)}"
        self._outages: Sequence[Finding] = ()

    @property
    def name(self) -> str:
        """The autoscaler's."""
        return self._asked.name

    @property
    def origin(self) -> str:
        """The sources that are asked."""
        return self._origin

    @property
    def durations(self) -> Durations:
        """How long starts and ends of instances took. Raises PastError."""
        return durations(self._fetched.instances, self._fetched.sizes, self._span)

    @property
    def findings(self) -> Sequence[Finding]:
        """In order of time; those of what had no value once the moments were read. Raises PastError."""
        begin = self._span.at(self._lead)
        every = [
            replace(each, begin=max(each.begin, begin))
            for each in (*self._fetched.findings, *self._outages)
            if each.end >= begin
        ]
        return sorted(every, key=lambda each: (each.begin, each.end, each.kind))

    def fetch(self) -> None:
        """Fetch all of it, which the first use would do otherwise. Raises PastError."""
        _ = self._fetched

    def moments(self) -> Iterator[Moment]:
        """One for each step: where nothing had a sample, with errors for readings. Raises PastError."""
        fetched, span = self._fetched, self._span
        answers = {asked: recording.results() for asked, recording in fetched.recordings.items()}
        states = States(self._asked, fetched.instances, fetched.sizes, span, self._given.requests, fetched.silent)
        outages = Outages(self._asked, span)
        try:
            for index in range(span.count):
                results = {asked: next(each) for asked, each in answers.items()}
                state = states.at(index)
                if index < self._lead:
                    continue
                at, known = span.at(index), Answers(results)
                seen = observation(self._asked, state, known, at, partial(_ranked, self._asked, known, at))
                outages.note(index, seen)
                yield Moment(at, seen, scaler=self._recorded)
        finally:  # also where nobody wants to see the rest
            self._outages = outages.findings()

    @cached_property
    def _fetched(self) -> "_Fetched":
        """All that is asked. Raises PastError."""
        recordings = self._fetcher.fetch(questions_of(self._asked), self._span)
        rows = {asked: rows_of(recording, self._span.count) for asked, recording in recordings.items()}
        metric, own = _named_by(self._asked, rows)
        series = _Series((), (), (), (), ()) if metric is None else self._series(metric, own)
        known: Sequence[Lifetime] = ()
        if metric is not None:
            label = metric.query.instance_label
            known = lifetimes(own, series.selected, series.up, series.down, label, series.gaps)
        sizes, findings = self._sizes(metric)
        if metric is None and all(size == UNKNOWN for size in sizes):
            raise self._nothing(recordings)
        findings += gap_findings(series.gaps, series.jobs, self._span)
        findings += scrape_findings(known, series.gaps, self._span)
        for each in self._asked.metrics:
            findings += label_findings(_of(each, rows[question(each.query)]), each, self._span)
            names = frozenset(one.name for one in known) if _has_instances(each) else None
            begun = self._rows(list(resets(each.query)))
            findings += reset_findings(begun, each, names, self._span)
        silent = complement(union(run for each in rows.values() for row in each for run in row.runs), self._span.count)
        findings += self._told_durations(durations(known, sizes, self._span))
        return _Fetched(recordings, known, sizes, silent, findings)

    def _told_durations(self, took: Durations) -> Iterator[Finding]:
        if took.start_up is not None or took.termination is not None:
            start = "unknown" if took.start_up is None else format_duration(took.start_up)
            end = "unknown" if took.termination is None else format_duration(took.termination)
            text = f"start-up time of instances: {start}; termination time: {end} (medians)"
            yield found(self._span, self._lead, self._span.count, FindingKind.INFERRED, text)

    def _nothing(self, recordings: Mapping[Question, Recording]) -> PastError:
        """Why nothing can be said of the instances."""
        for recording in recordings.values():
            if (refused := _refusal(recording)) is not None:
                return PastError(f"autoscaler {self.name!r}: {refused}")
        return PastError(
            f"autoscaler {self.name!r}: nothing in Prometheus tells how many instances it had at that time: none of "
            "its metrics had a sample for each instance, and the autoscaler's own metric autoscaler_current_replicas "
            "is not there; give a query for its size (--size)"
        )

    def _series(self, metric: MetricSpec, own: Sequence[Row]) -> "_Series":
        """What tells when the metric's instances were there."""
        selected = self._rows(list(presence(metric.query)))
        jobs = sorted({row.labels["job"] for row in (*own, *selected) if row.labels.get("job")})
        if not jobs:
            return _Series(selected, (), (), (), ())
        asked = scrapes(self._source, jobs)
        recording = self._fetcher.fetch([asked], self._span)[asked]
        count = self._span.count
        up, down = rows_of(recording, count), rows_of(recording, count, lambda value: value == 0)
        if not up:  # it is not kept there, as where only recorded series are
            return _Series(selected, (), (), (), jobs)
        scraped = self._rows([any_scrape(self._source, jobs, UNSCRAPED)])
        return _Series(selected, up, down, gaps_of(scraped, self._span), jobs)

    def _sizes(self, metric: MetricSpec | None) -> "tuple[array[int], list[Finding]]":
        """The size at each step, or UNKNOWN; and what is inferred."""
        span, size = self._span, self._given.size
        if size is not None:
            asked = question(replace(size, prometheus=self._source))
            told = self._values(asked, span, sum)
            if (refused := _refusal(self._fetcher.fetch([asked], span)[asked])) is not None:
                raise PastError(f"the query for the size of autoscaler {self.name!r}: {refused}")
            source = f"the query {size.expr!r}"
        else:  # what the cycle at a time read is scraped after it, and replaced by the next cycle
            later = self._values(own_size(self._asked, self._source), replace(span, count=span.count + 1))
            told = [after if after is not None else before for before, after in pairwise(later)]
            source = "the autoscaler's own metric autoscaler_current_replicas"
        sizes = array("l", [UNKNOWN if each is None else _as_size(each) for each in told])
        findings = []
        how = "no metric names them" if metric is None else f"from the series of metric {metric.name!r}"
        is_told = any(each != UNKNOWN for each in sizes)
        text = f"instances: {how}; size: {f'from {source}' if is_told else 'the number of instances'}"
        findings.append(found(span, self._lead, span.count, FindingKind.INFERRED, text))
        if is_told:
            untold = union((index, index + 1) for index, each in enumerate(sizes) if each == UNKNOWN)
            findings += [
                found(span, *run, FindingKind.INFERRED, f"size: the number of instances, for {source} had no sample")
                for run in untold
            ]
        return sizes, findings

    def _rows(self, asked: Sequence[Question]) -> Sequence[Row]:
        """Of all the answers to some questions; none to one that is refused."""
        recordings = self._fetcher.fetch(asked, self._span)
        return [row for each in recordings.values() for row in rows_of(each, self._span.count)]

    def _values(self, asked: Question, span: Grid, merged: _Merge | None = None) -> Sequence[float | None]:
        """One value at each step of a span; None where there is none, or where there are several that differ."""
        recording = self._fetcher.fetch([asked], span)[asked]
        return [_value(result, merged or _same) for result in recording.results()]


class _Series(NamedTuple):
    """What tells when instances were there."""

    selected: Sequence[Row]
    up: Sequence[Row]
    down: Sequence[Row]
    gaps: Runs
    jobs: Sequence[str]


class _Fetched(NamedTuple):
    """All that was asked, and what it came to."""

    recordings: Mapping[Question, Recording]
    instances: Sequence[Lifetime]
    sizes: "array[int]"
    silent: Runs
    """The steps at which no metric had a sample."""
    findings: Sequence[Finding]


def _span(scaler: Autoscaler, since: datetime, until: datetime, phase: timedelta) -> tuple[int, Grid]:
    """The times that are asked for, and how many of them come before `since`.

    These tell what has been there for long: a start within them is a start that was seen. Raises PastError.
    """
    step, options = scaler.sync_period, scaler.options
    lead = -(-(options.cpu_initialization_period + options.initial_readiness_delay) // step)
    first = -(-(since - _EPOCH - phase) // step)
    last = (until - _EPOCH - phase) // step
    if until < since:
        raise PastError(f"autoscaler {scaler.name!r}: the time asked for has not come yet; ask for another one")
    if last - first > _MOST_STEPS:
        raise PastError(
            f"autoscaler {scaler.name!r}: the time asked for has {last - first:,} cycles of {format_duration(step)}, "
            f"and at most {_MOST_STEPS:,} are asked of Prometheus; shorten it with --since"
        )
    return lead, Grid(step, first - lead, max(0, last - first + 1) + lead, phase)


def _with_metrics_of(scaler: Autoscaler, others: Sequence[Autoscaler]) -> Autoscaler:
    metrics = dict.fromkeys([*scaler.metrics, *[metric for each in others for metric in each.metrics]])
    return replace(scaler, metrics=tuple(metrics))


def _named_by(scaler: Autoscaler, rows: Mapping[Question, Sequence[Row]]) -> tuple[MetricSpec | None, Sequence[Row]]:
    """The first metric that had a sample for each instance, and its series."""
    for metric in scaler.metrics:
        if _has_instances(metric) and (own := _of(metric, rows[question(metric.query)])):
            return metric, own
    return None, ()


def _refusal(recording: Recording) -> MetricError | None:
    """The first there is."""
    return next((answer for _, _, answer in recording.answers() if isinstance(answer, MetricError)), None)


def _has_instances(metric: MetricSpec) -> bool:
    return metric.type not in (MetricType.OBJECT, MetricType.EXTERNAL)


def _of(metric: MetricSpec, rows: Sequence[Row]) -> Sequence[Row]:
    """Those of its series that are this metric's."""
    mine = [row for row in rows if all(row.labels.get(name) == value for name, value in metric.query.match)]
    if metric.container is None:
        return mine
    return [row for row in mine if of_container([Point(row.labels, None)], metric.container, metric.container_label)]


def _ranked(scaler: Autoscaler, answers: Answers, at: datetime, instances: Sequence[Instance]) -> tuple[str, ...]:
    if scaler.victims is None:
        return ()
    try:
        return rank(scaler.victims, instances, answers, at)
    except MetricError:  # as live: the back end then chooses
        return ()


def _value(result: QueryResult | MetricError, merged: _Merge) -> float | None:
    if isinstance(result, MetricError) or not result.points:
        return None
    value = merged([math.nan if point.value is None else point.value for point in result.points])
    return value if value is not None and math.isfinite(value) else None


def _same(values: Iterable[float]) -> float | None:
    """The one value that all have."""
    different = set(values)
    return different.pop() if len(different) == 1 else None


def _as_size(value: float) -> int:
    """Of something that is counted, or UNKNOWN."""
    return round(value) if 0 <= value <= MAX_SIZE else UNKNOWN
