"""What a lane knows of its queries: how they are merged, and which did not work so."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

from autoscaler.config.settings import PrometheusSource
from autoscaler.observe.ask import Asked
from autoscaler.observe.plan import Question
from autoscaler.observe.planner import Outcome, Plan, PlannedQuery, Planner, Refusals, alone

SWITCHED_OFF: Final = "mergeQueries is false"


class Queries:
    """For one cycle at a time; it outlives the observer, so that a reload does not begin anew."""

    def __init__(self) -> None:
        self._planner = Planner()
        self._refusals = Refusals({})

    def plan(self, questions: Sequence[Question], sources: Mapping[str, PrometheusSource], now: datetime) -> Plan:
        """What is sent in a cycle at `now` for these questions."""
        return plan(questions, sources, self._planner, self._refusals.parts(now))

    def learn(self, asked: Asked, now: datetime) -> None:
        """What came of a cycle's queries, for the next ones."""
        for search in asked.searches:
            self._refusals = self._refusals.found(search, now)
        for query, outcome in asked.failed:
            if query.form is not None and outcome is Outcome.TOO_LARGE:
                self._refusals = self._refusals.too_large(query, now)
            elif known := [question for question in query.questions if question in self._refusals.until]:
                self._refusals = self._refusals.alone(known, now)


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
