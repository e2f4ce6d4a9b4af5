"""Makes each observation as soon as all its answers are there, so that fewer answers are in memory at once."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias

from autoscaler.model import Autoscaler
from autoscaler.observe.answers import Answers, Results
from autoscaler.observe.failure import QueryFailure
from autoscaler.observe.plan import Question, questions_of
from autoscaler.observe.planner.query import PlannedQuery
from autoscaler.observe.result import QueryResult

_MAX_HELD: Final = 100_000
"""Samples kept before observations are made early."""
Complete: TypeAlias = Callable[[Autoscaler, Answers], object]
"""Makes one autoscaler's observation from the answers."""


class Gathering:
    """Collects the answers of one batch. Used by one thread."""

    def __init__(
        self,
        scalers: Sequence[Autoscaler],
        complete: Complete,
        targets_read: Callable[[], bool] = lambda: True,
        most_held: int = _MAX_HELD,
    ) -> None:
        """`complete` is called once for each autoscaler, and early only if `targets_read` returns True.

        `complete` waits for the adapter, and a query that waits with it would be late. `most_held`: samples kept before
        it is called early.
        """
        self.samples: Final[dict[Question, int]] = {}
        """Number of samples of each answered question."""
        self._scalers = scalers
        self._complete = complete
        self._targets_read = targets_read
        self._most_held = most_held
        self._results: dict[Question, QueryResult | QueryFailure] = {}
        self._answers = Answers(self._results)
        self._asked = [questions_of(scaler) for scaler in scalers]
        self._missing = [len(asked) for asked in self._asked]
        self._ready = [number for number, missing in enumerate(self._missing) if not missing]
        self._users: dict[Question, list[int]] = {}
        """Indexes of the autoscalers that need a question."""
        self._held = 0
        for number, asked in enumerate(self._asked):
            for question in asked:
                self._users.setdefault(question, []).append(number)
        self._needed = {question: len(users) for question, users in self._users.items()}
        """Number of incomplete autoscalers that need a question."""

    @property
    def questions(self) -> Sequence[Question]:
        """Return each question once, in the order of first use."""
        return tuple(self._users)

    def in_order(self, queries: Iterable[PlannedQuery]) -> Sequence[PlannedQuery]:
        """Sort queries by their first user, so that the first autoscalers are complete early."""
        return sorted(queries, key=lambda query: min(self._users[question][0] for question in query.questions))

    def settle(self, results: Results) -> None:
        """Record answers or errors."""
        self._results.update(results)
        for question, result in results.items():
            if isinstance(result, QueryResult):
                self.samples[question] = len(result.points)
                self._held += len(result.points)
            for number in self._users[question]:
                self._missing[number] -= 1
                if not self._missing[number]:
                    self._ready.append(number)
        if self._held >= self._most_held and self._targets_read():
            self.complete()

    def complete(self) -> None:
        """Make the observations whose answers are complete, and drop answers that are no longer needed."""
        for number in self._ready:
            self._complete(self._scalers[number], self._answers)
            for question in self._asked[number]:
                self._needed[question] -= 1
                if not self._needed[question]:
                    self._held -= self.samples.get(question, 0)
                    del self._results[question]
                    self._answers.forget(question)
        self._ready.clear()
