"""Shards are shared evenly among members, and as few as possible move."""

from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaler.model import ShardName
from autoscaler.record.sharing import Needs, dump_needs, load_needs, share_out

members = st.lists(st.text("abcdef", min_size=1, max_size=3), min_size=1, max_size=6, unique=True)
shards = st.dictionaries(st.sampled_from(["nomad", "aws", "swarm", "pools"]), st.integers(1, 9), max_size=4).map(
    lambda counts: [ShardName(name, number + 1, of) for name, of in sorted(counts.items()) for number in range(of)]
)
Holders = dict[ShardName, str]


def settle(needs: Needs, holders: Holders, order: Random) -> int:
    """Let the members take turns, in any order, until nothing changes. Returns how many shards moved.

    A shard is given back at a later turn, because a cycle uses it until then.
    """
    moves = 0
    while True:
        before = dict(holders)
        for member in order.sample([*needs], len(needs)):
            planned = share_out(needs, holders)
            for name in [name for name in holders if holders[name] == member != planned.get(name)]:
                if order.random() < 0.7:
                    del holders[name]
            taken = [name for name in planned if name not in holders and planned[name] == member]
            holders |= dict.fromkeys(taken, member)
            moves += len(taken)
        planned = share_out(needs, holders)
        if before == holders == planned:
            return moves


def is_even(counts: Mapping[str, int], names: Sequence[str]) -> bool:
    found = [counts[name] for name in names]
    return max(found) - min(found) <= 1


def assert_even(names: Sequence[str], holders: Mapping[ShardName, str]) -> None:
    """Assert that the shards of each connection, and all shards, are shared evenly."""
    assert is_even(Counter(holders.values()), names)
    for connection in {name.adapter for name in holders}:
        assert is_even(Counter(holder for name, holder in holders.items() if name.adapter == connection), names)


@given(members, shards, st.randoms(use_true_random=False))
def test_every_shard_is_held_and_no_member_holds_two_more_than_another(
    names: list[str], wanted: list[ShardName], order: Random
) -> None:
    """This holds for each connection, to spare its back end, and in all, to spare the daemons."""
    holders: Holders = {}
    settle(dict.fromkeys(names, wanted), holders, order)
    assert holders.keys() == set(wanted)
    assert_even(names, holders)


@given(members, shards, st.randoms(use_true_random=False))
def test_a_member_that_joins_takes_as_few_shards_as_possible(
    names: list[str], wanted: list[ShardName], order: Random
) -> None:
    """Each move ends a cycle, an adapter and its caches."""
    holders: Holders = {}
    settle(dict.fromkeys(names, wanted), holders, order)
    before = dict(holders)
    after = [*names, "joins"]
    settle(dict.fromkeys(after, wanted), holders, order)
    assert_even(after, holders)
    assert list(holders.values()).count("joins") <= -(-len(wanted) // len(after))
    assert all(holders[name] == before[name] for name in before if len(names) == 1 and holders[name] != "joins")


@given(members, shards, st.randoms(use_true_random=False))
def test_an_even_division_stays(names: list[str], wanted: list[ShardName], order: Random) -> None:
    holders: Holders = {}
    settle(dict.fromkeys(names, wanted), holders, order)
    assert share_out(dict.fromkeys(names, wanted), holders) == holders


@given(st.integers(2, 5), st.integers(0, 12), st.integers(0, 12))
def test_with_one_or_two_connections_the_fewest_shards_move(count: int, nomad: int, aws: int) -> None:
    """Compares the shards of a new member with the fewest that any division would move."""
    wanted = [ShardName(name, 1 + each, of) for name, of in (("nomad", nomad), ("aws", aws)) for each in range(of)]
    names = [f"m{number}" for number in range(count)]
    holders: Holders = {}
    settle(dict.fromkeys(names, wanted), holders, Random(0))
    planned = share_out(dict.fromkeys([*names, "joins"], wanted), holders)
    moved = sum(planned[name] != holders[name] for name in wanted)
    each = max(nomad // (count + 1) + aws // (count + 1), len(wanted) // (count + 1))
    assert moved == each


@given(members, shards, st.randoms(use_true_random=False))
def test_the_shards_of_a_member_that_leaves_are_shared_evenly(
    names: list[str], wanted: list[ShardName], order: Random
) -> None:
    holders: Holders = {}
    settle(dict.fromkeys([*names, "goes"], wanted), holders, order)
    for name in [name for name, holder in holders.items() if holder == "goes"]:
        del holders[name]
    settle(dict.fromkeys(names, wanted), holders, order)
    assert_even(names, holders)


@given(st.dictionaries(st.text("abc", min_size=1, max_size=2), shards, min_size=1, max_size=5))
def test_every_shard_that_a_member_needs_is_held(needs: Mapping[str, Sequence[ShardName]]) -> None:
    """Configurations differ during a rollout, and a pool of processes belongs to one host."""
    holders: Holders = {}
    settle(needs, holders, Random(0))
    assert holders.keys() == {name for wanted in needs.values() for name in wanted}
    assert all(name in needs[holder] for name, holder in holders.items())


def test_a_daemon_that_alone_serves_a_pool_has_fewer_of_the_rest() -> None:
    """Shards that only one host can serve count as load, too."""
    fleet, pools = [ShardName("fleet", number, 3) for number in (1, 2, 3)], [ShardName("pools")]
    holders: Holders = {}
    settle({"a": [*fleet, *pools], "b": fleet}, holders, Random(0))
    assert Counter(holders.values()) == {"a": 2, "b": 2}


def test_a_shard_that_a_member_no_longer_needs_moves_to_another() -> None:
    """A reload removed the autoscaler from its configuration. The configuration of another host still has it."""
    one, two = ShardName("nomad", 1, 2), ShardName("nomad", 2, 2)
    assert share_out({"a": [one], "b": [one, two]}, {one: "a", two: "a"}) == {one: "a", two: "b"}


def test_the_largest_number_of_shards_can_be_divided() -> None:
    wanted = [ShardName("fleet", number + 1, 256) for number in range(256)]
    holders = dict.fromkeys(wanted, "a")
    planned = share_out({"a": wanted, "b": wanted, "c": wanted}, holders)
    assert sorted(Counter(planned.values()).values()) == [85, 85, 86]


@given(shards)
def test_needs_are_read_back_from_the_state(wanted: list[ShardName]) -> None:
    assert sorted(load_needs(dump_needs(wanted))) == sorted(wanted)


@pytest.mark.parametrize("damaged", ["", "not JSON", "{}", '{"aws": 3}', '[["aws", 1]]', '["aws"]'])
def test_a_member_with_damaged_needs_counts_as_without_needs(damaged: str) -> None:
    """The damaged row of one member blocked all members."""
    assert load_needs(damaged) == []
