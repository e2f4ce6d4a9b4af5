"""The daemons that share a state: the leader and the standbys."""

from datetime import datetime
from typing import TYPE_CHECKING

from autoscaler.document import Document
from autoscaler.view.status import DaemonStatus

if TYPE_CHECKING:  # the command line reads the daemon's documents without SQLAlchemy
    from autoscaler.record.daemons import Daemons, Leader


class LeaderDocument(Document):
    """The daemon that leads: it serves every autoscaler."""

    name: str
    """Host and process: `web-1, pid 4211`."""
    host: str
    version: str
    since: datetime
    lease_ends: datetime
    """When a standby takes over, unless the leader renews its lease."""
    loaded: datetime | None
    """When its configuration was loaded; null: not yet known."""
    differs: bool | None
    """Whether its configuration is another one than the answering daemon's; null: one of them is not known."""


class HostList(Document):
    """All daemons that share the state."""

    shared: bool
    """false: the state is an SQLite file, which has one daemon."""
    at: datetime
    """The time of this list. Times here are by the database's clock, except `loaded`, by the leader's own."""
    leader: LeaderDocument | None
    """null: no daemon leads, so nothing is scaled; or the state is not shared."""
    standbys: tuple[str, ...]
    """Host and process of each connected daemon that does not lead, sorted."""


class StatusDocument(Document):
    """The document of `autoscaler status`."""

    daemon: DaemonStatus | None
    """null: no daemon answers, and the command read the state."""
    hosts: HostList | None
    """null: the daemon cannot read its state; stderr says why."""


def host_list(daemons: "Daemons | None", now: datetime, digest: str | None) -> HostList:
    """Return the document. `daemons`: None if the state has one daemon; then `now` is the time of the list.

    `digest`: of the configuration of the daemon, or command, that asks; None: it has none.
    """
    if daemons is None:
        return HostList(shared=False, at=now, leader=None, standbys=())
    leader = None if daemons.leader is None else _leader(daemons.leader, digest)
    return HostList(shared=True, at=daemons.now, leader=leader, standbys=daemons.standbys)


def _leader(leader: "Leader", digest: str | None) -> LeaderDocument:
    differs = None if digest is None or leader.digest is None else digest != leader.digest
    return LeaderDocument.of(leader, lease_ends=leader.until, differs=differs)
