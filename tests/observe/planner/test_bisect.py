"""Which queries follow one that was refused."""

import random
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime, timedelta

import pytest

from autoscaler.observe.plan import Question
from autoscaler.observe.planner import APART, Bisection, Outcome, PlannedQuery, Planner, Refusals, bisect, refused
from tests.observe.planner.build import each, only, plan

NOW = datetime(2025, 6, 1, 12, tzinfo=UTC)
NOTHING = Refusals({})


def fleet(size: int) -> PlannedQuery:
    return only(plan(each("a{g=$}", *(f"v{number:03}" for number in range(size)))))


def questions(queries: tuple[PlannedQuery, ...]) -> set[Question]:
    return {question for query in queries for question in query.questions}


def search(query: PlannedQuery, culprits: AbstractSet[Question], budget: int = 40) -> tuple[Bisection, list[str]]:
    """The search to its end, against a server that refuses what has a culprit in it; and what it was asked."""
    state, asked = bisect(query, budget), []
    while found := state.next:
        asked.append(found.expr)
        state = state.after(Outcome.REFUSED if culprits & set(found.questions) else Outcome.ANSWERED)
    return state, asked


def test_the_one_at_fault_is_found_and_the_others_are_answered() -> None:
    query = fleet(250)
    culprit = list(query.questions)[77]
    state, asked = search(query, {culprit})
    assert questions(state.culprits) == {culprit}
    assert questions(state.answered) == set(query.questions) - {culprit}
    assert not state.lost
    assert len(asked) <= 16


def test_a_single_one_is_asked_as_it_is_written() -> None:
    query = fleet(2)
    assert search(query, {next(query.questions)})[1] == ['a{g="v000"}', 'a{g="v001"}']


def test_one_that_has_no_halves_is_its_own_culprit() -> None:
    query = only(plan(each("a{g=$}", "x")))
    assert bisect(query) == Bisection((), 40, culprits=(query,))


def test_nobody_is_at_fault_when_both_halves_are_answered() -> None:
    """A pattern that the server finds too complex, say."""
    query = fleet(8)
    state, asked = search(query, frozenset())
    assert (len(asked), state.culprits, state.lost) == (2, (), ())


def test_the_budget_bounds_the_queries_and_the_unasked_get_no_answer() -> None:
    query = fleet(64)
    state, asked = search(query, set(query.questions), budget=10)
    assert len(asked) == 10
    assert questions(state.culprits) == set(list(query.questions)[: len(state.culprits)])
    assert state.culprits
    assert questions(state.culprits) | questions(state.lost) == set(query.questions)


def test_without_a_budget_nothing_is_asked() -> None:
    assert bisect(fleet(4), budget=0).next is None


def test_the_deadline_ends_it() -> None:
    state = bisect(fleet(4)).after(Outcome.ANSWERED).stopped()
    assert state.next is None
    assert (len(questions(state.answered)), len(questions(state.lost))) == (2, 2)


def test_a_server_that_fails_is_not_asked_again() -> None:
    """Not for the other half either."""
    query = fleet(8)
    state = bisect(query).after(Outcome.FAILED)
    assert state.next is None
    assert questions(state.lost) == set(query.questions)


@pytest.mark.parametrize("seed", range(20))
def test_each_member_ends_up_in_one_place(seed: int) -> None:
    chance = random.Random(seed)
    query = fleet(chance.randint(2, 250))
    state = bisect(query, chance.randint(0, 30))
    while state.next:
        state = state.after(chance.choice([Outcome.ANSWERED, Outcome.REFUSED, Outcome.REFUSED, Outcome.FAILED]))
    ends = [
        question
        for group in (state.answered, state.culprits, state.lost)
        for each in group
        for question in each.questions
    ]
    assert sorted(ends) == sorted(query.questions)


def test_a_culprit_is_asked_alone_for_ten_minutes() -> None:
    query = fleet(8)
    culprit = list(query.questions)[3]
    refusals = NOTHING.found(search(query, {culprit})[0], NOW)
    assert refusals.parts(NOW + timedelta(minutes=9, seconds=59)) == {culprit: APART}
    assert refusals.parts(NOW + timedelta(minutes=10)) == {}


def test_many_at_fault_are_found_over_some_cycles_while_the_others_are_answered() -> None:
    """Those that were answered once no longer depend on a search that goes on."""
    every = list(fleet(200).questions)
    culprits, refusals, planner = set(every[50:120]), NOTHING, Planner()
    answered: list[int] = []
    for _ in range(20):
        count = 0
        for query in planner.plan(every, refusals.parts(NOW)).queries:
            if not culprits & set(query.questions):
                count += len(list(query.questions))
            elif query.form:
                state = search(query, culprits)[0]
                count += len(questions(state.answered))
                refusals = refusals.found(state, NOW)
        answered.append(count)
        if count == 130:
            break
    assert answered == sorted(answered)
    assert answered[-1] == 130, answered
    assert len(answered) < 8


def test_halves_that_are_answered_stay_halves_when_nobody_is_at_fault() -> None:
    """Else the whole would be refused in every cycle."""
    query = fleet(8)
    refusals = NOTHING.found(search(query, frozenset())[0], NOW)
    again = Planner().plan(list(query.questions), refusals.parts(NOW)).queries
    assert [len(each.members) for each in again] == [4, 4]


def test_what_is_over_is_forgotten() -> None:
    refusals = NOTHING.kept_apart((fleet(4),), NOW).kept_apart((fleet(2),), NOW + timedelta(hours=1))
    assert len(refusals.until) == 2


@pytest.mark.parametrize(
    ("status", "kind", "error", "expected"),
    [
        (422, "execution", "found duplicate series for the match group {} on the left hand-side", Outcome.REFUSED),
        (400, "bad_data", "1:5: parse error: unexpected end of input", Outcome.REFUSED),
        (422, "422", "cannot execute query: duplicate time series", Outcome.REFUSED),
        (422, "execution", "query processing would load too many samples into memory", Outcome.FAILED),
        (422, "execution", "the query exceeded the maximum number of series", Outcome.FAILED),
        (503, "timeout", "query timed out in query execution", Outcome.FAILED),
        (503, "execution", "anything", Outcome.FAILED),
        (429, "too_many_requests", "slow down", Outcome.FAILED),
        (401, "unauthorized", "who are you", Outcome.FAILED),
    ],
)
def test_only_an_error_of_the_expression_is_searched_for(status: int, kind: str, error: str, expected: Outcome) -> None:
    assert refused(status, kind, error) is expected
