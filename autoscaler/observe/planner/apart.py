"""What is known of members that are asked apart from the others: alone, or merged with a few.

A member leaves the merge when a query fails for it, or when its part of a query's time says that one soon will. It
comes back when it was cheap for ten minutes. Shares are of the time that a query may take.
"""

from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, NamedTuple

from autoscaler.observe.plan import Question
from autoscaler.observe.planner.bisect import Bisection, Outcome, halves
from autoscaler.observe.planner.planner import APART
from autoscaler.observe.planner.query import PlannedQuery

REMEMBERED_SECONDS: Final = 600.0
"""For how long a member has to be cheap before it is merged again."""
HEAVY_SHARE: Final = 1 / 4
"""What takes longer is not cheap."""
SLOW_SHARE: Final = 1 / 2
"""A merged query that takes longer is asked in halves from the next cycle on."""
MOST: Final = 100
"""Queries to one source that are kept apart for what they cost. With more of them, the source is slow, not a member."""


class Why(StrEnum):
    """Why a member is asked apart."""

    REFUSED = "refused"
    """Alone: the server refuses its query, or what it is merged into."""
    HEAVY = "heavy"
    """Alone, and one such query at a time: it takes long, or is over a limit on size."""
    SUSPECT = "suspect"
    """Merged with others of which one may be heavy: the next cycle searches for it."""
    SPLIT = "split"
    """Merged with a part of the members that it was merged with: all at once, they are refused, or cost too much."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of one member."""

    why: Why
    part: int
    """Only members of one part are merged; those of APART are asked alone."""
    of: int
    """Members with the same number were asked at once, and come back at once: when all of them together are cheap."""
    said: str
    """What the query came to."""
    cheap_since: float | None = None
    """In seconds on the monotonic clock; None: they were not cheap when they were asked last."""


class Sent(NamedTuple):
    """A query of the plan that was sent as a whole."""

    query: PlannedQuery
    outcome: Outcome
    share: float
    said: str = ""
    """The error's text."""

    @property
    def questions(self) -> Sequence[Question]:
        """Of all its members."""
        return list(self.query.questions)


class Searched(NamedTuple):
    """A search at its end."""

    search: Bisection
    costly: bool
    """Whether it was for a heavy member; else for one that is refused."""
    share: float
    """Of all answered parts together."""
    said: Mapping[Question, tuple[Outcome, str]]
    """What each culprit came to, with the error's text."""

    @property
    def questions(self) -> Sequence[Question]:
        """Of all its members."""
        return _questions((*self.search.answered, *self.search.culprits, *self.search.lost))


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be learned of a cycle's queries."""

    sent: Sequence[Sent] = ()
    searches: Sequence[Searched] = ()
    sound: frozenset[str] = frozenset()
    """Sources that answered a query quickly: what failed there for its cost did so by itself."""


class Apart:
    """Which members are asked apart. For one thread at a time; any thread may read `known`."""

    def __init__(self) -> None:
        self.known: Mapping[Question, Known] = {}
        self._next: dict[Question, Known] = {}
        """What takes its place at the end of `learn`."""
        self._used = APART
        """The highest number that was given to a part, or to members that come back at once."""

    def parts(self) -> Mapping[Question, int]:
        """What `Planner.plan` takes."""
        return {question: known.part for question, known in self.known.items()}

    def why(self, query: PlannedQuery) -> Why | None:
        """Why the members of a planned query are asked apart; None: they are not."""
        known = self.known.get(next(query.questions)) if self.known else None
        return None if known is None else known.why

    def forget_others(self, questions: Container[Question]) -> None:
        """Only these are still asked."""
        self.known = {question: known for question, known in self.known.items() if question in questions}

    def learn(
        self,
        asked: Asked,
        samples: Mapping[Question, int],
        whole: Mapping[Question, Question],
        shardable: Collection[Question],
        now: float,
    ) -> None:
        """What came of a cycle that ended at `now`, in seconds on the monotonic clock.

        `samples`: of each question that was answered. `whole`: of a shard's question, that whose answer it is part of.
        `shardable`: questions that can be asked in shards.
        """
        self._next = self._aged(asked, samples, whole, now)
        for searched in asked.searches:
            self._found(searched)
        quickest = _quickest(asked.sent)
        for each in asked.sent:
            if each.outcome is Outcome.ANSWERED and len(each.query.members) > 1:
                share = each.share - quickest[each.query.prometheus]
                if share > HEAVY_SHARE:
                    self._slow(each.query, share, samples)
            elif each.outcome is Outcome.TOO_LARGE or (
                each.outcome is Outcome.LATE and each.query.prometheus in asked.sound
            ):
                self._failed(each, shardable)
        self.known = self._next

    def _aged(
        self, asked: Asked, answered: Container[Question], whole: Mapping[Question, Question], now: float
    ) -> dict[Question, Known]:
        """What was known, with the time for which each was cheap, and without those that were it for long enough."""
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
        """What those that come back at once took together, by their number; and which of them had no answer."""
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

    def _found(self, searched: Searched) -> None:
        """What a search has come to.

        Culprits are asked alone. So is all that is not known yet when a search for members that are refused has used
        its budget: there are too many of them to find. The other parts that are not known yet stay parts, so that the
        next search goes on in them. So do the answered ones where no culprit explains why they failed when they were
        merged, or where they are not cheap together.
        """
        search = searched.search
        for question in searched.questions:
            self._next.pop(question, None)
        for query in search.culprits:
            outcome, said = searched.said[next(query.questions)]
            self._keep([query], Why.HEAVY if outcome.costly else Why.REFUSED, said)
        if not searched.costly and search.budget <= 0:
            for each in [query.narrowed([key]) for query in search.lost for key in query.members]:
                self._keep([each], Why.REFUSED, "too many of the members that it was merged with are refused")
        else:
            self._keep(search.lost, Why.SUSPECT if searched.costly else Why.SPLIT)
        explained = search.culprits and not (searched.costly and searched.share > HEAVY_SHARE)
        if len(search.answered) + len(search.lost) > 1 and not explained:
            self._keep(search.answered, Why.SPLIT)

    def _slow(self, query: PlannedQuery, share: float, samples: Mapping[Question, int]) -> None:
        """Members leave a query whose samples say that they take most of its time; else the query is halved."""
        counts = {key: samples.get(questions[0], 0) for key, questions in query.members.items()}
        every = sum(counts.values())
        heavy = [key for key, count in counts.items() if share * count > HEAVY_SHARE * every]
        for key in heavy:
            said = f"{counts[key]} of {every} samples that took {share:.0%} of a query's time are its own"
            self._keep([query.narrowed([key])], Why.HEAVY, said)
        if not heavy and share > SLOW_SHARE:
            self._keep(halves(query), Why.SPLIT)

    def _failed(self, sent: Sent, shardable: Collection[Question]) -> None:
        """A query that is not merged is heavy, or is asked in shards from the next cycle on."""
        if len(sent.query.members) == 1 and self.why(sent.query) is not Why.HEAVY:
            in_shards = next(sent.query.questions) in shardable
            self._keep([sent.query], Why.SPLIT if in_shards else Why.HEAVY, sent.said)

    def _keep(self, parts: Sequence[PlannedQuery], why: Why, said: str = "") -> None:
        """The members of each part are asked apart from now on: alone or with one another, as `why` says."""
        if not parts or (why is not Why.REFUSED and self._costly(parts[0].prometheus) + len(parts) > MOST):
            return
        of = self._used + 1
        for each in parts:
            self._used += 1
            part = APART if why in (Why.REFUSED, Why.HEAVY) else self._used
            self._next.update(dict.fromkeys(each.questions, Known(why, part, of, said)))

    def _costly(self, prometheus: str) -> int:
        """How many queries to this source are kept apart for what they cost."""
        return len(
            {
                (known.part, known.of if known.part == APART else None)
                for question, known in self._next.items()
                if question.prometheus == prometheus and known.why is not Why.REFUSED
            }
        )


def _quickest(sent: Iterable[Sent]) -> Mapping[str, float]:
    """The shortest share that a source had a query for: what every query there takes. 0 where only one was sent."""
    shares: dict[str, list[float]] = {}
    for each in sent:
        if each.outcome is not Outcome.FAILED:  # the source need not have had that one at all
            shares.setdefault(each.query.prometheus, []).append(each.share)
    return {name: min(found) if len(found) > 1 else 0.0 for name, found in shares.items()}


def _questions(queries: Iterable[PlannedQuery]) -> list[Question]:
    return [question for query in queries for question in query.questions]
