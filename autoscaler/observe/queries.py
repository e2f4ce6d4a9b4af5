"""What a shard knows of its queries: how they are merged, and which of them are asked apart."""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from autoscaler.config.settings import PrometheusSource
from autoscaler.model import Autoscaler
from autoscaler.observe.plan import Question, age_question, queries_of, question, questions, questions_of
from autoscaler.observe.planner import APART, Apart, Asked, Outcome, Plan, PlannedQuery, Planner, Sent, Why, alone
from autoscaler.observe.shards import Shards, Shared, in_shards, shared

_BATCHES: Final = 4
"""Kept: a shard has one for each sync period."""
SWITCHED_OFF: Final = "mergeQueries is false"


class AskedAlone(NamedTuple):
    """A question that is kept out of the merge, or asked after all others."""

    question: Question
    why: Why
    said: str
    """What it came to."""
    autoscalers: tuple[str, ...]
    """Those that ask it, by name."""


class Queries:
    """For one cycle at a time; it outlives the observer, so that a reload does not begin anew."""

    def __init__(self) -> None:
        self._planner = Planner()
        self._apart = Apart()
        self._unanswered: frozenset[Question] = frozenset()
        """Those that had no answer when they were asked last."""
        self._samples: dict[Question, int] = {}
        """How many a shared answer had."""
        self._batches: list[_Batch] = []
        self._cycles = 0
        self._doubted: frozenset[str] | set[str] = frozenset()
        """Sources that failed in the last cycle and answered nothing quickly."""

    def follow(self, scalers: Sequence[Autoscaler]) -> None:
        """These are the shard's from now on: what is known of others is forgotten."""
        if self._apart.known or self._unanswered:
            asked = {*questions(scalers), *self._shards_of(scalers)}
            self._apart.forget_others(asked)
            self._unanswered &= asked

    def _shards_of(self, scalers: Sequence[Autoscaler]) -> Iterator[Question]:
        """Their own parts of the questions that were asked in shards."""
        for query in [query for scaler in scalers for query in queries_of(scaler)]:
            for batch in self._batches:
                each, values = batch.shared.get(question(query)), dict(query.match)
                if each is not None and each.narrowing.label in values:
                    mine = replace(query, expr=each.narrowing.to(values[each.narrowing.label]))
                    yield from (question(mine), age_question(mine))

    def prepare(self, scalers: Sequence[Autoscaler], sources: Mapping[str, PrometheusSource]) -> Shards:
        """These autoscalers, as they are asked for in this cycle."""
        batch = next((each for each in self._batches if each.scalers is scalers), None)
        if batch is None:
            batch = _Batch(scalers)
            self._batches = [*self._batches[1 - _BATCHES :], batch]
            current = {known for each in self._batches for known in each.shared}
            self._samples = {each: count for each, count in self._samples.items() if each in current}
        return batch.sharded(self._samples, self._apart.known, sources)

    def plan(self, wanted: Sequence[Question], shards: Shards, sources: Mapping[str, PrometheusSource]) -> Plan:
        """What is sent in a cycle for these questions."""
        self._cycles += 1
        return plan(wanted, sources, self._planner, {**shards.parts, **self._apart.parts()})

    def in_order(self, planned: Sequence[PlannedQuery]) -> Sequence[PlannedQuery]:
        """Those last of which a question had no answer when it was asked last; one that had no turn yet is not last."""
        if not self._unanswered:
            return planned
        return sorted(planned, key=lambda query: not self._unanswered.isdisjoint(query.questions))

    def why(self, query: PlannedQuery) -> Why | None:
        """Why the members of a planned query are asked apart; None: they are not."""
        return self._apart.why(query)

    def doubts(self, prometheus: str) -> bool:
        """Whether a source failed in the last cycle and answered nothing quickly."""
        return prometheus in self._doubted

    def canary(self, query: PlannedQuery, number: int) -> PlannedQuery | None:
        """One member of a query, or the part that one of its users needs; None: it is not made of parts."""
        turn = 2 * self._cycles + number
        if len(query.members) > 1:
            return query.narrowed([sorted(query.members)[turn % len(query.members)]])
        asked = next(query.questions)
        each = next((batch.divisible[asked] for batch in self._batches if asked in batch.divisible), None)
        if each is None:
            return None
        return alone(Question(asked.prometheus, each.narrowing.to(sorted(each.values)[turn % len(each.values)])))

    def learn(self, asked: Asked, samples: Mapping[Question, int], shards: Shards, now: float) -> None:
        """What came of a cycle's queries, for the next ones.

        `samples`: of each question that was answered. `now`: the end of the cycle, on the monotonic clock.
        """
        every = [each for sent in asked.sent if not _had_no_turn(sent) for each in sent.questions]
        every += [each for searched in asked.searches for each in searched.questions]
        missing = [each for each in every if each not in samples]
        self._doubted = {each.prometheus for each in missing} - asked.sound
        if missing or self._unanswered:
            self._unanswered = self._unanswered.difference(every).union(missing)
        mine = {each for batch in self._batches for each in batch.shared}
        divisible = {each for batch in self._batches for each in batch.divisible}
        self._apart.learn(asked, samples, shards.whole, divisible, now)
        self._samples |= {each: count for each, count in samples.items() if each in mine}
        whole: dict[Question, int] = {}
        for part, each in shards.whole.items():
            whole[each] = whole.get(each, 0) + samples.get(part, 0)
        for each in {shards.whole[part] for part in shards.whole.keys() - samples.keys()}:
            del whole[each]  # not all of it was answered
        self._samples |= whole

    def asked_alone(self) -> Sequence[AskedAlone]:
        """What is asked alone now, and why. Any thread may ask."""
        known = {each: known for each, known in self._apart.known.items() if known.part == APART}
        if not known:
            return ()
        users: dict[Question, dict[str, None]] = {}
        for scaler in [scaler for batch in self._batches for scaler in batch.asked]:
            for each in questions_of(scaler):
                if each in known:
                    users.setdefault(each, {})[scaler.name] = None
        return [AskedAlone(each, known.why, known.said, tuple(users.get(each, ()))) for each, known in known.items()]


def _had_no_turn(sent: Sent) -> bool:
    """Whether the cycle was over before the source had had a query for its time."""
    return sent.outcome is Outcome.FAILED and sent.share == 0


class _Batch:
    """Autoscalers that are observed together, and which of their questions are in shards."""

    def __init__(self, scalers: Sequence[Autoscaler]) -> None:
        self.scalers = scalers
        self.shared = shared(scalers)
        self.divisible: Mapping[Question, Shared] = {}
        """Those that are asked in shards where they are large, or cost too much."""
        self._together: Mapping[Question, int] = {}
        self._shards = Shards(scalers)

    @property
    def asked(self) -> Sequence[Autoscaler]:
        """As they are asked for."""
        return self._shards.scalers

    def sharded(
        self,
        samples: Mapping[Question, int],
        costly: Container[Question],
        sources: Mapping[str, PrometheusSource],
    ) -> Shards:
        """The same, made anew only where another size, or what a whole answer costs, asks for it."""
        self.divisible = {asked: each for asked, each in self.shared.items() if sources[asked.prometheus].merge_queries}
        wanted = {
            asked: count
            for asked, each in self.divisible.items()
            if (count := self._count(each, asked, samples, costly)) is not None
        }
        if wanted != self._together:
            self._together = wanted
            self._shards = in_shards(self.scalers, self.shared, wanted) if wanted else Shards(self.scalers)
        return self._shards

    def _count(
        self, each: Shared, question: Question, samples: Mapping[Question, int], costly: Container[Question]
    ) -> int | None:
        return each.together(samples.get(question), self._together.get(question), costly=question in costly)


def plan(
    wanted: Sequence[Question],
    sources: Mapping[str, PrometheusSource],
    planner: Planner,
    parts: Mapping[Question, int] | None = None,
) -> Plan:
    """What is sent for these questions. `parts`: as `Planner.plan` takes them."""
    if all(source.merge_queries for source in sources.values()):
        return planner.plan(wanted, parts or {})
    merged = planner.plan([each for each in wanted if sources[each.prometheus].merge_queries], parts or {})
    return Plan((*merged.queries, *_as_written(wanted, sources)))


def _as_written(wanted: Sequence[Question], sources: Mapping[str, PrometheusSource]) -> Iterator[PlannedQuery]:
    for each in wanted:
        if not sources[each.prometheus].merge_queries:
            yield alone(each, SWITCHED_OFF)
