"""What a lane knows of its queries: how they are merged, and which did not work so."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

from autoscaler.config.settings import PrometheusSource
from autoscaler.model import Autoscaler
from autoscaler.observe.ask import Asked
from autoscaler.observe.plan import Question
from autoscaler.observe.planner import Outcome, Plan, PlannedQuery, Planner, Refusals, alone
from autoscaler.observe.shards import LARGE, Shards, in_shards, shared

_BATCHES: Final = 4
"""Kept: a lane has one for each sync period."""
SWITCHED_OFF: Final = "mergeQueries is false"


class Queries:
    """For one cycle at a time; it outlives the observer, so that a reload does not begin anew."""

    def __init__(self) -> None:
        self._planner = Planner()
        self._refusals = Refusals({})
        self._samples: dict[Question, int] = {}
        """How many a shared answer had."""
        self._batches: list[_Batch] = []

    def prepare(self, scalers: Sequence[Autoscaler], sources: Mapping[str, PrometheusSource]) -> Shards:
        """These autoscalers, as they are asked for in this cycle."""
        batch = next((each for each in self._batches if each.scalers is scalers), None)
        if batch is None:
            batch = _Batch(scalers)
            self._batches = [*self._batches[1 - _BATCHES :], batch]
            current = {question for each in self._batches for question in each.shared}
            self._samples = {question: count for question, count in self._samples.items() if question in current}
        return batch.sharded(self._samples, sources)

    def plan(
        self, questions: Sequence[Question], shards: Shards, sources: Mapping[str, PrometheusSource], now: datetime
    ) -> Plan:
        """What is sent in a cycle at `now` for these questions."""
        return plan(questions, sources, self._planner, {**shards.parts, **self._refusals.parts(now)})

    def learn(self, asked: Asked, samples: Mapping[Question, int], shards: Shards, now: datetime) -> None:
        """What came of a cycle's queries, for the next ones. `samples`: of each question that was answered."""
        for search in asked.searches:
            self._refusals = self._refusals.found(search, now)
        for query, outcome in asked.failed:
            if query.form is not None and outcome is Outcome.TOO_LARGE:
                self._refusals = self._refusals.too_large(query, now)
            elif known := [question for question in query.questions if question in self._refusals.until]:
                self._refusals = self._refusals.alone(known, now)
        self._learn_sizes(asked, samples, shards)

    def _learn_sizes(self, asked: Asked, samples: Mapping[Question, int], shards: Shards) -> None:
        mine = {question for batch in self._batches for question in batch.shared}
        self._samples |= {question: count for question, count in samples.items() if question in mine}
        for query, outcome in asked.failed:
            for question in query.questions:
                if outcome is Outcome.TOO_LARGE and question in mine:
                    self._samples[question] = max(LARGE, self._samples.get(question, 0))
        whole: dict[Question, int] = {}
        for part, question in shards.whole.items():
            whole[question] = whole.get(question, 0) + samples.get(part, 0)
        for question in {shards.whole[part] for part in shards.whole.keys() - samples.keys()}:
            del whole[question]  # not all of it was answered
        self._samples |= whole


class _Batch:
    """Autoscalers that are observed together, and which of their questions are in shards."""

    def __init__(self, scalers: Sequence[Autoscaler]) -> None:
        self.scalers = scalers
        self.shared = shared(scalers)
        self._together: Mapping[Question, int] = {}
        self._shards = Shards(scalers)

    def sharded(self, samples: Mapping[Question, int], sources: Mapping[str, PrometheusSource]) -> Shards:
        """The same, made anew only where another size asks for it."""
        wanted = {
            question: count
            for question, each in self.shared.items()
            if sources[question.prometheus].merge_queries
            and (count := each.together(samples.get(question), self._together.get(question))) is not None
        }
        if wanted != self._together:
            self._together = wanted
            self._shards = in_shards(self.scalers, self.shared, wanted) if wanted else Shards(self.scalers)
        return self._shards


def plan(
    questions: Sequence[Question],
    sources: Mapping[str, PrometheusSource],
    planner: Planner,
    parts: Mapping[Question, int] | None = None,
) -> Plan:
    """What is sent for these questions. `parts`: as `Planner.plan` takes them."""
    if all(source.merge_queries for source in sources.values()):
        return planner.plan(questions, parts or {})
    merged = planner.plan([each for each in questions if sources[each.prometheus].merge_queries], parts or {})
    return Plan((*merged.queries, *_as_written(questions, sources)))


def _as_written(questions: Sequence[Question], sources: Mapping[str, PrometheusSource]) -> Iterator[PlannedQuery]:
    for question in questions:
        if not sources[question.prometheus].merge_queries:
            yield alone(question, SWITCHED_OFF)
