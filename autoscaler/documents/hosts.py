"""The daemons that share a state, what each of them serves, and whose configuration differs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from autoscaler.documents.base import Document
from autoscaler.documents.status import DaemonStatus
from autoscaler.model import ShardName

if TYPE_CHECKING:  # the command line reads documents that a daemon made, and needs no SQLAlchemy for it
    from autoscaler.record import Followed, Member, Sharing


class HostDocument(Document):
    """One daemon that shares the state."""

    member: str
    """Its id, a new one each time that it joins."""
    name: str
    """Host and process, as `heldBy` of autoscalers has it: `web-1, pid 4211`."""
    host: str
    version: str
    joined: datetime
    lease_ends: datetime
    """Unless it is renewed; then others take its shards over."""
    autoscalers: int
    """How many it serves."""
    shards: Mapping[str, int]
    """How many of each adapter connection's shards it holds."""
    loaded: datetime | None
    """When its configuration was loaded; null: it has not said yet."""
    differs: tuple[str, ...]
    """Autoscalers that its configuration has otherwise than the one loaded last, or has not, or alone has; sorted."""


class HostList(Document):
    """All daemons that share the state."""

    shared: bool
    """false: the state is an SQLite file, which has one daemon."""
    at: datetime
    """When this was so, as all times here by the database's clock."""
    hosts: tuple[HostDocument, ...]
    """By name."""
    unheld: tuple[str, ...]
    """Autoscalers of the configuration loaded last that no daemon serves; sorted."""


class StatusDocument(Document):
    """What `autoscaler status` shows."""

    daemon: DaemonStatus | None
    """null: none answers, and the state itself was read."""
    hosts: HostList


def host_list(sharing: "Sharing | None", now: datetime) -> HostList:
    """Its document; None: the state has one daemon. `now`: here, where no database has a time of its own."""
    if sharing is None:
        return HostList(shared=False, at=now, hosts=(), unheld=())
    wanted = _wanted(sharing)
    hosts = sorted(
        (_host(each, wanted, sharing) for each in sharing.members), key=lambda each: (each.name, each.member)
    )
    return HostList(shared=True, at=sharing.now, hosts=tuple(hosts), unheld=tuple(unheld(sharing)))


def unheld(sharing: "Sharing") -> Sequence[str]:
    """Autoscalers of the configuration loaded last that no daemon serves, sorted.

    No daemon holds their shard; or the one that does has not loaded them yet, or another shard has claimed them.
    """
    return sorted(name for name, each in _wanted(sharing).items() if not _is_served(name, each.shard, sharing))


def _is_served(name: str, shard: ShardName, sharing: "Sharing") -> bool:
    own = sharing.follows.get(sharing.holders.get(shard, ""), {}).get(name)
    return own is not None and own.shard == shard == sharing.claims.get(name)


def _wanted(sharing: "Sharing") -> "Mapping[str, Followed]":
    """The configuration that was loaded last."""
    loaded = [each for each in sharing.members if each.loaded is not None]
    newest = max(loaded, key=lambda each: (each.loaded, each.id), default=None)
    return {} if newest is None else sharing.follows.get(newest.id, {})


def _host(member: "Member", wanted: "Mapping[str, Followed]", sharing: "Sharing") -> HostDocument:
    own = sharing.follows.get(member.id, {})
    held = {shard for shard, holder in sharing.holders.items() if holder == member.id}
    shards = Counter(sorted(shard.adapter for shard in held))
    differs = () if member.loaded is None else _differing(own, wanted)
    return HostDocument(
        member=member.id,
        name=member.place,
        host=member.host,
        version=member.version,
        joined=member.joined,
        lease_ends=member.until,
        autoscalers=sum(each.shard in held and each.shard == sharing.claims.get(name) for name, each in own.items()),
        shards=dict(shards),
        loaded=member.loaded,
        differs=tuple(differs),
    )


def _differing(own: "Mapping[str, Followed]", wanted: "Mapping[str, Followed]") -> Sequence[str]:
    return sorted(name for name in own.keys() | wanted.keys() if own.get(name) != wanted.get(name))
