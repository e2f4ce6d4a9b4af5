"""The plan of each cycle, made anew only where the questions changed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from autoscaler.observe.plan import Question
from autoscaler.observe.planner.merge import ALONE, Choice, Limits, Member, by_shape, choose, queries
from autoscaler.observe.planner.query import Plan, PlannedQuery, alone
from autoscaler.observe.planner.reading import Reading, Shape, read
from autoscaler.observe.planner.rewrite import Rewriting, rewrite
from autoscaler.observe.planner.tagged import Unproven

ASKED_ALONE: Final = "it is kept out of the merge"
APART: Final = 0
"""The part of those that are asked as they are written."""
_NOBODY: Final[Mapping[Question, int]] = {}
_PLANS: Final = 4
"""Kept: shards whose autoscalers have several sync periods ask different sets in turn."""
_SPARE: Final = 1000
"""Readings that are kept although nobody asks for them in this cycle."""

_Proofs: TypeAlias = dict[tuple[Shape, tuple[int, ...]], Rewriting | str]


class Planner:
    """For one thread at a time. What it returns depends on its arguments only; what it keeps makes it quick.

    The first plan costs a look at each text and one parse for each shape that two questions share.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        """`limits`: how large a merged query may get."""
        self._limits = limits or Limits()
        self._readings: dict[Question, Reading | str] = {}
        self._shapes: dict[Shape, Shape] = {}  # each once: thousands of readings share a few
        self._proofs: _Proofs = {}
        self._plans: dict[tuple[tuple[Question, ...], frozenset[tuple[Question, int]]], Plan] = {}

    def plan(self, questions: Sequence[Question], parts: Mapping[Question, int] = _NOBODY) -> Plan:
        """The queries that answer these questions.

        `parts`: which of them are merged with those of the same part only, or not at all (APART); see `apart.py`.
        """
        wanted = tuple(dict.fromkeys(questions))
        at = wanted, frozenset((question, part) for question, part in parts.items())
        if (plan := self._plans.get(at)) is None:
            self._forget(len(wanted))
            plan = Plan(tuple(self._queries(wanted, parts)))
            if len(self._plans) == _PLANS:
                del self._plans[next(iter(self._plans))]
        else:
            del self._plans[at]  # the newest is the last
        self._plans[at] = plan
        return plan

    def _forget(self, asked: int) -> None:
        """Texts and proofs of long ago: a daemon's configuration may change every minute for years."""
        if len(self._readings) > 2 * asked + _SPARE:
            self._readings.clear()
            self._shapes.clear()
            self._proofs.clear()

    def _queries(self, wanted: Sequence[Question], parts: Mapping[Question, int]) -> Iterator[PlannedQuery]:
        members = []
        for question in wanted:
            reading = self._read(question)
            part = parts.get(question, -1)
            if isinstance(reading, str):
                yield alone(question, reading)
            elif part == APART:
                yield alone(question, ASKED_ALONE)
            else:
                members.append(Member(question, reading, part))
        for same in by_shape(members).values():
            if len(same) == 1:
                yield alone(same[0].question, ALONE)
                continue
            choice = choose(same[0].reading.labels, [member.reading.values for member in same])
            yield from queries(same, choice, self._proof(same[0], choice), self._limits)

    def _read(self, question: Question) -> Reading | str:
        if question not in self._readings:
            reading = read(question.prometheus, question.expr)
            if isinstance(reading, Reading):
                reading = replace(reading, shape=self._shapes.setdefault(reading.shape, reading.shape))
            self._readings[question] = reading
        return self._readings[question]

    def _proof(self, example: Member, choice: Choice) -> Rewriting | str:
        """How expressions like this one are written at once, or why they are not."""
        if not choice.open:  # they are the same, but for their quotes
            return ALONE
        reading = example.reading
        at = reading.shape, choice.open
        if at not in self._proofs:
            try:
                self._proofs[at] = rewrite(example.question.expr, reading, frozenset(choice.open))
            except Unproven as error:
                self._proofs[at] = str(error)
        return self._proofs[at]
