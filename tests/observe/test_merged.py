"""Merged queries, from expressions to readings, against a scripted server."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from autoscaler.observe.planner.merge import Limits
from autoscaler.observe.queries import Queries
from tests.observe.build import NOW
from tests.observe.scripted import (
    UNHURRIED,
    Answer,
    Shard,
    answered,
    fleet,
    refused,
    sample,
    scripted,
    simulated,
    well,
)

DUPLICATE = "found duplicate series for the match group"


def refusing(*culprits: str) -> Any:
    def answer(groups: Sequence[str]) -> Answer:
        return refused(DUPLICATE) if set(culprits) & set(groups) else answered(groups)

    return answer


def test_300_expressions_are_two_queries() -> None:
    """Each expression would otherwise be a request of its own."""
    with scripted() as server:
        shard = Shard(server, fleet(300))
        assert shard.values() == well(300)
        assert len(server.taken()) == 2
        assert shard.values() == well(300)
        assert len(server.taken()) == 2


def test_a_culprit_affects_only_itself_in_the_same_cycle() -> None:
    """Unmerged, it is one failed query among many, so merged it must not fail the others."""
    with scripted() as server:
        server.answer = refusing("g77")
        shard = Shard(server, fleet(200), timeout=UNHURRIED)
        values = shard.values()
        assert DUPLICATE in str(values.pop("g77"))
        assert values == well(200, "g77")
        assert len(server.taken()) == 1 + 200
        assert {name: value for name, value in shard.values().items() if name != "g77"} == values
        assert len(server.taken()) == 2, "the others return to the merged query"


def test_a_culprit_is_asked_alone_for_ten_minutes_also_after_a_reload() -> None:
    """The merged query is not taken apart in every cycle. A reload, and so a new observer, changes nothing."""
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


def test_a_removed_autoscalers_history_is_forgotten() -> None:
    """What is known of the others stays."""
    with scripted() as server:
        server.answer = refusing("g2", "g3")
        shard = Shard(server, fleet(8))
        shard.look()
        assert sorted(each.autoscalers for each in shard.queries.asked_alone()) == [("g2",), ("g3",)]
        shard.queries.follow(shard.scalers[:3])
        assert [each.question.expr for each in shard.queries.asked_alone()] == ['load{group="g2"}']


@pytest.mark.parametrize("heavy", [("g7",), ("g7", "g30"), ("g0", "g1", "g40")])
def test_heavy_members_affect_only_themselves_from_the_second_cycle_on(
    monkeypatch: pytest.MonkeyPatch, heavy: Sequence[str]
) -> None:
    """Failing, recovering and failing again. Only the time that they take identifies them."""
    shard, server = simulated(monkeypatch, 41)
    server.heavy(*heavy)
    shard.look(seconds=15)
    for turn, recovered in enumerate((False, False, True, False, True, False) * 3):
        server.heavy(*(() if recovered else heavy))
        values = shard.values(seconds=15)
        assert {name: values[name] for name in well(41, *heavy)} == well(41, *heavy), turn
        assert all(isinstance(values[name], int) is recovered for name in heavy), turn
    assert {name for each in shard.queries.asked_alone() for name in each.autoscalers} == set(heavy)


@pytest.mark.parametrize("heavy", range(41))
def test_the_first_cycles_are_the_same_whichever_member_is_heavy(monkeypatch: pytest.MonkeyPatch, heavy: int) -> None:
    """The heavy member may itself be the one that is asked first."""
    shard, server = simulated(monkeypatch, 41)
    server.heavy(f"g{heavy}")
    shard.look(seconds=12)
    values = shard.values(seconds=12)
    assert {name: values[name] for name in well(41, f"g{heavy}")} == well(41, f"g{heavy}")


def test_late_queries_run_after_queries_that_were_not_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two of them take all the time, and must not be first again."""
    shard, server = simulated(monkeypatch, 8, merge_queries=False)
    server.heavy("g0", "g1", "g2")
    for _ in range(2):
        shard.look(seconds=15)
    for _ in range(3):
        values = shard.values(seconds=15)
        assert {name: values[name] for name in well(8, "g0", "g1", "g2")} == well(8, "g0", "g1", "g2")


def test_heavy_members_of_many_merged_queries_are_all_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any two of the whole queries take all of a cycle's time, so members are asked before the next one."""
    shard, server = simulated(monkeypatch, 140, queries=Queries(Limits(values=10)))
    shard.look(seconds=15)
    heavy = [expr.split("|")[3] for expr in server.taken()][1:]
    assert len(heavy) == 13
    server.heavy(*heavy)
    for _ in range(20):
        shard.look(seconds=15)
    values = shard.values(seconds=15)
    assert {name: values[name] for name in well(140, *heavy)} == well(140, *heavy)


def test_a_timeout_longer_than_the_cycle_leaves_time_for_the_members(monkeypatch: pytest.MonkeyPatch) -> None:
    """A merged query does not take all the time."""
    shard, server = simulated(monkeypatch, 41, timeout=timedelta(seconds=60))
    server.heavy("g7")
    for _ in range(3):
        values = shard.values(seconds=3)
        assert {name: values[name] for name in well(41, "g7")} == well(41, "g7")


def test_heavy_queries_run_after_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """They would block quick queries. Queries that were answered last time run first."""
    shard, server = simulated(monkeypatch, 41)
    server.heavy("g7", "g30")
    shard.look(seconds=15)
    server.heavy("g7")
    shard.look(seconds=60)
    server.taken()
    shard.look(seconds=60)
    assert server.taken()[1:] == ['load{group="g30"}', 'load{group="g7"}']


def test_the_members_of_a_too_large_query_are_asked_alone_in_the_same_cycle() -> None:
    """A merged answer may exceed a limit that each single answer meets. So none of them stays alone."""
    with scripted() as server:
        server.answer = lambda groups: refused("too many samples") if len(groups) > 60 else answered(groups)
        shard = Shard(server, fleet(100), timeout=UNHURRIED)
        for _ in range(3):
            assert shard.values() == well(100)
            assert len(server.taken()) == 1 + 100
        assert not shard.queries.asked_alone()


def test_the_members_of_an_answer_over_max_answer_are_asked_alone_too() -> None:
    with scripted() as server:
        server.answer = lambda groups: answered(groups, *(sample(group, filler="x" * 700) for group in groups))
        shard = Shard(server, fleet(100), max_answer=2**16, timeout=UNHURRIED)
        for _ in range(2):
            assert shard.values() == {f"g{number}": 1000 * number for number in range(100)}


def test_queries_that_were_answered_last_time_run_first() -> None:
    """A hanging query does not delay the others in each cycle."""
    with scripted() as server:
        server.answer = lambda groups: (500, {}) if "g0" in groups else answered(groups)
        shard = Shard(server, fleet(5), merge_queries=False, concurrency=1)
        shard.look()
        assert server.taken()[0] == 'load{group="g0"}'
        shard.look()
        assert server.taken()[-1] == 'load{group="g0"}'


def test_an_answer_that_does_not_fit_its_query_is_not_taken_apart() -> None:
    """No expression causes it."""
    with scripted() as server:
        shard = Shard(server, fleet(200))
        server.answer = lambda groups: answered(groups, sample("stray"))
        assert all("with an unexpected group; check whether a proxy" in str(value) for value in shard.values().values())
        server.answer = answered
        server.taken()
        assert shard.values() == well(200)
        assert len(server.taken()) == 1


def test_a_warning_about_a_members_samples_affects_only_that_member() -> None:
    """Prometheus' "PromQL warning: bucket label "le" is missing" fails one reading and does not concern the others."""

    def answer(groups: Sequence[str]) -> Answer:
        status, body = answered(groups)
        return status, body | ({"warnings": ['PromQL warning: bucket label "le" is missing']} if "g5" in groups else {})

    with scripted() as server:
        server.answer = answer
        values = Shard(server, fleet(20)).values()
    assert "partial data: PromQL warning" in str(values.pop("g5"))
    assert values == well(20, "g5")


def test_partial_data_for_all_is_not_taken_apart() -> None:
    with scripted() as server:
        server.answer = lambda groups: (200, answered(groups)[1] | {"warnings": ["remote_read: server is down"]})
        Shard(server, fleet(20)).look()
        assert len(server.taken()) == 1


def test_the_answers_before_the_deadline_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """The members that had no time have no reading in this cycle, and an error says why."""
    shard, server = simulated(monkeypatch, 8, timeout=timedelta(seconds=4))
    server.cost = lambda groups: 60 if len(groups) > 1 else 0.9
    values = shard.values(seconds=15)
    assert {name: value for name, value in values.items() if isinstance(value, int)} == well(6)
    assert "prometheus 'default'" in str(values["g7"])


@pytest.mark.parametrize(
    ("method", "event", "queries"),
    [
        ("plan", "queries_not_merged", 5),
        ("learn", "queries_not_learned_from", 1),
    ],
)
def test_a_bug_in_the_planner_loses_no_answer(
    monkeypatch: pytest.MonkeyPatch, method: str, event: str, queries: int
) -> None:
    """Queries run as written, and the log has the error."""
    monkeypatch.setattr(Queries, method, lambda *_: 1 // 0)
    with scripted() as server:
        shard = Shard(server, fleet(5))
        assert shard.values() == well(5)
        assert len(server.taken()) == queries
    ((level, said, keys),) = shard.log.lines
    assert (level, said) == ("error", event)
    assert "ZeroDivisionError" in keys["error"]


def test_members_that_had_no_time_go_first_in_the_next_cycle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the same members are without a value in each cycle, and the heavy one among them is never found."""
    shard, server = simulated(monkeypatch, 200)
    heavy = max(shard.names)
    server.cost = lambda groups: 60 if heavy in groups else 0.1
    had = set[str]()
    for _ in range(6):
        values = shard.values(seconds=15)
        had |= {name for name, value in values.items() if isinstance(value, int)}
    assert had == set(well(200, heavy))
    assert {name: values[name] for name in well(200, heavy)} == well(200, heavy)
