"""Decides which member is to hold which shard, so that the counts are even. Pure."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple, TypeAlias

import msgspec

from autoscaler.model import ShardName

Needs: TypeAlias = Mapping[str, Collection[ShardName]]
"""Member -> the shards in which its configuration has autoscalers and that its host can serve."""


def share_out(needs: Needs, holders: Mapping[ShardName, str]) -> Mapping[ShardName, str]:
    """Return shard -> the member that is to hold it. `holders`: the shards that members hold now.

    If all members need the same shards, the members' counts for each connection differ by at most one, and so do their
    total counts. No more shards move than this needs, also if each member computes and does its own part in turn.
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
    """A move of a shard that evens out two members' counts. The greatest is done first."""

    of_connection: int
    """Difference of the members' counts for the shard's connection."""
    in_all: int
    """Difference of their total counts."""
    is_free: bool
    """Whether no member holds the shard yet, so that nothing really moves."""
    name: ShardName
    to: str


class _Plan:
    """The shards assigned so far."""

    def __init__(self, needs: Needs) -> None:
        self.needing = dict[ShardName, list[str]]()
        for member in sorted(needs):
            for name in needs[member]:
                self.needing.setdefault(name, []).append(member)
        self.given = dict[ShardName, str]()
        self._all = Counter[str]()
        self._of_connection = Counter[tuple[str, str]]()

    def give(self, name: ShardName, member: str) -> None:
        """Assign the shard to the member instead of its member before."""
        before = self.given.get(name)
        if before is not None:
            self._count(name, before, -1)
        self.given[name] = member
        self._count(name, member, 1)

    def poorest(self, name: ShardName) -> str:
        """Return the member that needs the shard and has the fewest of its connection, then the fewest in all."""
        return min(self.needing[name], key=lambda each: (*self._counts(name, each), each))

    def moves(self, holders: Mapping[ShardName, str]) -> Iterator[_Move]:
        """Yield the moves that bring two members' counts closer: first for the connection, then in all."""
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
    """Return the shards as the column `member.needs`: JSON."""
    return msgspec.json.encode([(name.adapter, name.number, name.of) for name in sorted(names)]).decode()


def load_needs(text: str) -> Collection[ShardName]:
    """Return the shards of `dump_needs`; none if they cannot be read: a damaged row must not stop all members."""
    try:
        return [ShardName(*each) for each in msgspec.json.decode(text.encode(), type=list[tuple[str, int, int]])]
    except msgspec.DecodeError:
        return []
