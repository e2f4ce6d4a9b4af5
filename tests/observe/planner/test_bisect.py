"""The queries that follow a rejected one."""

import random

import pytest

from autoscaler.observe.planner import Outcome, bisect, refused
from tests.observe.planner.searching import fleet, questions, search


def test_the_culprit_is_found_and_the_others_are_answered() -> None:
    query = fleet(250)
    culprit = list(query.questions)[77]
    state, asked = search(query, {culprit})
    assert questions(state.culprits) == {culprit}
    assert questions(state.answered) == set(query.questions) - {culprit}
    assert not state.lost
    assert len(asked) <= 16


def test_a_single_member_is_asked_as_written() -> None:
    query = fleet(2)
    assert search(query, {next(query.questions)})[1] == ['a{g="v000"}', 'a{g="v001"}']


def test_without_failing_halves_there_is_no_culprit() -> None:
    """For example, a pattern that the server finds too complex."""
    query = fleet(8)
    state, asked = search(query, frozenset())
    assert (len(asked), state.culprits, state.lost) == (2, (), ())


def test_the_budget_limits_the_queries_of_a_search() -> None:
    query = fleet(64)
    every = list(query.questions)
    state, asked = search(query, set(every[32:]), budget=10)
    assert len(asked) == 10
    assert questions(state.answered) == set(every[:32])
    assert questions(state.culprits) | questions(state.lost) == set(every[32:])


def test_without_a_budget_nothing_is_asked() -> None:
    assert bisect(fleet(4), budget=0).next is None


def test_the_deadline_ends_a_search() -> None:
    state = bisect(fleet(4)).after(Outcome.ANSWERED).stopped()
    assert state.next is None
    assert (len(questions(state.answered)), len(questions(state.lost))) == (2, 2)


def test_larger_parts_are_asked_before_smaller_ones() -> None:
    """If a part is late, healthy members do not wait for the search."""
    query = fleet(8)
    _, asked = search(query, {next(query.questions)})
    assert [text.count("v") for text in asked] == [4, 4, 2, 2, 1, 1]


@pytest.mark.parametrize("failure", [Outcome.LATE, Outcome.TOO_LARGE])
def test_a_costly_part_is_halved_like_a_rejected_one(failure: Outcome) -> None:
    state = bisect(fleet(2)).after(Outcome.ANSWERED).after(failure)
    assert (len(state.answered), len(state.culprits), state.lost) == (1, 1, ())


def test_a_server_that_fails_is_not_asked_again() -> None:
    """The other half is not asked either."""
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
        state = state.after(chance.choice([Outcome.ANSWERED, Outcome.REFUSED, Outcome.LATE, Outcome.FAILED]))
    ends = [
        question
        for group in (state.answered, state.culprits, state.lost)
        for each in group
        for question in each.questions
    ]
    assert sorted(ends) == sorted(query.questions)


@pytest.mark.parametrize(
    ("status", "kind", "error", "expected"),
    [
        (422, "execution", "found duplicate series for the match group {} on the left hand-side", Outcome.REFUSED),
        (400, "bad_data", "1:5: parse error: unexpected end of input", Outcome.REFUSED),
        (422, "422", "cannot execute query: duplicate time series", Outcome.REFUSED),
        (422, "execution", "query processing would load too many samples into memory", Outcome.TOO_LARGE),
        (422, "execution", "the query exceeded the maximum number of series", Outcome.TOO_LARGE),
        (422, "execution", 'found duplicate series for the match group {asg="too many \\"limit"}', Outcome.REFUSED),
        (422, "422", "cannot select more than -search.maxSamplesPerQuery=1000", Outcome.TOO_LARGE),
        (503, "timeout", "query timed out in query execution", Outcome.LATE),
        (503, "503", "cannot execute query: timeout exceeded", Outcome.LATE),
        (422, "execution", "expanding series: context deadline exceeded", Outcome.LATE),
        (422, "execution", 'found duplicate series for the match group {asg="timed out"}', Outcome.REFUSED),
        (503, "unavailable", "service is starting", Outcome.FAILED),
        (503, "execution", "anything", Outcome.FAILED),
        (429, "too_many_requests", "slow down", Outcome.FAILED),
        (401, "unauthorized", "who are you", Outcome.FAILED),
    ],
)
def test_only_an_error_of_the_expression_is_searched_for(status: int, kind: str, error: str, expected: Outcome) -> None:
    assert refused(status, kind, error) is expected
