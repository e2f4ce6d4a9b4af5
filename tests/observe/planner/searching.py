"""Merged queries that are rejected, and the search in them."""

from collections.abc import Set as AbstractSet

from autoscaler.observe.plan import Question
from autoscaler.observe.planner import Bisection, Outcome, PlannedQuery, bisect
from tests.observe.planner.build import each, only, plan


def fleet(size: int) -> PlannedQuery:
    return only(plan(each("a{g=$}", *(f"v{number:03}" for number in range(size)))))


def questions(queries: tuple[PlannedQuery, ...]) -> set[Question]:
    return {question for query in queries for question in query.questions}


def search(query: PlannedQuery, culprits: AbstractSet[Question], budget: int = 40) -> tuple[Bisection, list[str]]:
    """Run a search against a server that rejects queries with a culprit. Returns the result and the queries."""
    state, asked = bisect(query, budget), []
    while found := state.next:
        asked.append(found.expr)
        state = state.after(Outcome.REFUSED if culprits & set(found.questions) else Outcome.ANSWERED)
    return state, asked
