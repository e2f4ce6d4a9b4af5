"""Queries that are merged, from the autoscalers' expressions to their readings, against a scripted server."""

import threading
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from autoscaler.observe.queries import Queries
from tests.observe.build import NOW
from tests.observe.scripted import Answer, Lane, answered, fleet, refused, sample, scripted

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
        lane = Lane(server, fleet(300))
        assert lane.values() == well(300)
        assert len(server.taken()) == 2
        assert lane.values() == well(300)
        assert len(server.taken()) == 2


def test_expressions_are_asked_as_written_when_merging_is_switched_off() -> None:
    with scripted() as server:
        lane = Lane(server, fleet(5), merge_queries=False)
        assert lane.values() == well(5)
        assert sorted(server.taken()) == [f'load{{group="g{number}"}}' for number in range(5)]


def test_one_at_fault_costs_only_itself_in_the_same_cycle() -> None:
    """Before the merge it was one failed query among many; it must not fail the others now."""
    with scripted() as server:
        server.answer = refusing("g77")
        lane = Lane(server, fleet(200))
        values = lane.values()
        assert DUPLICATE in str(values.pop("g77"))
        assert values == well(200, "g77")
        assert len(server.taken()) <= 17


def test_the_one_at_fault_is_asked_alone_for_ten_minutes_and_a_reload_forgets_nothing() -> None:
    """No search in every cycle. Each look is by another observer, as after a reload."""
    with scripted() as server:
        server.answer = refusing("g3")
        lane = Lane(server, fleet(8))
        lane.look()
        server.taken()
        for minutes in (1, 9, 18):  # it is refused alone meanwhile, and stays out for longer
            assert DUPLICATE in str(lane.values(now=NOW + timedelta(minutes=minutes))["g3"])
            alone, together = sorted(server.taken(), key=len)
            assert (alone, "g3" in together) == ('load{group="g3"}', False)
        server.answer = answered
        assert lane.values(now=NOW + timedelta(minutes=29)) == well(8)
        assert len(server.taken()) == 1


@pytest.mark.slow
def test_where_many_are_at_fault_all_others_are_read_from_the_next_cycle_on() -> None:
    """More than a search can find: then all are asked as they were before there was a planner."""
    culprits = [f"g{number}" for number in range(0, 200, 3)]
    with scripted() as server:
        server.answer = refusing(*culprits)
        lane = Lane(server, fleet(200))
        first = lane.values()
        assert len(server.taken()) == 41
        assert "it was asked together with others" in str(first["g199"])
        assert {name: value for name, value in lane.values().items() if isinstance(value, int)} == well(200, *culprits)


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
    """A search would be a burst on a server that is down already."""
    with scripted() as server:
        server.answer = lambda groups: failure
        values = Lane(server, fleet(300)).values()
        assert not [value for value in values.values() if isinstance(value, int)]
        assert len(server.taken()) == 2


def test_an_outage_is_the_same_number_of_queries_in_every_cycle() -> None:
    with scripted() as server:
        server.answer = lambda groups: refused("query timed out in query execution", 503, "timeout")
        lane = Lane(server, fleet(300))
        counts = []
        for _ in range(5):
            lane.look()
            counts.append(len(server.taken()))
        assert counts == [2] * 5


def test_what_is_too_large_is_halved_from_the_next_cycle_on() -> None:
    """Merged answers may be over a limit that each alone is far below."""
    with scripted() as server:
        server.answer = lambda groups: refused("too many samples") if len(groups) > 60 else answered(groups)
        lane = Lane(server, fleet(200))
        counts = []
        for _ in range(3):
            values = lane.values()
            counts.append(len(server.taken()))
        assert counts == [1, 2, 4]
        assert values == well(200)


def test_an_answer_over_max_answer_is_halved_too() -> None:
    with scripted() as server:
        server.answer = lambda groups: answered(groups, *(sample(group, filler="x" * 700) for group in groups))
        lane = Lane(server, fleet(100), max_answer=2**16)
        assert "answered with more than 0.0625 MiB" in str(lane.values()["g0"])
        lane.look()
        assert len(server.taken()) == 3
        assert lane.values() == {f"g{number}": 1000 * number for number in range(100)}


def test_an_answer_with_labels_that_nobody_asked_for_costs_only_the_one_whose_it_is() -> None:
    """A proxy that rewrites one group's labels: as written, that group's own expression is answered with them."""

    def answer(groups: Sequence[str]) -> Answer:
        return answered(groups, sample("stray")) if "g5" in groups else answered(groups)

    with scripted() as server:
        server.answer = answer
        values = Lane(server, fleet(20)).values()
    assert values == well(20)  # `stray` is g5's own, and adds 0


def test_a_warning_on_ones_samples_costs_only_that_one() -> None:
    """Prometheus' "PromQL warning: bucket label "le" is missing" fails the reading, but is not about the others."""

    def answer(groups: Sequence[str]) -> Answer:
        status, body = answered(groups)
        return status, body | ({"warnings": ['PromQL warning: bucket label "le" is missing']} if "g5" in groups else {})

    with scripted() as server:
        server.answer = answer
        values = Lane(server, fleet(20)).values()
    assert "partial data: PromQL warning" in str(values.pop("g5"))
    assert values == well(20, "g5")


def test_data_that_is_partial_for_all_is_no_reason_to_ask_again() -> None:
    with scripted() as server:
        server.answer = lambda groups: (200, answered(groups)[1] | {"warnings": ["remote_read: server is down"]})
        Lane(server, fleet(20)).look()
        assert len(server.taken()) == 1


@pytest.mark.slow
def test_the_deadline_ends_a_search_and_what_was_answered_counts() -> None:
    """Others in the refused query have no reading in this cycle, and say why."""
    with scripted() as server:
        asked, released = list[Sequence[str]](), threading.Semaphore(0)

        def answer(groups: Sequence[str]) -> Answer:
            asked.append(groups)
            if len(asked) == 3:
                released.acquire(timeout=30)
            return refused(DUPLICATE) if "g7" in groups else answered(groups)

        server.answer = answer
        values = Lane(server, fleet(8)).values(seconds=1.5)
        released.release()
    assert {name: value for name, value in values.items() if isinstance(value, int)} == well(4)
    assert all("who is to blame was not found in time" in str(values[f"g{number}"]) for number in range(4, 8))


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
        lane = Lane(server, fleet(5))
        assert lane.values() == well(5)
        assert len(server.taken()) == queries
    ((level, said, keys),) = lane.log.lines
    assert (level, said) == ("error", event)
    assert "ZeroDivisionError" in keys["error"]
