"""Which slots a member takes and gives back, so that all members hold as many. Pure.

Slots are divided among the members that want them: with one configuration everywhere that is all of them together.
While configurations differ, and for connections that one host alone can serve, each group of slots that the same
members want is divided for itself, so none stays unheld because somebody does not know it.
"""

from collections.abc import Collection, Mapping
from typing import Final, NamedTuple, TypeAlias

import msgspec

Slots: TypeAlias = Mapping[str, Collection[int]]
"""By adapter connection."""
Place: TypeAlias = tuple[str, int]
"""A connection and a slot of it."""

_HEXADECIMAL: Final = 16


class Plan(NamedTuple):
    """What one member does next."""

    take: Collection[Place]
    excess: Collection[Place]
    """What it is to give back when no cycle uses it any more."""


def plan(member: str, needs: Mapping[str, Slots], holders: Mapping[Place, str]) -> Plan:
    """The next step of `member`. `needs`: of every member; `holders`: of the slots that a member holds.

    Followed by each member in turn it ends with counts in each group that differ by at most one, and moves no more
    slots than that takes: who holds more keeps the remainder.
    """
    wanted = {
        name: {(connection, slot) for connection in its for slot in its[connection]} for name, its in needs.items()
    }
    groups = dict[frozenset[str], list[Place]]()
    for place in sorted(wanted[member], key=_spread):
        groups.setdefault(frozenset([name for name in wanted if place in wanted[name]]), []).append(place)
    take = list[Place]()
    excess = [place for place, holder in holders.items() if holder == member and place not in wanted[member]]
    for members, places in groups.items():
        held = dict.fromkeys(members, 0)
        for place in places:
            if (holder := holders.get(place)) in held:
                held[holder] += 1
        mine = [place for place in places if holders.get(place) == member]
        free = [place for place in places if place not in holders]
        share = _share(member, held, len(places))
        take += free[: max(0, share - len(mine))]
        excess += mine[share:]
    return Plan(take, excess)


def _share(member: str, held: Mapping[str, int], total: int) -> int:
    """How many of `total` slots `member` may hold, of the members that hold so many now.

    Who holds one more than the least comes first, and how many more does not matter: else shares would change while
    slots are given back, and some would be that need not.
    """
    least, more = divmod(total, len(held))
    in_order = sorted(held, key=lambda name: (-min(held[name], least + 1), name))
    return least + (in_order.index(member) < more)


def _spread(place: Place) -> tuple[int, str]:
    """By slots first: then a part of them has some of every connection."""
    connection, slot = place
    return slot, connection


def dump_needs(needs: Slots) -> str:
    """As the column `member.needs`: a JSON object of connections, whose slots are the bits of a hexadecimal number."""
    return msgspec.json.encode({name: f"{_number(needs[name]):x}" for name in sorted(needs)}).decode()


def load_needs(text: str) -> Slots:
    """The slots that were dumped; none where that cannot be read: one damaged row must not stop all members."""
    try:
        found = msgspec.json.decode(text.encode(), type=dict[str, str])
        return {name: _slots(int(number, _HEXADECIMAL)) for name, number in found.items()}
    except (msgspec.DecodeError, ValueError):
        return {}


def _number(slots: Collection[int]) -> int:
    return sum([1 << slot for slot in set(slots)])


def _slots(number: int) -> Collection[int]:
    return [slot for slot in range(number.bit_length()) if number >> slot & 1]
