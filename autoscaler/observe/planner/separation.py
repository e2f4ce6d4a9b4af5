"""Tracks members that are asked separately: alone, or merged with a few others.

A member leaves the merge when a query fails because of it, or when its part of a query's time is too large. It returns
after it was cheap for ten minutes. Shares are of a query's time limit.
"""

from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import count
from typing import Final, NamedTuple

from autoscaler.observe.plan import Question
from autoscaler.observe.planner.bisect import Bisection, Outcome, halves
from autoscaler.observe.planner.planner import ALONE_PART
from autoscaler.observe.planner.query import PlannedQuery

REMEMBERED_SECONDS: Final = 600.0
"""Time for which a member must be cheap before it is merged again."""
HEAVY_SHARE: Final = 1 / 4
"""Largest share that counts as cheap."""
SLOW_SHARE: Final = 1 / 2
"""A merged query above this share is asked in halves from the next cycle on."""
MOST: Final = 100
"""Most queries to one source that are separate because of their cost. Beyond this, the source itself is slow."""


class Why(StrEnum):
    """Why a member is asked separately."""

    REFUSED = "refused"
    """Alone: the server rejects its query, or the query that it is merged into."""
    HEAVY = "heavy"
    """Alone, one such query at a time: it is slow, or exceeds a limit on size."""
    SUSPECT = "suspect"
    """Merged with others, one of which may be heavy. The next cycle searches for it."""
    SPLIT = "split"
    """Merged with some of its former members. All together are rejected or cost too much."""


@dataclass(frozen=True, slots=True)
class SeparateMember:
    """What is known of one separate member."""

    why: Why
    part: int
    """Only members of one part are merged. Those of ALONE_PART are asked alone."""
    of: int
    """Members with the same number were separated together, and return once they are cheap together."""
    message: str
    """The query's error."""
    cheap_since: float | None = None
    """In seconds on the monotonic clock; None if they were not cheap the last time."""


class Sent(NamedTuple):
    """A planned query that was sent as a whole."""

    query: PlannedQuery
    outcome: Outcome
    share: float
    message: str = ""
    """The error's text."""

    @property
    def questions(self) -> Sequence[Question]:
        """The questions of all members."""
        return list(self.query.questions)


class Searched(NamedTuple):
    """A finished search."""

    search: Bisection
    costly: bool
    """Whether it searched for a heavy member rather than a rejected one."""
    share: float
    """Share of all answered parts together."""
    message: Mapping[Question, tuple[Outcome, str]]
    """The outcome of each culprit, with the error's text."""

    @property
    def questions(self) -> Sequence[Question]:
        """The questions of all members."""
        return _questions((*self.search.answered, *self.search.culprits, *self.search.lost))


@dataclass(frozen=True, slots=True)
class Asked:
    """A cycle's results to learn from."""

    sent: Sequence[Sent] = ()
    searches: Sequence[Searched] = ()
    responsive: frozenset[str] = frozenset()
    """Sources that answered a query quickly, so that costly failures are the queries' own."""


class Separation:
    """Tracks which members are asked separately. Used by one thread at a time; any thread may read `known`."""

    def __init__(self) -> None:
        self.known: Mapping[Question, SeparateMember] = {}
        self._next: dict[Question, SeparateMember] = {}
        """Replaces `known` at the end of `learn`."""
        self._numbers = count(ALONE_PART + 1)
        """Numbers of parts and groups that are not in use."""

    def parts(self) -> Mapping[Question, int]:
        """Return the `parts` for `Planner.plan`."""
        return {question: known.part for question, known in self.known.items()}

    def why(self, query: PlannedQuery) -> Why | None:
        """Return why a planned query's members are asked separately, or None if they are not."""
        known = self.known.get(next(query.questions)) if self.known else None
        return None if known is None else known.why

    def forget_others(self, questions: Container[Question]) -> None:
        """Forget all other questions."""
        self.known = {question: known for question, known in self.known.items() if question in questions}

    def learn(
        self,
        asked: Asked,
        samples: Mapping[Question, int],
        whole: Mapping[Question, Question],
        splittable: Collection[Question],
        now: float,
    ) -> None:
        """Learn from a cycle that ended at `now`, in seconds on the monotonic clock.

        `samples`: of each answered question. `whole`: maps a part's question to the whole one.
        `splittable`: questions whose answers can be split.
        """
        self._next = self._updated_known(asked, samples, whole, now)
        for searched in asked.searches:
            self._record_search(searched)
        quickest = _quickest(asked.sent)
        for each in asked.sent:
            if each.outcome is Outcome.ANSWERED and len(each.query.members) > 1:
                share = each.share - quickest[each.query.prometheus]
                if share > HEAVY_SHARE:
                    self._separate_slow(each.query, share, samples)
            elif each.outcome is Outcome.TOO_LARGE or (
                each.outcome is Outcome.LATE and each.query.prometheus in asked.responsive
            ):
                self._separate_failed(each, splittable)
        self.known = self._next

    def _updated_known(
        self, asked: Asked, answered: Container[Question], whole: Mapping[Question, Question], now: float
    ) -> dict[Question, SeparateMember]:
        """Update how long members were cheap, and drop those that may be merged again."""
        if not self.known:
            return {}
        shares, failed = self._costs(asked, whole)
        aged = {}
        for question, known in self.known.items():
            if known.of not in shares:
                aged[question] = known
            elif known.of in failed or shares[known.of] > HEAVY_SHARE:
                why = Why.SPLIT if known.why is Why.SUSPECT and question in answered else known.why
                aged[question] = replace(known, why=why, cheap_since=None)
            elif known.why is Why.SUSPECT:
                continue  # none of them is heavy now
            elif known.cheap_since is None or now - known.cheap_since < REMEMBERED_SECONDS:
                aged[question] = replace(known, cheap_since=now if known.cheap_since is None else known.cheap_since)
        return aged

    def _costs(self, asked: Asked, whole: Mapping[Question, Question]) -> tuple[Mapping[int, float], Container[int]]:
        """Return each group's total share, by its number, and the groups with a failed query."""
        shares, failed = dict[int, float](), set[int]()
        every = [(each.questions, each.share, each.outcome is not Outcome.ANSWERED) for each in asked.sent]
        every += [
            (each.questions, each.share, bool(each.search.culprits or each.search.lost)) for each in asked.searches
        ]
        for questions, share, without_answer in every:
            asked_now = {*questions, *(whole[question] for question in questions if question in whole)}
            for of in {self.known[question].of for question in asked_now if question in self.known}:
                shares[of] = shares.get(of, 0.0) + share
                if without_answer:
                    failed.add(of)
        return shares, failed

    def _record_search(self, searched: Searched) -> None:
        """Record a search's result.

        Culprits are asked alone. If a search for rejected members used up its budget, all undecided members are asked
        alone too, because there are too many to find. Other undecided parts stay parts for the next search. The same
        holds for answered parts if no culprit explains the failure, or if they are not cheap together.
        """
        search = searched.search
        for question in searched.questions:
            self._next.pop(question, None)
        for query in search.culprits:
            outcome, message = searched.message[next(query.questions)]
            self._separate([query], Why.HEAVY if outcome.costly else Why.REFUSED, message)
        if not searched.costly and not search.budget:
            for each in [query.narrowed([key]) for query in search.lost for key in query.members]:
                self._separate([each], Why.REFUSED, "too many members of its merged query are rejected")
        else:
            self._separate(search.lost, Why.SUSPECT if searched.costly else Why.SPLIT)
        explained = search.culprits and not (searched.costly and searched.share > HEAVY_SHARE)
        if len(search.answered) + len(search.lost) > 1 and not explained:
            self._separate(search.answered, Why.SPLIT)

    def _separate_slow(self, query: PlannedQuery, share: float, samples: Mapping[Question, int]) -> None:
        """Separate the members whose samples take most of a query's time, or halve the query."""
        counts = {key: samples.get(questions[0], 0) for key, questions in query.members.items()}
        every = sum(counts.values())
        heavy = [key for key, count in counts.items() if share * count > HEAVY_SHARE * every]
        for key in heavy:
            message = f"{counts[key]} of {every} samples that took {share:.0%} of a query's time are its own"
            self._separate([query.narrowed([key])], Why.HEAVY, message)
        if not heavy and share > SLOW_SHARE:
            self._separate(halves(query), Why.SPLIT)

    def _separate_failed(self, sent: Sent, splittable: Collection[Question]) -> None:
        """Mark an unmerged query as heavy, or divide it from the next cycle on."""
        if len(sent.query.members) == 1 and self.why(sent.query) is not Why.HEAVY:
            can_split = next(sent.query.questions) in splittable
            self._separate([sent.query], Why.SPLIT if can_split else Why.HEAVY, sent.message)

    def _separate(self, parts: Sequence[PlannedQuery], why: Why, message: str = "") -> None:
        """Ask the members of each part separately from now on: alone or with one another, as `why` says."""
        if not parts or (why is not Why.REFUSED and self._costly_count(parts[0].prometheus) + len(parts) > MOST):
            return
        of = next(self._numbers)
        for each in parts:
            part = ALONE_PART if why in (Why.REFUSED, Why.HEAVY) else next(self._numbers)
            self._next.update(dict.fromkeys(each.questions, SeparateMember(why, part, of, message)))

    def _costly_count(self, prometheus: str) -> int:
        """Return how many queries to this source are separate because of their cost."""
        return len(
            {
                (known.part, known.of if known.part == ALONE_PART else None)
                for question, known in self._next.items()
                if question.prometheus == prometheus and known.why is not Why.REFUSED
            }
        )


def _quickest(sent: Iterable[Sent]) -> Mapping[str, float]:
    """Return each source's shortest share, which every query there takes. 0 where only one was sent."""
    shares: dict[str, list[float]] = {}
    for each in sent:
        if each.outcome is not Outcome.FAILED:  # the source may not have received that query
            shares.setdefault(each.query.prometheus, []).append(each.share)
    return {name: min(found) if len(found) > 1 else 0.0 for name, found in shares.items()}


def _questions(queries: Iterable[PlannedQuery]) -> list[Question]:
    return [question for query in queries for question in query.questions]
