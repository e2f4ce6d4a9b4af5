"""Which questions are asked alone because of what happened to them, and until when.

A question that is refused, late or too large while it is asked alone stays alone until it was cheap for ten minutes.
Nothing is learned from a source that answered nothing quickly in the cycle: then the source is the cause.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, NamedTuple

from autoscaler.observe.plan import Question
from autoscaler.observe.planner.outcome import Outcome
from autoscaler.observe.planner.query import PlannedQuery

MAX_COSTLY: Final = 250
"""Most questions of a source that are asked alone because of their cost. Beyond this, the source is slow."""
CHEAP_SHARE: Final = 1 / 4
"""Largest share of a query's time limit that counts as cheap."""
_REMEMBERED_SECONDS: Final = 600.0
"""Time for which a question must be cheap before it is merged again."""


class Why(StrEnum):
    """Why a question is asked alone."""

    REFUSED = "refused"
    """The server rejects it."""
    HEAVY = "heavy"
    """It is late or too large. It runs after all others, one at a time."""


@dataclass(frozen=True, slots=True)
class Alone:
    """What is known of one question that is asked alone."""

    why: Why
    said: str
    """Its last error."""
    cheap_since: float | None = None
    """In seconds on the monotonic clock; None if it was not cheap the last time."""

    def answered(self, share: float, now: float) -> "Alone | None":
        """Return what is known after an answer that took this share, or None if it may be merged again."""
        if share > CHEAP_SHARE:
            return replace(self, cheap_since=None)
        if self.cheap_since is None:
            return replace(self, cheap_since=now)
        return self if now - self.cheap_since < _REMEMBERED_SECONDS else None


class Result(NamedTuple):
    """The result of one question that was asked alone."""

    query: PlannedQuery
    outcome: Outcome
    share: float
    """Share of a query's time limit that it took."""
    said: str = ""
    """The error's text."""
    merged: bool = False
    """Whether it is a member of a merged query that failed."""


class AloneQuestions:
    """The questions that are asked alone. Used by one thread at a time; any thread may read `known`."""

    def __init__(self) -> None:
        self.known: Mapping[Question, Alone] = {}

    def heavy(self, query: PlannedQuery) -> bool:
        """Return whether a planned query runs after all others."""
        return bool(self.known) and _is_heavy(self.known.get(next(query.questions)))

    def count_heavy(self, prometheus: str) -> int:
        """Return how many questions of this source are asked alone because of their cost."""
        return sum(each.prometheus == prometheus and _is_heavy(known) for each, known in self.known.items())

    def forget_others(self, questions: Container[Question]) -> None:
        """Forget all other questions."""
        self.known = {question: known for question, known in self.known.items() if question in questions}

    def learn(self, results: Sequence[Result], prometheus: str, now: float, *, responsive: bool) -> None:
        """Learn from the results of one source in a cycle that ended at `now`, in seconds on the monotonic clock.

        `responsive`: whether the source answered something quickly.
        """
        found, heavy = dict(self.known), self.count_heavy(prometheus)
        for result in results:
            for question in result.query.questions:
                known = found.get(question)
                if result.outcome is Outcome.ANSWERED:
                    after = None if known is None else known.answered(result.share, now)
                else:
                    after = _failed(result, known, full=heavy >= MAX_COSTLY) if responsive else known
                heavy += _is_heavy(after) - _is_heavy(known)
                if after is not None:
                    found[question] = after
                elif known is not None:
                    del found[question]
        self.known = found


def _failed(result: Result, known: Alone | None, *, full: bool) -> Alone | None:
    """Return what is known of a question that failed. `full`: no more questions may be heavy."""
    if result.outcome is Outcome.REFUSED and (result.merged or known is not None):
        return Alone(Why.REFUSED, result.said)
    if result.outcome.costly and (_is_heavy(known) or not full):
        return Alone(Why.HEAVY, result.said)
    return known


def _is_heavy(known: Alone | None) -> bool:
    return known is not None and known.why is Why.HEAVY
