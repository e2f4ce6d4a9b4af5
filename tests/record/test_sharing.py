"""Which slots a member takes and gives back: as many for each, and none moved that need not move."""

from collections.abc import Collection, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaler.record.sharing import Place, Slots, dump_needs, load_needs, plan

members = st.lists(st.text("abcdef", min_size=1, max_size=3), min_size=1, max_size=6, unique=True)
connections = st.dictionaries(
    st.sampled_from(["nomad", "aws", "swarm"]), st.sets(st.integers(0, 255), max_size=30), max_size=3
)


def settle(needs: Mapping[str, Slots], holders: dict[Place, str]) -> int:
    """Turns of all until nothing changes. Returns how many slots changed hands.

    What is to be given back is given back at the next turn: a cycle uses it until then.
    """
    moves = 0
    excess = dict[str, Collection[Place]]()
    for _ in range(3 * len(needs) + 3):
        for member in needs:
            for place in excess.get(member, ()):
                del holders[place]
            step = plan(member, needs, holders)
            assert all(place not in holders for place in step.take)
            assert all(holders[place] == member for place in step.excess)
            excess[member] = step.excess
            holders |= dict.fromkeys(step.take, member)
            moves += len(step.take)
    assert all(not any(plan(member, needs, holders)) for member in needs)
    return moves


def counts(needs: Mapping[str, Slots], holders: Mapping[Place, str]) -> list[int]:
    return sorted(list(holders.values()).count(member) for member in needs)


@given(members, connections)
def test_every_slot_is_held_and_no_member_holds_two_more_than_another(names: list[str], wanted: Slots) -> None:
    holders: dict[Place, str] = {}
    settle(dict.fromkeys(names, wanted), holders)
    assert holders.keys() == {(connection, slot) for connection in wanted for slot in wanted[connection]}
    found = counts(dict.fromkeys(names, wanted), holders)
    assert found[-1] - found[0] <= 1


@given(members, connections)
def test_one_that_joins_moves_no_more_slots_than_it_gets(names: list[str], wanted: Slots) -> None:
    """Each move is a cycle that reads anew what it remembers."""
    holders: dict[Place, str] = {}
    settle(dict.fromkeys(names, wanted), holders)
    after = dict.fromkeys([*names, "joins"], wanted)
    moves = settle(after, holders)
    assert moves == list(holders.values()).count("joins") == len(holders) // len(after)


@given(members, connections)
def test_one_that_goes_moves_its_slots_alone(names: list[str], wanted: Slots) -> None:
    holders: dict[Place, str] = {}
    settle(dict.fromkeys([*names, "goes"], wanted), holders)
    gone = [place for place, holder in holders.items() if holder == "goes"]
    for place in gone:
        del holders[place]
    assert settle(dict.fromkeys(names, wanted), holders) == len(gone)


@given(st.dictionaries(st.text("abc", min_size=1, max_size=2), connections, min_size=1, max_size=5))
def test_whoever_wants_a_slot_somebody_holds_it(needs: Mapping[str, Slots]) -> None:
    """Configurations differ while they are rolled out, and a pool of processes is of one host: none stays unheld."""
    holders: dict[Place, str] = {}
    settle(needs, holders)
    for connection, slot in {(name, slot) for its in needs.values() for name in its for slot in its[name]}:
        assert slot in needs[holders[connection, slot]].get(connection, ())


def test_a_slot_that_it_no_longer_needs_is_given_back() -> None:
    """A reload took the autoscaler out of its configuration; another host's still has it."""
    needs: Mapping[str, Slots] = {"a": {"nomad": [1]}, "b": {"nomad": [1, 2]}}
    assert plan("a", needs, {("nomad", 1): "a", ("nomad", 2): "a"}).excess == [("nomad", 2)]


@given(connections)
def test_needs_come_back_from_the_state(wanted: Slots) -> None:
    assert {name: set(slots) for name, slots in load_needs(dump_needs(wanted)).items()} == wanted


@pytest.mark.parametrize("damaged", ["", "not JSON", "[]", '{"aws": 3}', '{"aws": "slots"}'])
def test_needs_that_cannot_be_read_are_none(damaged: str) -> None:
    """One member's damaged row kept all members from taking slots."""
    assert load_needs(damaged) == {}
