"""Claims: no two shards scale one target, however their configurations call it.

The table `serves` has a row for each autoscaler's name and one for each target, with its connection's defaults written
out. A shard claims both before it decides about an autoscaler. A claim stands while its shard has the claim's epoch and
a live holder, so a commit that makes sure of the epoch (`shards.fence`) makes sure of the shard's claims, too.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from sqlalchemy import Connection, and_, bindparam, delete, select

from autoscaler.model import ShardName, TargetRef
from autoscaler.record import schema
from autoscaler.record.entries import target_from, target_text
from autoscaler.record.locks import Lock, wait_for
from autoscaler.record.shards import columns_of, fence_off
from autoscaler.record.shared import Shared
from autoscaler.record.sighted import Reading

Claim: TypeAlias = tuple[str, str]
"""What is claimed: its kind, and which."""
_TABLE: Final = schema.serves
_AT_ONCE: Final = 500
_AGAIN: Final = "the next cycle tries again"


class _Other(NamedTuple):
    """A claim that another shard has made, in the epoch that this has now, or in an older one."""

    shard: ShardName | None
    """None: that epoch is over, and so is the claim."""
    epoch: int | None
    holder: str | None
    place: str | None
    """Of a live holder, for people."""


class Claims:
    """Of one ledger. Used by its shard's thread."""

    def __init__(self, shared: Shared, name: ShardName, epoch: int, member: str | None) -> None:
        """`epoch`, `member`: the ledger's."""
        self._shared = shared
        self._name: Final = name
        self._epoch: Final = epoch
        self._member: Final = member
        self._wanted: Mapping[str, tuple[Claim, Claim]] = {}
        """What each autoscaler needs, by its name."""
        self._mine: frozenset[Claim] | None = frozenset()
        """What the state has for this epoch; None: it is to be asked."""
        self.unheld: Mapping[str, str] = {}
        """Autoscalers that may not be scaled here, by name: who has what they need."""

    def follow(self, targets: Mapping[str, TargetRef]) -> None:
        """These autoscalers are the shard's: name -> target, with the defaults of its connection written out."""
        self._wanted = {
            name: ((schema.NAME, name), (schema.TARGET, target_text(target))) for name, target in targets.items()
        }
        self._mine = None

    def doubt(self) -> None:
        """The state may have lost what was committed."""
        if self._wanted or self._mine:
            self._mine = None

    def look(self, reading: Reading) -> None:
        """Read what the shard has, where that is not known. Raises StateError."""
        if self._mine is None:
            own = and_(*[_TABLE.c[key] == value for key, value in self._owner().items()])
            with reading() as connection:
                self._mine = frozenset((row.kind, row.key) for row in connection.execute(select(_TABLE).where(own)))
            self.unheld = {}

    @property
    def complete(self) -> bool:
        """Whether the shard is known to have what it needs, and nothing else."""
        return self._mine is not None and self._mine == {claim for both in self._wanted.values() for claim in both}

    def change(self, connection: Connection) -> frozenset[Claim]:
        """Release what is not needed any more, then claim the rest; an autoscaler has both claims or neither.

        Behind the fence, after `look`. Returns what the shard has from the commit on. Claims that do not stand are
        taken over: the epoch of a shard whose holder is gone ends with that.
        """
        assert self._mine is not None  # noqa: S101 - for mypy: the caller has looked
        wait_for(connection, Lock.CLAIMS)
        others = _read_others(connection, [each for both in self._wanted.values() for each in both], self._mine)
        unheld = {name: told for name, both in self._wanted.items() if (told := self._obstacle(both, others))}
        shards = {
            other.shard
            for name, both in self._wanted.items()
            if name not in unheld
            for claim in both
            if (other := others.get(claim)) and other.shard is not None
        }
        ended = shards if self._member is None else fence_off(connection, shards, self._member)
        for name in self._wanted.keys() - unheld.keys():
            for claim in self._wanted[name]:
                if (other := others.get(claim)) and other.shard is not None and other.shard not in ended:
                    unheld[name] = f"shard {other.shard}, whose daemon is gone, is being taken over; {_AGAIN}"
        kept = frozenset(claim for name, both in self._wanted.items() if name not in unheld for claim in both)
        gone = [{"old_kind": kind, "old_key": key} for kind, key in sorted(self._mine - kept)]
        if gone:
            this = (_TABLE.c.kind == bindparam("old_kind")) & (_TABLE.c.key == bindparam("old_key"))
            connection.execute(delete(_TABLE).where(this), gone)
        new = [{"kind": kind, "key": key, **self._owner()} for kind, key in sorted(kept - self._mine)]
        schema.upsert(connection, _TABLE, new)
        came = {name: both[1] for name, both in self._wanted.items() if not self._mine.issuperset(both)}
        _forget_former(connection, self._name.adapter, {name: came[name] for name in came.keys() - unheld.keys()})
        self.unheld = unheld
        return kept

    def committed(self, kept: frozenset[Claim]) -> Collection[str]:
        """`change` is in the state. Returns the autoscalers that have come with it."""
        before, self._mine = self._mine or frozenset(), kept
        return [name for name, both in self._wanted.items() if not before.issuperset(both) and kept.issuperset(both)]

    def failed(self, error: str) -> None:
        """`change` has failed: what the shard had it still has, as far as the fence says in each commit."""
        mine = self._mine or frozenset()
        self.unheld = {name: error for name, both in self._wanted.items() if not mine.issuperset(both)}

    def _obstacle(self, both: Collection[Claim], others: Mapping[Claim, _Other]) -> str | None:
        """Who has one of these claims; None: nobody whose claim stands."""
        for claim in both:
            if (other := others.get(claim)) is not None and self._stands(other):
                where = "this daemon" if other.holder == self._member else other.place
                return f"shard {other.shard} of {where} serves this {claim[0]} ({claim[1]}); {_AGAIN}"
        return None

    def _stands(self, other: _Other) -> bool:
        if other.shard is None:
            return False
        if other.holder == self._member:  # this daemon's own
            return self._shared.newest.get(other.shard) == other.epoch
        return other.place is not None

    def _owner(self) -> dict[str, Any]:
        return {**columns_of(self._name), "epoch": self._epoch}


def _read_others(connection: Connection, claims: Collection[Claim], mine: frozenset[Claim]) -> Mapping[Claim, _Other]:
    """Of these claims those that are in the state, without `mine`."""
    shard, member = schema.shard, schema.member
    same = and_(*[shard.c[key] == _TABLE.c[key] for key in ("connection", "shards", "shard", "epoch")])
    query = (
        select(
            _TABLE.c.key,
            shard.c.connection,
            shard.c.shard,
            shard.c.shards,
            shard.c.epoch,
            shard.c.holder,
            member.c.place,
        )
        .join(shard, same, isouter=True)
        .join(member, member.c.id == shard.c.holder, isouter=True)
    )
    found = dict[Claim, _Other]()
    for kind, keys in _by_kind(claims, mine):
        for row in connection.execute(query.where(_TABLE.c.kind == kind, _TABLE.c.key.in_(keys))):
            name = None if row.connection is None else ShardName(row.connection, row.shard, row.shards)
            found[kind, row.key] = _Other(name, row.epoch, row.holder, row.place)
    return found


def _forget_former(connection: Connection, adapter: str, came: Mapping[str, Claim]) -> None:
    """Delete what other connections' adapters keep of targets of these autoscalers that are called so there, too.

    A connection that was renamed, and gets its former name back, would believe what it wrote before the other wrote.
    """
    owner, memory = schema.autoscaler.c, schema.adapter_memory
    names = sorted(came)
    for start in range(0, len(names), _AT_ONCE):
        some = owner.name.in_(names[start : start + _AT_ONCE]) & (owner.connection != adapter)
        for row in connection.execute(select(owner.name, owner.connection, owner.target).where(some)).all():
            if target_from(row.target).name == target_from(came[row.name][1]).name:
                this = (memory.c.connection == row.connection) & (memory.c.target == row.target)
                connection.execute(delete(memory).where(this))


def _by_kind(claims: Collection[Claim], mine: frozenset[Claim]) -> Iterator[tuple[str, Sequence[str]]]:
    """Their keys, some at a time."""
    for kind in (schema.NAME, schema.TARGET):
        keys = [key for each, key in claims if each == kind and (each, key) not in mine]
        for start in range(0, len(keys), _AT_ONCE):
            yield kind, keys[start : start + _AT_ONCE]
