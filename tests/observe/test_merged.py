"""Queries that are merged, from the autoscalers' expressions to their readings, against a scripted server."""

import threading
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from autoscaler.observe.planner import Limits, Planner
from autoscaler.observe.queries import Queries
from tests.observe.build import NOW
from tests.observe.scripted import Answer, Scripted, Shard, Simulated, answered, fleet, refused, sample, scripted

DUPLICATE = "found duplicate series for the match group"


def well(count: int, *but: str) -> dict[str, int]:
    """What each of a fleet should read."""
    return {f"g{number}": 1000 * number for number in range(count) if f"g{number}" not in but}


def refusing(*culprits: str) -> Any:
    def answer(groups: Sequence[str]) -> Answer:
        return refused(DUPLICATE) if set(culprits) & set(groups) else answered(groups)

    return answer


def test_300_expressions_are_two_queries() -> None:
    """Each was a request of its own, and that is where every peer stops."""
    with scripted() as server:
        shard = Shard(server, fleet(300))
        assert shard.values() == well(300)
        assert len(server.taken()) == 2
        assert shard.values() == well(300)
        assert len(server.taken()) == 2


def test_expressions_are_asked_as_written_when_merging_is_switched_off() -> None:
    with scripted() as server:
        shard = Shard(server, fleet(5), merge_queries=False)
        assert shard.values() == well(5)
        assert sorted(server.taken()) == [f'load{{group="g{number}"}}' for number in range(5)]


def test_one_at_fault_costs_only_itself_in_the_same_cycle() -> None:
    """Before the merge it was one failed query among many; it must not fail the others now."""
    with scripted() as server:
        server.answer = refusing("g77")
        shard = Shard(server, fleet(200))
        values = shard.values()
        assert DUPLICATE in str(values.pop("g77"))
        assert values == well(200, "g77")
        assert len(server.taken()) <= 17


def test_the_one_at_fault_is_asked_alone_for_ten_minutes_and_a_reload_forgets_nothing() -> None:
    """No search in every cycle. Each look is by another observer, as after a reload; the wall clock says nothing."""
    with scripted() as server:
        server.answer = refusing("g3")
        shard = Shard(server, fleet(8))
        shard.look()
        server.taken()
        for minutes in (1, 9, 18):
            shard.clock.seconds = 60 * minutes
            shard.queries.follow(shard.scalers)
            assert DUPLICATE in str(shard.values(now=NOW + timedelta(days=minutes))["g3"])
            alone, together = sorted(server.taken(), key=len)
            assert (alone, "g3" in together) == ('load{group="g3"}', False)
        server.answer = answered
        for minutes, count in ((20, 2), (29, 2), (30, 2), (31, 1)):
            shard.clock.seconds = 60 * minutes
            assert shard.values() == well(8)
            assert len(server.taken()) == count


def test_what_is_known_of_an_autoscaler_goes_with_it() -> None:
    """And of the others it stays."""
    with scripted() as server:
        server.answer = refusing("g2", "g3")
        shard = Shard(server, fleet(8))
        shard.look()
        assert [each.autoscalers for each in shard.queries.asked_alone()] == [("g2",), ("g3",)]
        shard.queries.follow(shard.scalers[:3])
        assert [each.question.expr for each in shard.queries.asked_alone()] == ['load{group="g2"}']


@pytest.mark.slow
def test_where_many_are_at_fault_all_others_are_read_from_the_next_cycle_on() -> None:
    """More than a search can find: then all are asked as they were before there was a planner."""
    culprits = [f"g{number}" for number in range(0, 200, 3)]
    with scripted() as server:
        server.answer = refusing(*culprits)
        shard = Shard(server, fleet(200))
        first = shard.values()
        assert len(server.taken()) == 41
        assert "it was asked together with others" in str(first["g199"])
        assert {name: value for name, value in shard.values().items() if isinstance(value, int)} == well(200, *culprits)


@pytest.mark.parametrize(
    "failure",
    [
        refused("query timed out in query execution", 503, "timeout"),
        refused("expanding series: context canceled", 422, "canceled"),
        refused("out of memory", 500, "internal"),
        refused("query processing would load too many samples into memory in query execution"),
        refused("too many requests", 429, "too_many_requests"),
    ],
)
def test_a_server_that_has_too_much_to_do_is_asked_no_more_queries(failure: Answer) -> None:
    """A search would be a burst on a server that is down already. One member is asked to tell it from a heavy one."""
    with scripted() as server:
        server.answer = lambda groups: failure
        shard = Shard(server, fleet(300))
        for _ in range(5):
            values = shard.values()
            assert not [value for value in values.values() if isinstance(value, int)]
            assert len(server.taken()) <= 4
        server.answer = answered
        assert shard.values() == well(300)
        assert len(server.taken()) == 3


def simulated(monkeypatch: pytest.MonkeyPatch, count: int, **source: Any) -> tuple[Shard, Simulated]:
    """A fleet over a source that answers one query after another, and whose time passes as told."""
    shard = Shard(Scripted(), fleet(count), concurrency=1, **source)
    return shard, Simulated(shard, monkeypatch)


def test_a_server_that_answers_nothing_in_time_is_asked_as_many_queries_as_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two merged queries and two to tell, in every cycle. Nothing is learned, for the time when it is well again."""
    shard, server = simulated(monkeypatch, 300)
    server.cost = lambda _: 60
    for _ in range(5):
        assert not [value for value in shard.values(seconds=60).values() if isinstance(value, int)]
        assert len(server.taken()) == 4
    server.cost = lambda _: 0.001
    assert shard.values(seconds=60) == well(300)
    assert len(server.taken()) == 3


def test_a_server_that_is_late_with_all_but_small_queries_is_not_stormed() -> None:
    """Something is answered quickly, so it is searched. What that sends in a cycle has a bound."""
    with scripted() as server:
        late = refused("query timed out in query execution", 503, "timeout")
        server.answer = lambda groups: late if len(groups) > 1 else answered(groups)
        shard = Shard(server, fleet(600))
        for _ in range(10):
            shard.look()
            assert len(server.taken()) <= 3 + 2 + 40 + 100


@pytest.mark.parametrize("heavy", [("g7",), ("g7", "g30"), ("g0", "g1", "g40")])
def test_heavy_members_cost_only_themselves_from_the_second_cycle_on(
    monkeypatch: pytest.MonkeyPatch, heavy: Sequence[str]
) -> None:
    """Failing, recovering and failing again. Nothing says which they are but the time that they take."""
    shard, server = simulated(monkeypatch, 41)
    server.heavy(*heavy)
    shard.look(seconds=15)
    for turn, recovered in enumerate((False, False, True, False, True, False) * 3):
        server.heavy(*(() if recovered else heavy))
        values = shard.values(seconds=15)
        assert {name: values[name] for name in well(41, *heavy)} == well(41, *heavy), turn
        assert all(isinstance(values[name], int) is recovered for name in heavy), turn
    assert {name for each in shard.queries.asked_alone() for name in each.autoscalers} == set(heavy)


def test_a_heavy_member_comes_back_when_it_was_cheap_for_ten_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    shard, server = simulated(monkeypatch, 41)
    server.heavy("g7")
    shard.look(seconds=15)
    server.heavy()
    counts = []
    for _ in range(4):
        server.taken()
        assert shard.values(seconds=15) == well(41)
        counts.append(len(server.taken()))
        shard.clock.seconds += 300
    assert counts == [2, 2, 2, 1]


@pytest.mark.parametrize("heavy", range(41))
def test_the_first_cycles_are_the_same_whichever_member_is_heavy(monkeypatch: pytest.MonkeyPatch, heavy: int) -> None:
    """It may be the very one that is asked to tell a heavy member from a server with too much to do."""
    shard, server = simulated(monkeypatch, 41)
    server.heavy(f"g{heavy}")
    shard.look(seconds=12)
    values = shard.values(seconds=12)
    assert {name: values[name] for name in well(41, f"g{heavy}")} == well(41, f"g{heavy}")


def test_late_queries_that_fill_a_cycle_are_asked_after_those_that_had_no_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two of them take all the time. The same two must not be the first again."""
    shard, server = simulated(monkeypatch, 8, merge_queries=False)
    server.heavy("g0", "g1", "g2")
    for _ in range(2):
        shard.look(seconds=15)
    for _ in range(3):
        values = shard.values(seconds=15)
        assert {name: values[name] for name in well(8, "g0", "g1", "g2")} == well(8, "g0", "g1", "g2")


def test_heavy_members_of_many_merged_queries_are_all_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked as a whole, any two of the queries take all of a cycle's time: the search goes before."""
    shard, server = simulated(monkeypatch, 140)
    monkeypatch.setattr(shard.queries, "_planner", Planner(Limits(values=10)))
    shard.look(seconds=15)
    heavy = [expr.split("|")[3] for expr in server.taken()][1:]
    assert len(heavy) == 13
    server.heavy(*heavy)
    for _ in range(20):
        shard.look(seconds=15)
    values = shard.values(seconds=15)
    assert {name: values[name] for name in well(140, *heavy)} == well(140, *heavy)


def test_late_queries_that_fill_each_cycle_are_taken_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each merged query has a heavy member, so none is quick: one member is asked before them, and tells."""
    shard, server = simulated(monkeypatch, 300)
    heavy = ("g7", "g260")
    server.heavy(*heavy)
    for _ in range(4):
        shard.look(seconds=15)
    values = shard.values(seconds=15)
    assert {name: values[name] for name in well(300, *heavy)} == well(300, *heavy)


def test_a_search_that_has_no_time_goes_on_in_the_second_cycle(monkeypatch: pytest.MonkeyPatch) -> None:
    """The timeout is longer than the cycle: all of its neighbours have their value in the second one."""
    shard, server = simulated(monkeypatch, 41, timeout=timedelta(seconds=60))
    server.heavy("g7")
    assert 1 < sum(not isinstance(value, int) for value in shard.values(seconds=3).values()) < 41
    for _ in range(2):
        values = shard.values(seconds=3)
        assert {name: values[name] for name in well(41, "g7")} == well(41, "g7")


def test_the_heavy_are_asked_after_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """They would take the slots of those that are quick. Those that were answered last time go first."""
    shard, server = simulated(monkeypatch, 41)
    server.heavy("g7", "g30")
    shard.look(seconds=15)
    server.heavy("g7")
    shard.look(seconds=60)
    server.taken()
    shard.look(seconds=60)
    assert server.taken()[1:] == ['load{group="g30"}', 'load{group="g7"}']


def test_what_is_too_large_is_halved_in_the_same_cycle_and_stays_so() -> None:
    """Merged answers may be over a limit that each alone is far below."""
    with scripted() as server:
        server.answer = lambda groups: refused("too many samples") if len(groups) > 60 else answered(groups)
        shard = Shard(server, fleet(200))
        counts = []
        for _ in range(3):
            assert shard.values() == well(200)
            counts.append(len(server.taken()))
        assert counts == [1 + 1 + 2 + 4, 5, 5]


def test_an_answer_over_max_answer_is_halved_too() -> None:
    with scripted() as server:
        server.answer = lambda groups: answered(groups, *(sample(group, filler="x" * 700) for group in groups))
        shard = Shard(server, fleet(100), max_answer=2**16)
        for _ in range(2):
            assert shard.values() == {f"g{number}": 1000 * number for number in range(100)}


def test_queries_that_were_answered_last_time_go_first() -> None:
    """One that hangs, for whatever reason, does not take the time of the others again and again."""
    with scripted() as server:
        server.answer = lambda groups: (500, {}) if "g0" in groups else answered(groups)
        shard = Shard(server, fleet(5), merge_queries=False, concurrency=1)
        shard.look()
        assert server.taken()[0] == 'load{group="g0"}'
        shard.look()
        assert server.taken()[-1] == 'load{group="g0"}'


def test_an_answer_with_labels_that_nobody_asked_for_costs_only_the_one_whose_it_is() -> None:
    """A proxy that rewrites one group's labels: as written, that group's own expression is answered with them."""

    def answer(groups: Sequence[str]) -> Answer:
        return answered(groups, sample("stray")) if "g5" in groups else answered(groups)

    with scripted() as server:
        server.answer = answer
        values = Shard(server, fleet(20)).values()
    assert values == well(20)  # `stray` is g5's own, and adds 0


def test_a_warning_on_ones_samples_costs_only_that_one() -> None:
    """Prometheus' "PromQL warning: bucket label "le" is missing" fails the reading, but is not about the others."""

    def answer(groups: Sequence[str]) -> Answer:
        status, body = answered(groups)
        return status, body | ({"warnings": ['PromQL warning: bucket label "le" is missing']} if "g5" in groups else {})

    with scripted() as server:
        server.answer = answer
        values = Shard(server, fleet(20)).values()
    assert "partial data: PromQL warning" in str(values.pop("g5"))
    assert values == well(20, "g5")


def test_data_that_is_partial_for_all_is_no_reason_to_ask_again() -> None:
    with scripted() as server:
        server.answer = lambda groups: (200, answered(groups)[1] | {"warnings": ["remote_read: server is down"]})
        Shard(server, fleet(20)).look()
        assert len(server.taken()) == 1


@pytest.mark.slow
def test_the_deadline_ends_a_search_and_what_was_answered_counts() -> None:
    """Others in the refused query have no reading in this cycle, and say why."""
    with scripted() as server:
        asked, released = list[Sequence[str]](), threading.Semaphore(0)

        def answer(groups: Sequence[str]) -> Answer:
            asked.append(groups)
            if len(asked) >= 3:
                released.acquire(timeout=30)
            return refused(DUPLICATE) if "g7" in groups else answered(groups)

        server.answer = answer
        values = Shard(server, fleet(8)).values(seconds=1.5)
        released.release(20)
    assert {name: value for name, value in values.items() if isinstance(value, int)} == well(4)
    assert "who is to blame was not found in time" in str(values["g7"])


@pytest.mark.parametrize(
    ("method", "event", "queries"),
    [
        ("prepare", "queries_not_sharded", 1),
        ("plan", "queries_not_merged", 5),
        ("learn", "queries_not_learned_from", 1),
    ],
)
def test_a_bug_in_how_questions_are_asked_costs_nobody_an_answer(
    monkeypatch: pytest.MonkeyPatch, method: str, event: str, queries: int
) -> None:
    """They are asked as they are written, and the log says so."""
    monkeypatch.setattr(Queries, method, lambda *_: 1 // 0)
    with scripted() as server:
        shard = Shard(server, fleet(5))
        assert shard.values() == well(5)
        assert len(server.taken()) == queries
    ((level, said, keys),) = shard.log.lines
    assert (level, said) == ("error", event)
    assert "ZeroDivisionError" in keys["error"]
