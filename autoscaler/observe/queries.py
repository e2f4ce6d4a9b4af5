"""What a shard knows of its queries: how they are merged, and which are asked alone."""

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from typing import Final, NamedTuple

from autoscaler.config.settings import PrometheusSource
from autoscaler.model import Autoscaler
from autoscaler.observe.asked_alone import AloneQuestions, Why
from autoscaler.observe.plan import Question, questions, questions_of
from autoscaler.observe.planner.merge import Limits
from autoscaler.observe.planner.planner import Planner
from autoscaler.observe.planner.query import PlannedQuery, alone
from autoscaler.observe.source_queries import SourceQueries

SWITCHED_OFF: Final = "mergeQueries is false"
_SILENT_SECONDS: Final = 60.0
"""Time until a silent source gets its whole `timeout` again, where other autoscalers wait for it."""


class AskedAlone(NamedTuple):
    """A question that is asked alone because of an earlier result."""

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

    def __init__(self, limits: Limits | None = None) -> None:
        """`limits`: of a merged query."""
        self.alone: Final = AloneQuestions()
        self.unanswered: dict[Question, None] = {}
        """Questions without an answer when they were last asked, longest first."""
        self.turns: Final[Counter[str]] = Counter()
        """Source -> how often the member that was asked first was late."""
        self._planner = Planner(limits)
        self._scalers: Sequence[Autoscaler] = ()
        self._silent: dict[str, float] = {}
        """Source -> when it last was silent for its whole `timeout`, on the monotonic clock."""

    def follow(self, scalers: Sequence[Autoscaler]) -> None:
        """Follow the shard's autoscalers, and forget everything about queries of others."""
        self._scalers = scalers
        if self.alone.known or self.unanswered:
            asked = set(questions(scalers))
            self.alone.forget_others(asked)
            self.unanswered = {each: None for each in self.unanswered if each in asked}

    def plan(
        self, wanted: Sequence[Question], sources: Mapping[str, PrometheusSource], longest: Mapping[str, int]
    ) -> Sequence[PlannedQuery]:
        """Return the queries to send in a cycle for these questions. `longest`: as for `Planner.plan`."""
        merged = [each for each in wanted if sources[each.prometheus].merge_queries]
        planned = self._planner.plan(merged, self.alone.known, longest)
        if len(merged) == len(wanted):
            return planned
        written = [alone(each, SWITCHED_OFF) for each in wanted if not sources[each.prometheus].merge_queries]
        return *planned, *written

    def in_order(self, planned: Sequence[PlannedQuery]) -> Sequence[PlannedQuery]:
        """Sort queries whose last run had no answer to the end. Queries that did not run stay in place."""
        if not self.unanswered:
            return planned
        return sorted(planned, key=lambda query: not self.unanswered.keys().isdisjoint(query.questions))

    def patient(self, prometheus: str, now: float) -> bool:
        """Return whether a source gets its whole `timeout` although it has not answered.

        A source that was silent gets it once a minute, if autoscalers with another sync period wait for the shard.
        """
        since = self._silent.get(prometheus)
        return since is None or now - since >= _SILENT_SECONDS or len({each.sync_period for each in self._scalers}) < 2

    def learn(
        self, asked: Mapping[str, SourceQueries], wanted: Sequence[Question], answered: Set[Question], now: float
    ) -> None:
        """Learn from a cycle's results for the next cycles.

        `asked`: by source. `wanted`: the questions of the cycle. `now`: its end, on the monotonic clock.
        """
        missing = set(wanted) - answered
        for name, each in asked.items():
            missing -= each.untried
            self.alone.learn(each.results, name, now, responsive=each.responsive)
            self.turns[name] += each.late_first
            if each.alive:
                self._silent.pop(name, None)
            elif each.silent and self.patient(name, now):
                self._silent[name] = now
        if missing or self.unanswered:
            still = {each: None for each in self.unanswered if each not in answered}
            self.unanswered = still | {each: None for each in wanted if each in missing}

    def asked_alone(self) -> Sequence[AskedAlone]:
        """Return what is asked alone now, and why. Any thread may call this."""
        known = self.alone.known
        if not known:
            return ()
        users: dict[Question, dict[str, None]] = {}
        for scaler in self._scalers:
            for each in questions_of(scaler):
                if each in known:
                    users.setdefault(each, {})[scaler.name] = None
        return [AskedAlone(each, alone.why, alone.said, tuple(users.get(each, ()))) for each, alone in known.items()]
