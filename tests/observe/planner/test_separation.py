"""How later cycles handle queries that failed or were slow."""

from collections.abc import Mapping, Sequence

import pytest

from autoscaler.observe.plan import Question
from autoscaler.observe.planner import (
    ALONE_PART,
    Asked,
    Bisection,
    Outcome,
    Planner,
    Searched,
    Sent,
    Separation,
    Why,
    alone,
    bisect,
)
from autoscaler.observe.planner.separation import HEAVY_SHARE, MOST
from tests.observe.planner.build import ask
from tests.observe.planner.searching import fleet, questions, search

SOUND = frozenset({"default"})
LATE = (Outcome.LATE, "did not answer")


def came(
    apart: Separation,
    *what: Sent | Searched,
    now: float = 0.0,
    samples: Mapping[Question, int] | None = None,
    responsive: bool = True,
    whole: Mapping[Question, Question] | None = None,
    shardable: Sequence[Question] = (),
) -> Separation:
    """Return a cycle with these results."""
    asked = Asked(
        [each for each in what if isinstance(each, Sent)],
        [each for each in what if isinstance(each, Searched)],
        SOUND if responsive else frozenset(),
    )
    apart.learn(asked, samples or {}, whole or {}, shardable, now)
    return apart


def refused(state: Bisection) -> Searched:
    """Return a finished search for rejected members."""
    return Searched(state, False, 0.0, dict.fromkeys(questions(state.culprits), (Outcome.REFUSED, "no")))


def costly(state: Bisection, share: float = 0.0) -> Searched:
    """Return a finished search for heavy members."""
    return Searched(state, True, share, dict.fromkeys(questions(state.culprits), LATE))


def planned(apart: Separation, every: Sequence[Question]) -> list[int]:
    """Return the number of members of each query in the next cycle."""
    return [len(query.members) for query in Planner().plan(every, apart.parts())]


def cheap(question: Question, outcome: Outcome = Outcome.ANSWERED, share: float = 0.01) -> Sent:
    """Return the result of a cheap question that is asked alone."""
    return Sent(alone(question), outcome, share)


def test_a_culprit_is_asked_alone_until_it_was_cheap_for_ten_minutes() -> None:
    query = fleet(8)
    culprit = list(query.questions)[3]
    apart = came(Separation(), refused(search(query, {culprit})[0]))
    came(apart, cheap(culprit), now=1000)
    came(apart, cheap(culprit), now=1599)
    assert apart.parts() == {culprit: ALONE_PART}
    came(apart, cheap(culprit), now=1600)
    assert apart.parts() == {}


@pytest.mark.parametrize(
    "again", [cheap(ask("x"), Outcome.LATE, 1.0), cheap(ask("x"), share=0.3), cheap(ask("x"), Outcome.FAILED)]
)
def test_a_member_that_alternates_stays_alone(again: Sent) -> None:
    """A failure restarts the ten minutes. Otherwise the other members would pay for each change."""
    apart = came(Separation(), cheap(ask("x"), Outcome.LATE, 1.0))
    for now in range(0, 6000, 500):
        came(apart, cheap(ask("x")), now=now)
        came(apart, again, now=now + 10)
    assert apart.parts() == {ask("x"): ALONE_PART}


def test_a_quarter_of_a_querys_time_is_cheap() -> None:
    apart = came(Separation(), cheap(ask("x"), Outcome.LATE, 1.0))
    for now in (1000, 1600):
        came(apart, cheap(ask("x"), share=HEAVY_SHARE), now=now)
    assert apart.parts() == {}


def test_a_member_that_is_rarely_asked_stays_alone() -> None:
    """Its autoscaler has a sync period of an hour, and unasked time does not count as cheap."""
    apart = came(Separation(), cheap(ask("x"), Outcome.LATE, 1.0))
    came(apart, cheap(ask("y")), now=10_000)
    assert apart.parts() == {ask("x"): ALONE_PART}


def test_with_many_culprits_the_others_are_answered_in_the_next_cycle() -> None:
    """A search for a third of them would take many cycles, so all are asked as written."""
    every = list(fleet(200).questions)
    culprits, apart, planner = set(every[50:120]), Separation(), Planner()
    answered: list[int] = []
    for _ in range(2):
        count, found = 0, list[Searched]()
        for query in planner.plan(every, apart.parts()):
            if not culprits & set(query.questions):
                count += len(list(query.questions))
            elif query.form:
                state = search(query, culprits)[0]
                count += len(questions(state.answered))
                found.append(refused(state))
        came(apart, *found)
        answered.append(count)
    assert 0 < answered[0] < answered[1] == 130


def test_healthy_members_are_merged_again_after_ten_minutes() -> None:
    """Each returns by itself, whatever the others' errors or costs are."""
    query = fleet(200)
    every = list(query.questions)
    culprits = set(every[::3])
    apart = came(Separation(), refused(search(query, culprits)[0]))
    alone = [each for each, part in apart.parts().items() if part == ALONE_PART]
    assert culprits & set(alone) < set(alone)
    for now in (1000, 1600):
        came(
            apart, *[cheap(each, Outcome.REFUSED if each in culprits else Outcome.ANSWERED) for each in alone], now=now
        )
    assert set(apart.parts()) == culprits & set(alone)


def test_a_search_for_rejected_members_continues_in_the_next_cycle() -> None:
    """Answered members no longer depend on the search."""
    query = fleet(64)
    apart = came(Separation(), refused(bisect(query).after(Outcome.ANSWERED).stopped()))
    assert planned(apart, list(query.questions)) == [32, 32]


def test_answered_halves_stay_halves_without_a_culprit() -> None:
    """Otherwise the whole query would be rejected in every cycle."""
    query = fleet(8)
    apart = came(Separation(), refused(search(query, frozenset())[0]))
    assert planned(apart, list(query.questions)) == [4, 4]


def test_a_heavy_member_is_alone_and_the_others_are_merged_again_at_once() -> None:
    query = fleet(41)
    heavy = list(query.questions)[7]
    apart = came(Separation(), costly(search(query, {heavy})[0]))
    assert [(known.why, known.message) for known in apart.known.values()] == [(Why.HEAVY, "did not answer")]
    assert sorted(planned(apart, list(query.questions))) == [1, 40]


def test_unasked_members_of_a_search_are_suspect_until_answered() -> None:
    query = fleet(64)
    apart = came(Separation(), costly(bisect(query).after(Outcome.ANSWERED).stopped()))
    well, suspects = Planner().plan(list(query.questions), apart.parts())
    assert [(len(each.members), apart.why(each)) for each in (well, suspects)] == [(32, Why.SPLIT), (32, Why.SUSPECT)]
    came(apart, Sent(suspects, Outcome.ANSWERED, 0.1))
    assert {known.why for known in apart.known.values()} == {Why.SPLIT}


def test_answered_suspects_stay_parts_while_costly_together() -> None:
    """Merged again, all of them would be late in every second cycle."""
    query = fleet(64)
    every = list(query.questions)
    apart = came(Separation(), costly(bisect(query).stopped()))
    halves = Planner().plan(every, apart.parts())
    came(apart, *[Sent(each, Outcome.ANSWERED, 0.6) for each in halves], samples=dict.fromkeys(every, 1))
    assert {known.why for known in apart.known.values()} == {Why.SPLIT}
    assert planned(apart, every) == [32, 32]


def test_a_search_for_very_many_heavy_members_continues() -> None:
    """Otherwise every cycle would spend its budget on the same parts."""
    every = list(fleet(200).questions)
    heavy, apart = set(every[::10]), Separation()
    for _ in range(4):
        found, budget = list[Searched | Sent](), 40
        for query in Planner().plan(every, apart.parts()):
            if heavy & set(query.questions) and not query.form:
                found.append(Sent(query, Outcome.LATE, 1.0))
            elif heavy & set(query.questions) and budget >= 2:
                state = search(query, heavy, budget)[0]
                found.append(costly(state))
                budget = state.budget
        came(apart, *found)
    assert {question for question, known in apart.known.items() if known.why is Why.HEAVY} == heavy


def test_parts_that_are_costly_together_return_together() -> None:
    """Merged again, healthy members would be late every ten minutes."""
    query = fleet(8)
    every = list(query.questions)
    apart = came(Separation(), costly(search(query, frozenset())[0], share=1.2))

    def again(share: float, now: float) -> list[int]:
        sent = [Sent(each, Outcome.ANSWERED, share) for each in Planner().plan(every, apart.parts())]
        return planned(came(apart, *sent, now=now), every)

    assert again(0.2, 1000) == again(0.2, 2000) == again(0.1, 3000) == again(0.1, 3599) == [4, 4]
    assert again(0.1, 3600) == [8]


def test_a_member_with_most_samples_leaves_before_it_fails() -> None:
    query = fleet(8)
    every = list(query.questions)
    samples = dict.fromkeys(every, 10) | {every[2]: 930}
    apart = came(Separation(), Sent(query, Outcome.ANSWERED, 0.3), samples=samples)
    assert {each: known.message for each, known in apart.known.items()} == {
        every[2]: "930 of 1000 samples that took 30% of a query's time are its own"
    }


def test_a_slow_query_without_a_dominant_member_is_halved() -> None:
    """A sum is one sample, whatever it reads. The slower half is halved in turn."""
    every = list(fleet(8).questions)
    apart = Separation()

    def cycle() -> list[int]:
        queries = Planner().plan(every, apart.parts())
        shares = [0.6 if every[0] in query.questions else 0.01 for query in queries]
        sent = [Sent(query, Outcome.ANSWERED, share) for query, share in zip(queries, shares, strict=True)]
        return sorted(planned(came(apart, *sent, samples=dict.fromkeys(every, 1)), every))

    assert [cycle() for _ in range(4)] == [[4, 4], [2, 2, 4], [1, 1, 2, 4], [1, 1, 2, 4]]


def test_a_generally_slow_source_does_not_get_more_queries() -> None:
    """The quickest query's time is not caused by any member."""
    every = list(fleet(64).questions)
    apart = Separation()
    for _ in range(10):
        queries = Planner().plan(every, apart.parts())
        came(apart, *[Sent(query, Outcome.ANSWERED, 0.7) for query in queries], samples=dict.fromkeys(every, 1))
    assert planned(apart, every) == [32, 32]


def test_a_query_that_was_not_sent_does_not_make_the_others_slow() -> None:
    first, second = (Sent(fleet(size), Outcome.ANSWERED, 0.7) for size in (8, 9))
    unsent = cheap(ask("x"), Outcome.FAILED, 0.0)
    assert not came(Separation(), first, second, unsent).known


def test_nothing_is_learned_of_a_source_that_answers_nothing_quickly() -> None:
    """Otherwise an outage would make all queries run one at a time."""
    late = [cheap(ask(f"x{number}"), Outcome.LATE, 1.0) for number in range(20)]
    assert not came(Separation(), *late, responsive=False).known
    assert len(came(Separation(), *late).known) == 20


def test_an_unmerged_costly_query_is_heavy_or_asked_in_parts() -> None:
    late = cheap(ask("load"), Outcome.LATE, 1.0)
    assert came(Separation(), late).known[ask("load")].why is Why.HEAVY
    assert came(Separation(), late, shardable=[ask("load")]).known[ask("load")].why is Why.SPLIT


def test_a_shared_answer_stays_in_parts_while_they_are_costly_together() -> None:
    load, shards = ask("load"), [ask('load{g="a"}'), ask('load{g="b"}')]
    apart = came(Separation(), cheap(load, Outcome.LATE, 1.0), shardable=[load])

    def again(share: float, now: float) -> bool:
        sent = [cheap(each, share=share) for each in shards]
        return load in came(apart, *sent, now=now, whole=dict.fromkeys(shards, load)).known

    assert [again(0.2, 0), again(0.1, 1000), again(0.1, 1599), again(0.1, 1600)] == [True, True, True, False]


def test_the_number_of_separate_members_is_bounded() -> None:
    """With so many separate queries, the source itself is slow, and each would add a query per cycle."""
    late = [cheap(ask(f"x{number}"), Outcome.LATE, 1.0) for number in range(10_000)]
    assert len(came(Separation(), *late).known) == MOST


def test_members_that_are_no_longer_asked_are_forgotten() -> None:
    apart = came(Separation(), *[cheap(ask(name), Outcome.LATE, 1.0) for name in "xy"])
    apart.forget_others({ask("y")})
    assert set(apart.known) == {ask("y")}


def test_two_heavy_members_are_both_found() -> None:
    query = fleet(250)
    every = list(query.questions)
    apart = came(Separation(), costly(search(query, {every[3], every[200]})[0]))
    assert set(apart.known) == {every[3], every[200]}
