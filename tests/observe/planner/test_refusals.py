"""What later cycles do about merged queries that did not work."""

from datetime import UTC, datetime, timedelta

from autoscaler.observe.planner import APART, Outcome, Planner, Refusals, bisect
from tests.observe.planner.searching import fleet, questions, search

NOW = datetime(2025, 6, 1, 12, tzinfo=UTC)
NOTHING = Refusals({})


def test_a_culprit_is_asked_alone_for_ten_minutes() -> None:
    query = fleet(8)
    culprit = list(query.questions)[3]
    refusals = NOTHING.found(search(query, {culprit})[0], NOW)
    assert refusals.parts(NOW + timedelta(minutes=9, seconds=59)) == {culprit: APART}
    assert refusals.parts(NOW + timedelta(minutes=10)) == {}


def test_where_many_are_at_fault_the_others_are_answered_in_the_next_cycle() -> None:
    """A search for a third of them would take many cycles: they are asked as they are written, as without a planner."""
    every = list(fleet(200).questions)
    culprits, refusals, planner = set(every[50:120]), NOTHING, Planner()
    answered: list[int] = []
    for _ in range(2):
        count = 0
        for query in planner.plan(every, refusals.parts(NOW)).queries:
            if not culprits & set(query.questions):
                count += len(list(query.questions))
            elif query.form:
                state = search(query, culprits)[0]
                count += len(questions(state.answered))
                refusals = refusals.found(state, NOW)
        answered.append(count)
    assert 0 < answered[0] < answered[1] == 130


def test_a_search_without_time_goes_on_in_the_next_cycle() -> None:
    """Those that were answered no longer depend on it."""
    query = fleet(64)
    refusals = NOTHING.found(bisect(query).after(Outcome.ANSWERED).stopped(), NOW)
    later = Planner().plan(list(query.questions), refusals.parts(NOW)).queries
    assert [len(each.members) for each in later] == [32, 32]


def test_a_culprit_that_is_refused_alone_stays_out_for_longer() -> None:
    """Else the others would pay for another search every ten minutes."""
    culprit = next(fleet(2).questions)
    refusals = NOTHING.alone([culprit], NOW).alone([culprit], NOW + timedelta(minutes=9))
    assert refusals.parts(NOW + timedelta(minutes=18)) == {culprit: APART}


def test_halves_that_are_answered_stay_halves_when_nobody_is_at_fault() -> None:
    """Else the whole would be refused in every cycle."""
    query = fleet(8)
    refusals = NOTHING.found(search(query, frozenset())[0], NOW)
    again = Planner().plan(list(query.questions), refusals.parts(NOW)).queries
    assert [len(each.members) for each in again] == [4, 4]


def test_what_is_over_is_forgotten() -> None:
    refusals = NOTHING.kept_apart((fleet(4),), NOW).kept_apart((fleet(2),), NOW + timedelta(hours=1))
    assert len(refusals.until) == 2


def test_a_member_that_is_too_large_is_alone_after_some_cycles() -> None:
    every = list(fleet(200).questions)
    refusals, planner = NOTHING, Planner()
    for _ in range(9):
        queries = planner.plan(every, refusals.parts(NOW)).queries
        large = next(query for query in queries if every[99] in query.questions)
        refusals = refusals.too_large(large, NOW)
    assert (large.expr, len(queries)) == (every[99].expr, 8)
