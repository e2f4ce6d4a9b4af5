"""Large shared answers, split."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from autoscaler.model import Autoscaler, MetricTarget, MetricType, Query, TargetRef, TargetType
from autoscaler.observe.gathering import Gathering
from autoscaler.observe.plan import Question
from autoscaler.observe.queries import Queries
from autoscaler.observe.split_answers import AnswerSizes, SplitBatch, split, splittable
from tests.observe.build import metric, scaler
from tests.observe.scripted import Answer, HasUrl, Scripted, Shard, Simulated, answered, refused, sample, scripted
from tests.observe.test_merged import well

LOAD = Question("default", "load")


def matching(count: int, expr: str = "load", **query: Any) -> list[Autoscaler]:
    """A fleet on one shared query."""
    return [
        scaler(
            metric(MetricType.EXTERNAL, Query(expr, match=(("group", f"g{number}"),), **query)),
            name=f"g{number}",
            target=TargetRef("fleet", f"g{number}"),
        )
        for number in range(count)
    ]


SIZES = AnswerSizes(large=100, small=50, part=25, held=100)
"""A thousandth of the real sizes, or so."""


def matching_shard(server: HasUrl, count: int, sizes: AnswerSizes = SIZES, **source: Any) -> Shard:
    """Return an observer of a fleet on one shared query, with small sizes of answers."""
    return Shard(server, matching(count), queries=Queries(sizes=sizes), **source)


def every(groups: Sequence[str], count: int = 100) -> Answer:
    """As `load` of this many groups is answered, or of those that are asked for."""
    return answered(groups or [f"g{number}" for number in range(count)])


def test_an_answer_that_was_large_is_split() -> None:
    """The whole of it would be in memory until the last autoscaler has its part."""
    with scripted() as server:
        server.answer = every
        shard = matching_shard(server, 100)
        assert shard.values() == well(100)
        assert server.taken() == ["load"]
        assert shard.values() == well(100)
        assert len(asked := server.taken()) == 4
        assert all(each.startswith('load{group=~"g') for each in asked)


def test_an_answer_that_is_not_large_is_asked_for_once() -> None:
    """Below, one query costs less than the many."""
    with scripted() as server:
        server.answer = lambda groups: every(groups, 99)
        shard = matching_shard(server, 99)
        for _ in range(3):
            assert shard.values() == well(99)
        assert server.taken() == ["load"] * 3


def test_an_answer_that_became_small_is_asked_for_once_again() -> None:
    """Not at the first sample fewer, or it would change to and fro."""
    present = 0

    def answer(groups: Sequence[str]) -> Answer:
        return answered([group for group in groups or [f"g{n}" for n in range(100)] if int(group[1:]) < present])

    with scripted() as server:
        server.answer = answer
        shard = matching_shard(server, 100)
        counts = []
        for count in (100, 60, 60, 40, 40, 40):
            present = count
            shard.look()
            counts.append(len(server.taken()))
        assert counts[0] == counts[-1] == 1
        assert all(count > 1 for count in counts[1:4])


def test_one_that_is_over_max_answer_is_split_from_the_next_cycle_on() -> None:
    """A million series are a hundred megabytes: no maxAnswer that anybody sets would take them at once."""
    with scripted() as server:
        server.answer = lambda groups: answered(
            groups or [f"g{number}" for number in range(60)],
            *(sample(group, filler="0" * 2000) for group in groups or [f"g{number}" for number in range(60)]),
        )
        shard = matching_shard(server, 60, max_answer=2**16)
        assert "more than 0.0625 MiB" in str(shard.values()["g0"])
        assert shard.values() == well(60)


def test_nothing_is_split_where_queries_are_not_merged() -> None:
    """Each autoscaler's part would be a query."""
    with scripted() as server:
        server.answer = every
        shard = matching_shard(server, 100, merge_queries=False)
        for _ in range(2):
            assert shard.values() == well(100)
        assert server.taken() == ["load"] * 2


def test_a_fleet_on_one_query_is_split_from_the_first_cycle_on() -> None:
    """The size of the answer is not known yet, and the first cycle should not fail."""
    with scripted() as server:
        server.answer = every
        shard = matching_shard(server, 100, replace(SIZES, many_values=20))
        assert shard.values() == well(100)
        assert len(server.taken()) == 1  # the limit of values
        shard.look()
        assert len(server.taken()) == 4


def test_a_failing_part_affects_only_its_own_autoscalers() -> None:
    with scripted() as server:
        shard = matching_shard(server, 100)
        server.answer = every
        shard.look()
        server.answer = lambda groups: (503, {}) if "g99" in groups else every(groups)
        values = shard.values()
        failed = {name for name, value in values.items() if not isinstance(value, int)}
        assert "g99" in failed
        assert len(failed) == 25
        assert {name: values[name] for name in values.keys() - failed} == well(100, *failed)


def test_a_member_that_makes_a_shared_answer_late_costs_only_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole, the answer is late for all who match on it: it is split, and the late part is searched."""
    shard = matching_shard(Scripted(), 60)
    server = Simulated(shard, monkeypatch)
    server.heavy("g7")
    assert not isinstance(shard.values(seconds=15)["g0"], int)
    for _ in range(3):
        values = shard.values(seconds=15)
        assert not isinstance(values.pop("g7"), int)
        assert values == well(60, "g7")
    (alone,) = shard.queries.asked_alone()
    assert (alone.question.expr, alone.autoscalers) == ('load{group="g7"}', ("g7",))
    shard.queries.follow(shard.scalers)
    assert shard.queries.asked_alone()
    shard.queries.follow([each for each in shard.scalers if each.name != "g7"])
    assert not shard.queries.asked_alone()


def test_a_shared_answer_that_an_overloaded_server_is_late_with_stays_whole() -> None:
    """In shards it would be asked for many times, of a server that answers nothing."""
    with scripted() as server:
        server.answer = lambda groups: refused("query timed out in query execution", 503, "timeout")
        shard = matching_shard(server, 60)
        for _ in range(3):
            shard.look()
            assert len(server.taken()) == 3


def test_answers_are_let_go_of_as_soon_as_nobody_needs_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is in memory is some shards, not the answer."""
    held: list[int] = []
    settle = Gathering.settle

    def watched(self: Gathering, results: Any) -> None:
        settle(self, results)
        held.append(len(self._results))

    monkeypatch.setattr(Gathering, "settle", watched)
    with scripted() as server:
        server.answer = every
        shard = matching_shard(server, 1000)
        for _ in range(2):
            held.clear()
            values = shard.values()
    assert len(values) == 1000
    assert max(held) < 200


def chosen(scalers: Sequence[Autoscaler], together: int = 2) -> SplitBatch:
    known = splittable(scalers)
    return split(scalers, known, dict.fromkeys(known, together))


def test_each_gets_the_query_of_its_own_shard() -> None:
    """And its age is asked of the same series."""
    found = chosen(matching(3, max_age=timedelta(minutes=1)))
    assert [each.metrics[0].query.expr for each in found.scalers] == [
        f'load{{group="g{number}"}}' for number in range(3)
    ]
    assert [each.metrics[0].query.match for each in found.scalers] == [
        (("group", f"g{number}"),) for number in range(3)
    ]
    assert list(found.parts.values()) == [-2, -2, -2, -2, -3, -3]
    assert set(found.whole.values()) == {LOAD}


def test_requests_and_other_metrics_are_split_too() -> None:
    """A capacity is a shared query like any other."""
    request = Query("cores", match=(("group", "g0"),))
    target = MetricTarget(TargetType.UTILIZATION, 60)
    ones = [
        scaler(
            metric(
                MetricType.RESOURCE,
                Query("load", match=(("group", name),)),
                target=target,
                request=Query("cores", match=(("group", name),)),
            ),
            name=name,
        )
        for name in ("g0", "g1")
    ]
    found = chosen(ones).scalers[0].metrics[0].request
    assert isinstance(found, Query)
    assert (found.expr, found.match) == ('cores{group="g0"}', request.match)


def label_of(*matches: Mapping[str, str], expr: str = "load") -> str | None:
    """The label that a question of users with these matches is split by."""
    users = [
        scaler(metric(MetricType.EXTERNAL, Query(expr, match=tuple(sorted(match.items())))), name=f"s{number}")
        for number, match in enumerate(matches)
    ]
    return next((each.narrowing.label for each in splittable(users).values()), None)


def test_the_label_that_tells_most_users_apart_makes_the_shards() -> None:
    assert label_of({"env": "prod", "group": "a"}, {"env": "prod", "group": "b"}) == "group"


@pytest.mark.parametrize(
    "matches",
    [
        [{"group": "a"}, {}],
        [{"group": "a"}, {"group": "a"}],
        [{"group": "a"}, {"asg": "b"}],
        [{"group": "a"}, {"group": ""}],
        [{"group": "a"}, {"group": "b\n"}],
    ],
)
def test_what_is_needed_as_a_whole_is_not_split(matches: Sequence[Mapping[str, str]]) -> None:
    """Somebody takes all of it, or a value cannot be asked for."""
    assert label_of(*matches) is None


def test_an_expression_whose_parts_are_not_known_to_be_the_same_is_not_split() -> None:
    assert label_of({"group": "a"}, {"group": "b"}, expr="topk(5, load)") is None
