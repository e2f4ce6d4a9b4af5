"""Makes each cycle's plan, and reuses it while the questions stay the same."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final, TypeAlias

from autoscaler.observe.plan import Question
from autoscaler.observe.planner.expression_text import ExpressionText, Shape, read
from autoscaler.observe.planner.expressions import Unproven
from autoscaler.observe.planner.merge import ALONE, Choice, Limits, Member, by_shape, choose, queries
from autoscaler.observe.planner.proof import Proof
from autoscaler.observe.planner.query import PlannedQuery, alone
from autoscaler.observe.planner.rewrite import rewrite

_ASKED_ALONE: Final = "it is excluded from merging"
_NO_LIMITS: Final[Mapping[str, int]] = {}
_PLANS: Final = 4
"""Plans kept. Autoscalers with different sync periods ask different sets in turn."""
_SPARE: Final = 1000
"""Texts kept although no question of this cycle uses them."""

_Proofs: TypeAlias = dict[tuple[Shape, tuple[int, ...]], Proof | str]


class Planner:
    """Plans queries, for one thread at a time. The result depends only on the arguments; the state is a cache.

    The first plan scans each text once and parses each shape that two questions share once.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        """`limits`: the size limits of a merged query."""
        self._limits = limits or Limits()
        self._readings: dict[Question, ExpressionText | str] = {}
        self._shapes: dict[Shape, Shape] = {}  # interned: thousands of texts share a few shapes
        self._proofs: _Proofs = {}
        self._planned = lru_cache(_PLANS)(self._make)

    def plan(
        self,
        questions: Sequence[Question],
        asked_alone: Collection[Question] = (),
        longest: Mapping[str, int] = _NO_LIMITS,
    ) -> Sequence[PlannedQuery]:
        """Return the queries that answer these questions, in the order in which they are first needed.

        Each question is in one query.

        `asked_alone`: questions that are not merged.
        `longest`: sources with less room for a merged query's text, with its bytes.
        """
        return self._planned(tuple(dict.fromkeys(questions)), frozenset(asked_alone), frozenset(longest.items()))

    def _make(
        self, wanted: tuple[Question, ...], asked_alone: frozenset[Question], longest: frozenset[tuple[str, int]]
    ) -> Sequence[PlannedQuery]:
        self._forget(len(wanted))
        return tuple(self._queries(wanted, asked_alone, dict(longest)))

    def _forget(self, asked: int) -> None:
        """Clear old cache entries. A configuration may change every minute for years."""
        if len(self._readings) > 2 * asked + _SPARE:
            self._readings.clear()
            self._shapes.clear()
            self._proofs.clear()

    def _queries(
        self, wanted: Sequence[Question], asked_alone: Collection[Question], longest: Mapping[str, int]
    ) -> Iterator[PlannedQuery]:
        members = []
        for question in wanted:
            reading = self._read(question)
            if isinstance(reading, str):
                yield alone(question, reading)
            elif question in asked_alone:
                yield alone(question, _ASKED_ALONE)
            else:
                members.append(Member(question, reading))
        for same in by_shape(members).values():
            if len(same) == 1:
                yield alone(same[0].question, ALONE)
                continue
            choice = choose(same[0].reading.labels, [member.reading.values for member in same])
            limits = self._limits
            if (room := longest.get(same[0].question.prometheus)) is not None:
                limits = replace(limits, text_bytes=min(room, limits.text_bytes))
            yield from queries(same, choice, self._proof(same[0], choice), limits)

    def _read(self, question: Question) -> ExpressionText | str:
        if question not in self._readings:
            reading = read(question.prometheus, question.expr)
            if isinstance(reading, ExpressionText):
                reading = replace(reading, shape=self._shapes.setdefault(reading.shape, reading.shape))
            self._readings[question] = reading
        return self._readings[question]

    def _proof(self, example: Member, choice: Choice) -> Proof | str:
        """Return how expressions like this one are merged, or why they are not."""
        if not choice.open:  # they differ only in quoting
            return ALONE
        reading = example.reading
        at = reading.shape, choice.open
        if at not in self._proofs:
            try:
                self._proofs[at] = rewrite(example.question.expr, reading, frozenset(choice.open))
            except Unproven as error:
                self._proofs[at] = str(error)
        return self._proofs[at]
