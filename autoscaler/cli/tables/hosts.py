"""`autoscaler status`: one row for each daemon that shares the state."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from autoscaler.layout import NONE, UNKNOWN, Screen, Table
from autoscaler.quantity import format_age
from autoscaler.text import clean
from autoscaler.view.hosts import HostList, LeaderDocument

_HEADER: Final = ("DAEMON", "ROLE", "SINCE", "LEASE", "VERSION", "LOADED", "CONFIGURATION")
_CONFIGURATION: Final = {True: "differs", False: "the same", None: UNKNOWN}


def host_rows(found: HostList, screen: Screen) -> Sequence[str]:
    """Return the table, in lines."""
    rows = [] if found.leader is None else [_row(found.leader, found.at)]
    rows += [(clean(name), "stands by", *[NONE] * 5) for name in found.standbys]
    return Table(_HEADER, screen).lines(rows) if rows else ()


def notes(found: HostList) -> Sequence[str]:
    """Return notes about a missing leader and about a configuration that differs from its own."""
    if found.leader is None:
        return [f"no daemon {'leads' if found.standbys else 'runs on this state'}, so nothing is scaled"]
    if found.leader.differs:
        return ["the leader has loaded another configuration than this one; roll one out to all, and reload each"]
    return ()


def _row(leader: LeaderDocument, now: datetime) -> tuple[str, ...]:
    return (
        clean(leader.name),
        "leads",
        format_age(now - leader.since),
        format_age(leader.lease_ends - now) if leader.lease_ends > now else "over",
        clean(leader.version),
        UNKNOWN if leader.loaded is None else format_age(now - leader.loaded),
        _CONFIGURATION[leader.differs],
    )
