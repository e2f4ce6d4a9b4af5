"""Claims: no two shards scale the same target, even if their configurations name it differently.

The table `serves` has a row for each autoscaler's name and one for each target, with its connection's defaults written
out. A shard claims both before it decides about an autoscaler. A claim is valid while its shard has the claim's epoch
and a live holder, so a commit that checks the epoch (`shards.fence`) also checks the shard's claims.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from sqlalchemy import Connection, and_, bindparam, delete, select

from autoscaler.model import ShardName, TargetRef
from autoscaler.record import schema
from autoscaler.record.entries import target_from, target_text
from autoscaler.record.ledger_context import LedgerContext
from autoscaler.record.locks import Lock, wait_for
from autoscaler.record.shards import columns_of, fence_off

Claim: TypeAlias = tuple[str, str]
"""Kind (`schema.NAME` or `schema.TARGET`) and key of what is claimed."""
_TABLE: Final = schema.serves
_AT_ONCE: Final = 500
_AGAIN: Final = "the next cycle tries again"


class _ForeignClaim(NamedTuple):
    """Another shard's claim."""

    shard: ShardName | None
    """None: the claim's epoch is over, so the claim is invalid."""
    epoch: int | None
    holder: str | None
    place: str | None
    """Host and process of a live holder; None: the holder is gone."""


class Claims:
    """The claims of one ledger. Used by its shard's thread."""

    def __init__(self, context: LedgerContext, name: ShardName, epoch: int, member: str | None) -> None:
        """`epoch`, `member`: those of the ledger."""
        self._context = context
        self._name: Final = name
        self._epoch: Final = epoch
        self._member: Final = member
        self._wanted: Mapping[str, tuple[Claim, Claim]] = {}
        """The two claims of each autoscaler, by its name."""
        self._mine: frozenset[Claim] | None = frozenset()
        """The claims of this epoch in the state; None: not known, and read by `look`."""
        self.unheld: Mapping[str, str] = {}
        """Autoscalers that may not be scaled here, by name, with the holder of their claim."""

    def follow(self, targets: Mapping[str, TargetRef]) -> None:
        """Set the shard's autoscalers: name -> target, with the defaults of its connection written out."""
        self._wanted = {
            name: ((schema.NAME, name), (schema.TARGET, target_text(target))) for name, target in targets.items()
        }
        self._mine = None

    def doubt(self) -> None:
        """Read the claims again, because a commit may have been lost."""
        if self._wanted or self._mine:
            self._mine = None

    def look(self) -> None:
        """Read the shard's claims if they are not known. Raises StateError."""
        if self._mine is None:
            own = and_(*[_TABLE.c[key] == value for key, value in self._owner().items()])
            with self._context.readers.begin() as connection:
                found = connection.execute(select(_TABLE.c.kind, _TABLE.c.key).where(own)).all()
            self._mine = frozenset((kind, key) for kind, key in found)
            self.unheld = {}

    @property
    def complete(self) -> bool:
        """Whether the shard has exactly the claims that it needs."""
        return self._mine is not None and self._mine == {claim for both in self._wanted.values() for claim in both}

    def change(self, connection: Connection) -> frozenset[Claim]:
        """Release unneeded claims, then claim the rest. An autoscaler gets both of its claims or neither.

        Called behind the fence, after `look`. Returns the shard's claims once this is committed. Invalid claims of
        others are taken over, which ends the epoch of a shard whose holder is gone.
        """
        assert self._mine is not None  # noqa: S101 - for mypy: the caller called `look`
        wait_for(connection, Lock.CLAIMS)
        others = _read_others(connection, [each for both in self._wanted.values() for each in both], self._mine)
        unheld = {name: reason for name, both in self._wanted.items() if (reason := self._obstacle(both, others))}
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
                    unheld[name] = f"shard {other.shard} of a daemon that is gone is being taken over; {_AGAIN}"
        kept = frozenset(claim for name, both in self._wanted.items() if name not in unheld for claim in both)
        released = [{"old_kind": kind, "old_key": key} for kind, key in sorted(self._mine - kept)]
        if released:
            this = (_TABLE.c.kind == bindparam("old_kind")) & (_TABLE.c.key == bindparam("old_key"))
            connection.execute(delete(_TABLE).where(this), released)
        new = [{"kind": kind, "key": key, **self._owner()} for kind, key in sorted(kept - self._mine)]
        schema.upsert(connection, _TABLE, new)
        _delete_former_memory(
            connection, self._name.adapter, {name: self._wanted[name][1] for name in self._added(self._mine, kept)}
        )
        self.unheld = unheld
        return kept

    def committed(self, kept: frozenset[Claim]) -> Collection[str]:
        """Note that `change` is committed. Returns the autoscalers whose claims are new."""
        before, self._mine = self._mine or frozenset(), kept
        return self._added(before, kept)

    def failed(self, error: str) -> None:
        """Note that `change` failed: the shard keeps its earlier claims."""
        mine = self._mine or frozenset()
        self.unheld = {name: error for name, both in self._wanted.items() if not mine.issuperset(both)}

    def _added(self, before: frozenset[Claim], kept: frozenset[Claim]) -> Collection[str]:
        return [name for name, both in self._wanted.items() if not before.issuperset(both) and kept.issuperset(both)]

    def _obstacle(self, both: Collection[Claim], others: Mapping[Claim, _ForeignClaim]) -> str | None:
        """Return which shard has a valid claim on one of these; None if none has."""
        for claim in both:
            if (other := others.get(claim)) is not None and self._is_valid(other):
                where = "this daemon" if other.holder == self._member else other.place
                return f"shard {other.shard} of {where} serves this {claim[0]} ({claim[1]}); {_AGAIN}"
        return None

    def _is_valid(self, other: _ForeignClaim) -> bool:
        if other.shard is None:
            return False
        if other.holder == self._member:  # another shard of this daemon
            return self._context.newest.get(other.shard) == other.epoch
        return other.place is not None

    def _owner(self) -> dict[str, Any]:
        return {**columns_of(self._name), "epoch": self._epoch}


def _read_others(
    connection: Connection, claims: Collection[Claim], mine: frozenset[Claim]
) -> Mapping[Claim, _ForeignClaim]:
    """Return those of these claims that are in the state and not in `mine`."""
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
    found = dict[Claim, _ForeignClaim]()
    for kind, keys in _by_kind(claims, mine):
        for row in connection.execute(query.where(_TABLE.c.kind == kind, _TABLE.c.key.in_(keys))):
            name = None if row.connection is None else ShardName(row.connection, row.shard, row.shards)
            found[kind, row.key] = _ForeignClaim(name, row.epoch, row.holder, row.place)
    return found


def _delete_former_memory(connection: Connection, adapter: str, targets: Mapping[str, Claim]) -> None:
    """Delete what other connections' adapters saved of the targets of these autoscalers.

    `targets`: autoscaler's name -> the claim of its target. Otherwise the adapter of a connection that is renamed, and
    later gets its former name back, would read its old values although another connection wrote to the target since.
    """
    owner, memory = schema.autoscaler.c, schema.adapter_memory
    names = sorted(targets)
    for start in range(0, len(names), _AT_ONCE):
        some = owner.name.in_(names[start : start + _AT_ONCE]) & (owner.connection != adapter)
        for row in connection.execute(select(owner.name, owner.connection, owner.target).where(some)).all():
            if target_from(row.target).name == target_from(targets[row.name][1]).name:
                this = (memory.c.connection == row.connection) & (memory.c.target == row.target)
                connection.execute(delete(memory).where(this))


def _by_kind(claims: Collection[Claim], mine: frozenset[Claim]) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield each kind with some keys of the claims that are not in `mine`, until all are yielded."""
    for kind in (schema.NAME, schema.TARGET):
        keys = [key for each, key in claims if each == kind and (each, key) not in mine]
        for start in range(0, len(keys), _AT_ONCE):
            yield kind, keys[start : start + _AT_ONCE]
