"""The past of one autoscaler from Prometheus alone: what the daemon would have observed at each of these times.

Readings are made by the code that makes live ones.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Final

from autoscaler.errors import PastError
from autoscaler.model import MAX_SIZE, Autoscaler, CivilTime, Query
from autoscaler.observe.answers import Answers
from autoscaler.observe.failure import QueryFailure
from autoscaler.observe.observation import observation
from autoscaler.observe.plan import Question, question, questions_of, with_queries
from autoscaler.observe.ranges import Grid
from autoscaler.observe.result import QueryResult
from autoscaler.observe.selectors import Matcher
from autoscaler.quantity import format_duration
from autoscaler.rules.warm_up import WarmUp
from autoscaler.whatif.past.past import Cycle, Finding, FindingKind
from autoscaler.whatif.prometheus.fetching import Fetcher, Recording
from autoscaler.whatif.prometheus.states import States, naming_metric

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_STEPS: Final = 3_000_000
"""More than a year of cycles 15 s apart. Each step takes memory."""


class PrometheusPast:
    """Implements `Past`. Everything is fetched at first."""

    recorded = False

    def __init__(
        self,
        scaler: Autoscaler,
        fetcher: Fetcher,
        since: datetime,
        until: datetime,
        *,
        prometheus: str | None = None,
        size: Query | None = None,
        also: Sequence[Autoscaler] = (),
    ) -> None:
        """Raises PastError, also for a time that is too long or in the future.

        `prometheus`: the source to query instead of those of the queries, such as long-term storage. `size`: the sum of
        its samples is the size; None: the daemon's own metric. `also`: other configurations of the autoscaler, whose
        metrics are read too.
        """
        every = replace(scaler, metrics=tuple(dict.fromkeys([spec for one in (scaler, *also) for spec in one.metrics])))
        self._with_all_metrics = every
        self._scaler = with_queries(every, lambda query: replace(query, prometheus=prometheus or query.prometheus))
        self._fetcher, self._size_query = fetcher, size
        self._warm_up, self._span = _span(every, since, min(until, fetcher.now()))
        names = list(dict.fromkeys(query.prometheus for query in self._scaler.queries))
        self._source = prometheus or next(iter(names), "default")
        self.name, self.origin = scaler.name, f"prometheus {prometheus or ', '.join(names)}"
        self._recordings = fetcher.fetch(questions_of(self._scaler), self._span)
        self._sizes = self._fetch_sizes()

    @property
    def findings(self) -> Sequence[Finding]:
        """What was inferred."""
        metric, size = naming_metric(self._scaler), self._size_query
        names = "no metric names them" if metric is None else f"those with a sample of metric {metric.name!r}"
        told = "the metric autoscaler_current_replicas" if size is None else f"the query {size.expr!r}"
        begin, end = self._span.at(self._warm_up), self._span.at(self._span.count - 1)
        return [Finding(begin, end, FindingKind.INFERRED, f"instances: {names}; size: from {told}")]

    def cycles(self) -> Iterator[Cycle]:
        """One for each step, with errors as readings where there is no sample."""
        answers = {asked: recording.results() for asked, recording in self._recordings.items()}
        states, sizes, span = States(self._scaler), self._sizes, self._span
        for index in range(span.count):
            at, known = span.at(index), Answers({asked: next(each) for asked, each in answers.items()})
            state = states.at(at, sizes[index], known)
            if index >= self._warm_up:
                seen = observation(self._scaler, state, known, at, CivilTime())
                yield Cycle(at, seen, self._with_all_metrics)

    def _fetch_sizes(self) -> Sequence[int | None]:
        """The size at each step; None if it is unknown. Raises PastError if it is never known."""
        span, size = self._span, self._size_query
        if size is None:  # Prometheus scrapes what a cycle read after the cycle, until the next one
            own = f"max(autoscaler_current_replicas{{{Matcher('autoscaler', '=', self.name)}}})"  # of both daemons
            later = self._answer(Question(self._source, own), replace(span, count=span.count + 1))
            sums = [size_of(each) for each in later.results()]
            sizes = [before if after is None else after for before, after in pairwise(sums)]
        else:
            recording = self._answer(question(replace(size, prometheus=self._source)), span)
            if (refused := recording.refusal()) is not None:
                raise PastError(f"the query for the size of autoscaler {self.name!r}: {refused}")
            sizes = [size_of(each) for each in recording.results()]
        if all(each is None for each in sizes):
            told = "autoscaler_current_replicas" if size is None else "the query for it"
            raise PastError(
                f"autoscaler {self.name!r}: Prometheus does not know the size of its target: {told} has no sample of "
                "that time; give a query with --size"
            )
        return sizes

    def _answer(self, asked: Question, span: Grid) -> Recording:
        return self._fetcher.fetch([asked], span)[asked]


def _span(scaler: Autoscaler, since: datetime, until: datetime) -> tuple[int, Grid]:
    """The steps to query, and how many of them are before `since`.

    Those show which instances are old: a start after them was observed. Raises PastError.
    """
    step, options = scaler.sync_period, scaler.options
    starting = options.cpu_initialization_period + options.initial_readiness_delay
    rule = scaler.rules.find(WarmUp)
    warm_up = -(-max(starting, timedelta(0) if rule is None else rule.duration or timedelta(0)) // step)
    first = -(-(since - _EPOCH) // step)
    last = (until - _EPOCH) // step
    if until < since:
        raise PastError(f"autoscaler {scaler.name!r}: the time is in the future; give another one")
    if last - first > _MAX_STEPS:
        raise PastError(
            f"autoscaler {scaler.name!r}: the time has {last - first:,} cycles of {format_duration(step)}, and at most "
            f"{_MAX_STEPS:,} are read from Prometheus; shorten it with --since"
        )
    return warm_up, Grid(step, first - warm_up, max(0, last - first + 1) + warm_up, timedelta(0))


def size_of(result: QueryResult | QueryFailure) -> int | None:
    """The size that the samples of one time add up to; None if there is none."""
    if isinstance(result, QueryFailure) or not result.points:
        return None
    value = sum(math.nan if point.value is None else point.value for point in result.points)
    return round(value) if -0.001 < value <= MAX_SIZE else None  # nan is not; -1e-15 is 0
