"""One autoscaler's past from Prometheus alone: what the daemon would have seen, had it asked at each of these times.

Readings are made by the code that reads live ones.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property, partial
from itertools import pairwise
from typing import Final

from autoscaler.errors import MetricError, PastError
from autoscaler.model import MAX_SIZE, Autoscaler, Instance, Query
from autoscaler.observe.answers import Answers
from autoscaler.observe.observation import observation
from autoscaler.observe.plan import Question, question, questions_of
from autoscaler.observe.ranges import Grid
from autoscaler.observe.result import QueryResult
from autoscaler.observe.victims import rank
from autoscaler.quantity import Milli, format_duration
from autoscaler.whatif.past.past import Finding, FindingKind, Moment
from autoscaler.whatif.past.watch import Watch
from autoscaler.whatif.prometheus.asked import as_asked, own_size, sources_of
from autoscaler.whatif.prometheus.fetching import Fetcher, Recording
from autoscaler.whatif.prometheus.states import States, naming_metric

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
_MOST_STEPS: Final = 3_000_000
"""More than a year of cycles 15 s apart: each takes memory, and all are asked for."""


@dataclass(frozen=True, slots=True)
class Given:
    """What is known of the target from elsewhere."""

    size: Query | None = None
    """Tells its size: the sum of its samples. None: the autoscaler's own metric does, where it is scraped."""
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
    def findings(self) -> Sequence[Finding]:
        """In order of time; those of what had no value once the moments were read."""
        return [self._told_by(), *self._outages]

    def fetch(self) -> None:
        """Fetch all of it, which the first use would do otherwise. Raises PastError."""
        _ = self._recordings, self._sizes

    def moments(self) -> Iterator[Moment]:
        """One for each step: where nothing had a sample, with errors for readings. Raises PastError."""
        answers = {asked: recording.results() for asked, recording in self._recordings.items()}
        states, sizes, span = States(self._asked, self._given.requests), self._sizes, self._span
        watch = Watch(span.at(self._lead), span.step)
        try:
            for index in range(span.count):
                at, known = span.at(index), Answers({asked: next(each) for asked, each in answers.items()})
                state = states.at(at, sizes[index], known)
                if index < self._lead:
                    continue
                seen = observation(self._asked, state, known, at, partial(_ranked, self._asked, known, at))
                watch.see(Moment(at, seen, scaler=self._asked))
                yield Moment(at, seen, scaler=self._recorded)
        finally:  # also if the rest is not read
            watch.end(watch.last or span.at(self._lead))
            self._outages = watch.findings

    @cached_property
    def _recordings(self) -> Mapping[Question, Recording]:
        """What was asked for the metrics. Raises PastError."""
        return self._fetcher.fetch(questions_of(self._asked), self._span)

    @cached_property
    def _sizes(self) -> Sequence[int | None]:
        """The size at each step; None: not known. Raises PastError where it is never known."""
        span, size = self._span, self._given.size
        if size is None:  # what the cycle at a time read is scraped after it, and replaced by the next cycle
            asked = own_size(self._asked, self._source)
            later = [_sum(each) for each in self._answered(asked, replace(span, count=span.count + 1)).results()]
            sizes = [before if after is None else after for before, after in pairwise(later)]
        else:
            recording = self._answered(question(replace(size, prometheus=self._source)), span)
            if (refused := recording.refusal()) is not None:
                raise PastError(f"the query for the size of autoscaler {self.name!r}: {refused}")
            sizes = [_sum(each) for each in recording.results()]
        if all(each is None for each in sizes):
            raise self._nothing()
        return sizes

    def _answered(self, asked: Question, span: Grid) -> Recording:
        return self._fetcher.fetch([asked], span)[asked]

    def _nothing(self) -> PastError:
        told = "autoscaler_current_replicas has" if self._given.size is None else "the query for it has"
        return PastError(
            f"autoscaler {self.name!r}: nothing in Prometheus tells which size its target had: {told} no sample of "
            "that time; give a query with --size"
        )

    def _told_by(self) -> Finding:
        metric, size = naming_metric(self._asked), self._given.size
        names = "no metric names them" if metric is None else f"those with a sample of metric {metric.name!r}"
        told = "the metric autoscaler_current_replicas" if size is None else f"the query {size.expr!r}"
        begin, end = self._span.at(self._lead), self._span.at(self._span.count - 1)
        return Finding(begin, end, FindingKind.INFERRED, f"instances: {names}; size: from {told}")


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


def _ranked(scaler: Autoscaler, answers: Answers, at: datetime, instances: Sequence[Instance]) -> tuple[str, ...]:
    if scaler.victims is None:
        return ()
    try:
        return rank(scaler.victims, instances, answers, at)
    except MetricError:  # as live: the back end then chooses
        return ()


def _sum(result: QueryResult | MetricError) -> int | None:
    """The size that the samples of one time come to; None: they tell none."""
    if isinstance(result, MetricError) or not result.points:
        return None
    value = sum(math.nan if point.value is None else point.value for point in result.points)
    return round(value) if 0 <= value <= MAX_SIZE else None  # nan is not
