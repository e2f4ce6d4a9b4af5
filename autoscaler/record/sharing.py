"""Which member is to hold which shard, so that all members hold as many. Pure."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple, TypeAlias

import msgspec

from autoscaler.model import ShardName

Needs: TypeAlias = Mapping[str, Collection[ShardName]]
"""By member: the shards that its configuration has autoscalers in, and that its host can serve."""


def share_out(needs: Needs, holders: Mapping[ShardName, str]) -> Mapping[ShardName, str]:
    """The member that is to hold each shard. `holders`: of the shards that members hold now.

    Where all members need the same, the counts of each connection differ by at most one, and so do the counts of all
    shards together. If each member in turn does its part of this, they end there, and no more shards move than that
    takes.
    """
    plan = _Plan(needs)
    for name, holder in holders.items():
        if holder in plan.needing.get(name, ()):
            plan.give(name, holder)
    for name in sorted(plan.needing.keys() - plan.given.keys()):
        plan.give(name, plan.poorest(name))
    while moves := [*plan.moves(holders)]:
        move = max(moves)
        plan.give(move.name, move.to)
    return plan.given


class _Move(NamedTuple):
    """A shard that evens out two members' counts; the greatest comes first."""

    of_connection: int
    """How many shards more of its connection the one has."""
    in_all: int
    """How many shards more in all."""
    is_free: bool
    """Whether no member holds the shard yet: then nothing moves in truth."""
    name: ShardName
    to: str


class _Plan:
    """Who is to hold what, as far as it is decided."""

    def __init__(self, needs: Needs) -> None:
        self.needing = dict[ShardName, list[str]]()
        for member in sorted(needs):
            for name in needs[member]:
                self.needing.setdefault(name, []).append(member)
        self.given = dict[ShardName, str]()
        self._all = Counter[str]()
        self._of_connection = Counter[tuple[str, str]]()

    def give(self, name: ShardName, member: str) -> None:
        """Let the member hold the shard, in place of the one before."""
        before = self.given.get(name)
        if before is not None:
            self._count(name, before, -1)
        self.given[name] = member
        self._count(name, member, 1)

    def poorest(self, name: ShardName) -> str:
        """Of the members that need the shard, the one with the fewest of its connection, and then in all."""
        return min(self.needing[name], key=lambda each: (*self._counts(name, each), each))

    def moves(self, holders: Mapping[ShardName, str]) -> Iterator[_Move]:
        """What brings the counts of two members closer to each other: the connection's, or else those of all."""
        for name, holder in self.given.items():
            to = self.poorest(name)
            mine, theirs = self._counts(name, holder), self._counts(name, to)
            move = _Move(mine[0] - theirs[0], mine[1] - theirs[1], name not in holders, name, to)
            if move.of_connection >= 2 or (move.of_connection == 1 and move.in_all >= 2):
                yield move

    def _counts(self, name: ShardName, member: str) -> tuple[int, int]:
        return self._of_connection[member, name.adapter], self._all[member]

    def _count(self, name: ShardName, member: str, by: int) -> None:
        self._of_connection[member, name.adapter] += by
        self._all[member] += by


def dump_needs(names: Collection[ShardName]) -> str:
    """As the column `member.needs`: JSON."""
    return msgspec.json.encode([(name.adapter, name.number, name.of) for name in sorted(names)]).decode()


def load_needs(text: str) -> Collection[ShardName]:
    """The shards that were dumped; none where that cannot be read: one damaged row must not stop all members."""
    try:
        return [ShardName(*each) for each in msgspec.json.decode(text.encode(), type=list[tuple[str, int, int]])]
    except msgspec.DecodeError:
        return []
