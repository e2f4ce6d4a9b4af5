"""The daemons that share a state, with their shards and differences of configuration."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from autoscaler.documents.base import Document
from autoscaler.documents.status import DaemonStatus
from autoscaler.model import ShardName

if TYPE_CHECKING:  # the command line reads the daemon's documents without SQLAlchemy
    from autoscaler.record import Followed, Member, Ownership


class HostDocument(Document):
    """One daemon that shares the state."""

    member: str
    """Its id. It gets a new one each time that it joins."""
    name: str
    """Host and process, as in an autoscaler's `heldBy`: `web-1, pid 4211`."""
    host: str
    version: str
    joined: datetime
    lease_ends: datetime
    """When other daemons take its shards over, unless it renews its lease."""
    autoscalers: int
    """The number that it serves."""
    shards: Mapping[str, int]
    """Adapter connection -> the number of its shards that the daemon holds."""
    loaded: datetime | None
    """When its configuration was loaded; null: not yet known."""
    differs: tuple[str, ...]
    """Autoscalers that differ from the configuration loaded last, or that only one of the two has; sorted."""


class HostList(Document):
    """All daemons that share the state."""

    shared: bool
    """false: the state is an SQLite file, which has one daemon."""
    at: datetime
    """The time of this list. All times here are by the database's clock."""
    hosts: tuple[HostDocument, ...]
    """Sorted by name."""
    unheld: tuple[str, ...]
    """Autoscalers of the configuration loaded last that no daemon serves; sorted."""


class StatusDocument(Document):
    """The document of `autoscaler status`."""

    daemon: DaemonStatus | None
    """null: no daemon answers, and the command read the state."""
    hosts: HostList


def host_list(ownership: "Ownership | None", now: datetime) -> HostList:
    """Return the document. `ownership`: None if the state has one daemon; then `now` is the time of the list."""
    if ownership is None:
        return HostList(shared=False, at=now, hosts=(), unheld=())
    wanted = _wanted(ownership)
    hosts = sorted(
        (_host(each, wanted, ownership) for each in ownership.members), key=lambda each: (each.name, each.member)
    )
    return HostList(shared=True, at=ownership.now, hosts=tuple(hosts), unheld=tuple(unheld(ownership)))


def unheld(ownership: "Ownership | None") -> Sequence[str]:
    """Return the autoscalers of the configuration loaded last that no daemon serves, sorted; None: none is shared.

    No daemon holds their shard, or its holder has not loaded them yet, or another shard has claimed them.
    """
    if ownership is None:
        return ()
    return sorted(name for name, each in _wanted(ownership).items() if not _is_served(name, each.shard, ownership))


def _is_served(name: str, shard: ShardName, ownership: "Ownership") -> bool:
    own = ownership.follows.get(ownership.holders.get(shard, ""), {}).get(name)
    return own is not None and own.shard == shard == ownership.claims.get(name)


def _wanted(ownership: "Ownership") -> "Mapping[str, Followed]":
    """Return the configuration that was loaded last."""
    loaded = [each for each in ownership.members if each.loaded is not None]
    newest = max(loaded, key=lambda each: (each.loaded, each.id), default=None)
    return {} if newest is None else ownership.follows.get(newest.id, {})


def _host(member: "Member", wanted: "Mapping[str, Followed]", ownership: "Ownership") -> HostDocument:
    own = ownership.follows.get(member.id, {})
    held = {shard for shard, holder in ownership.holders.items() if holder == member.id}
    shards = Counter(sorted(shard.adapter for shard in held))
    differs = () if member.loaded is None else _differing(own, wanted)
    return HostDocument(
        member=member.id,
        name=member.place,
        host=member.host,
        version=member.version,
        joined=member.joined,
        lease_ends=member.until,
        autoscalers=sum(each.shard in held and each.shard == ownership.claims.get(name) for name, each in own.items()),
        shards=dict(shards),
        loaded=member.loaded,
        differs=tuple(differs),
    )


def _differing(own: "Mapping[str, Followed]", wanted: "Mapping[str, Followed]") -> Sequence[str]:
    return sorted(name for name in own.keys() | wanted.keys() if own.get(name) != wanted.get(name))
