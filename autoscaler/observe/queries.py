"""What a shard knows of its queries: how they are merged, and which are asked separately."""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from autoscaler.config.settings import PrometheusSource
from autoscaler.model import Autoscaler
from autoscaler.observe.plan import Question, age_question, question, questions, questions_of
from autoscaler.observe.planner import (
    ALONE_PART,
    Asked,
    Limits,
    Outcome,
    PlannedQuery,
    Planner,
    Sent,
    Separation,
    Why,
    alone,
)
from autoscaler.observe.split_answers import AnswerSizes, SplitBatch, Splittable, split, splittable

CANARIES: Final = 2
"""Most canaries in a cycle."""
_BATCHES: Final = 4
"""Batches kept. A shard has one for each sync period."""
SWITCHED_OFF: Final = "mergeQueries is false"


class AskedAlone(NamedTuple):
    """A question that is excluded from merging, or asked after all others."""

    question: Question
    why: Why
    said: str
    """The query's last error."""
    autoscalers: tuple[str, ...]
    """Names of the autoscalers that use it."""


class Queries:
    """A shard's knowledge of its queries.

    It outlives the observer, so that a reload keeps it. Used by one cycle at a time.
    """

    def __init__(self, limits: Limits | None = None, sizes: AnswerSizes | None = None) -> None:
        """`limits`: of a merged query. `sizes`: of answers."""
        self.sizes: Final = sizes or AnswerSizes()
        self._planner = Planner(limits)
        self._separation = Separation()
        self._unanswered: frozenset[Question] = frozenset()
        """Questions without an answer when they were last asked."""
        self._samples: dict[Question, int] = {}
        """Number of samples in a shared answer."""
        self._batches: list[_Batch] = []
        self._cycles = 0
        self._doubted: frozenset[str] | set[str] = frozenset()
        """Sources that failed in the last cycle and answered nothing quickly."""

    def follow(self, scalers: Sequence[Autoscaler]) -> None:
        """Forget everything about queries of other autoscalers."""
        if self._separation.known or self._unanswered:
            asked = {*questions(scalers), *self._parts_of(scalers)}
            self._separation.forget_others(asked)
            self._unanswered &= asked

    def _parts_of(self, scalers: Sequence[Autoscaler]) -> Iterator[Question]:
        """Yield their own parts of the questions that were asked in parts."""
        for query in [query for scaler in scalers for query in scaler.queries]:
            for batch in self._batches:
                each, values = batch.splittable.get(question(query)), dict(query.match)
                if each is not None and each.narrowing.label in values:
                    mine = replace(query, expr=each.narrowing.to(values[each.narrowing.label]))
                    yield from (question(mine), age_question(mine))

    def prepare(self, scalers: Sequence[Autoscaler], sources: Mapping[str, PrometheusSource]) -> SplitBatch:
        """Return these autoscalers with their queries as this cycle asks them."""
        batch = next((each for each in self._batches if each.scalers is scalers), None)
        if batch is None:
            batch = _Batch(scalers, self.sizes)
            self._batches = [*self._batches[1 - _BATCHES :], batch]
            current = {known for each in self._batches for known in each.splittable}
            self._samples = {each: count for each, count in self._samples.items() if each in current}
        return batch.split(self._samples, self._separation.known, sources)

    def plan(
        self,
        wanted: Sequence[Question],
        batch: SplitBatch,
        sources: Mapping[str, PrometheusSource],
        longest: Mapping[str, int],
    ) -> Sequence[PlannedQuery]:
        """Return the queries to send in a cycle for these questions. `longest`: as for `Planner.plan`."""
        self._cycles += 1
        return plan(wanted, sources, self._planner, {**batch.parts, **self._separation.parts()}, longest)

    def in_order(self, planned: Sequence[PlannedQuery]) -> Sequence[PlannedQuery]:
        """Sort queries whose last run had no answer to the end. Queries that did not run stay in place."""
        if not self._unanswered:
            return planned
        return sorted(planned, key=lambda query: not self._unanswered.isdisjoint(query.questions))

    def why(self, query: PlannedQuery) -> Why | None:
        """Return why a planned query's members are asked separately, or None if they are not."""
        return self._separation.why(query)

    def doubts(self, prometheus: str) -> bool:
        """Return whether a source failed in the last cycle and answered nothing quickly."""
        return prometheus in self._doubted

    def canary(self, query: PlannedQuery, number: int) -> PlannedQuery | None:
        """Return one member of a query, or the part for one of its users, or None if it has no parts."""
        turn = CANARIES * self._cycles + number
        if len(query.members) > 1:
            return query.narrowed([sorted(query.members)[turn % len(query.members)]])
        asked = next(query.questions)
        each = next((batch.divisible[asked] for batch in self._batches if asked in batch.divisible), None)
        if each is None:
            return None
        return alone(Question(asked.prometheus, each.narrowing.to(sorted(each.values)[turn % len(each.values)])))

    def learn(self, asked: Asked, samples: Mapping[Question, int], split_batch: SplitBatch, now: float) -> None:
        """Learn from a cycle's results for the next cycles.

        `samples`: of each answered question. `now`: the end of the cycle, on the monotonic clock.
        """
        every = [each for sent in asked.sent if not _had_no_turn(sent) for each in sent.questions]
        every += [each for searched in asked.searches for each in searched.questions]
        missing = [each for each in every if each not in samples]
        self._doubted = {each.prometheus for each in missing} - asked.responsive
        if missing or self._unanswered:
            self._unanswered = self._unanswered.difference(every).union(missing)
        mine = {each for batch in self._batches for each in batch.splittable}
        divisible = {each for batch in self._batches for each in batch.divisible}
        self._separation.learn(asked, samples, split_batch.whole, divisible, now)
        self._samples |= {each: count for each, count in samples.items() if each in mine}
        whole: dict[Question, int] = {}
        for part, each in split_batch.whole.items():
            whole[each] = whole.get(each, 0) + samples.get(part, 0)
        for each in {split_batch.whole[part] for part in split_batch.whole.keys() - samples.keys()}:
            del whole[each]  # parts of it have no answer
        self._samples |= whole

    def asked_alone(self) -> Sequence[AskedAlone]:
        """Return what is asked separately now, and why. Any thread may call this."""
        known = {each: known for each, known in self._separation.known.items() if known.part == ALONE_PART}
        if not known:
            return ()
        users: dict[Question, dict[str, None]] = {}
        for scaler in [scaler for batch in self._batches for scaler in batch.asked]:
            for each in questions_of(scaler):
                if each in known:
                    users.setdefault(each, {})[scaler.name] = None
        return [AskedAlone(each, known.why, known.message, tuple(users.get(each, ()))) for each, known in known.items()]


def _had_no_turn(sent: Sent) -> bool:
    """Return whether the cycle ended before the query used its time."""
    return sent.outcome is Outcome.FAILED and sent.share == 0


class _Batch:
    """Autoscalers that are observed together, and which of their questions are asked in parts."""

    def __init__(self, scalers: Sequence[Autoscaler], sizes: AnswerSizes) -> None:
        self.scalers = scalers
        self._sizes = sizes
        self.splittable = splittable(scalers)
        self.divisible: Mapping[Question, Splittable] = {}
        """Questions that are asked in parts if they are large or costly."""
        self._values_per_query: Mapping[Question, int] = {}
        self._split = SplitBatch(scalers)

    @property
    def asked(self) -> Sequence[Autoscaler]:
        """The autoscalers with their queries as asked."""
        return self._split.scalers

    def split(
        self,
        samples: Mapping[Question, int],
        costly: Container[Question],
        sources: Mapping[str, PrometheusSource],
    ) -> SplitBatch:
        """Return the batch's queries. They are rebuilt only if sizes or costs require a different division."""
        self.divisible = {
            asked: each for asked, each in self.splittable.items() if sources[asked.prometheus].merge_queries
        }
        wanted = {
            asked: count
            for asked, each in self.divisible.items()
            if (count := self._count(each, asked, samples, costly)) is not None
        }
        if wanted != self._values_per_query:
            self._values_per_query = wanted
            self._split = split(self.scalers, self.splittable, wanted) if wanted else SplitBatch(self.scalers)
        return self._split

    def _count(
        self, each: Splittable, question: Question, samples: Mapping[Question, int], costly: Container[Question]
    ) -> int | None:
        return each.values_per_query(
            self._sizes, samples.get(question), self._values_per_query.get(question), costly=question in costly
        )


def plan(
    wanted: Sequence[Question],
    sources: Mapping[str, PrometheusSource],
    planner: Planner,
    parts: Mapping[Question, int] | None = None,
    longest: Mapping[str, int] | None = None,
) -> Sequence[PlannedQuery]:
    """Return the queries to send for these questions. `parts`, `longest`: as for `Planner.plan`."""
    merged = [each for each in wanted if sources[each.prometheus].merge_queries]
    planned = planner.plan(merged, parts or {}, longest or {})
    if len(merged) == len(wanted):
        return planned
    return *planned, *_as_written(wanted, sources)


def _as_written(wanted: Sequence[Question], sources: Mapping[str, PrometheusSource]) -> Iterator[PlannedQuery]:
    for each in wanted:
        if not sources[each.prometheus].merge_queries:
            yield alone(each, SWITCHED_OFF)
