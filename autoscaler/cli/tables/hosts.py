"""`autoscaler status`: one row for each daemon that shares the state."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from autoscaler.documents.hosts import HostDocument, HostList
from autoscaler.layout import NONE, UNKNOWN, Screen, Table
from autoscaler.quantity import format_age
from autoscaler.text import clean, listed

_HEADER: Final = ("DAEMON", "VERSION", "AUTOSCALERS", "SHARDS", "LEASE", "LOADED", "CONFIGURATION")
_NAMED: Final = 5
"""Autoscalers that a line lists."""


def host_rows(found: HostList, screen: Screen) -> Sequence[str]:
    """Return the table, in lines."""
    return Table(_HEADER, screen).lines([_row(each, found.at) for each in found.hosts])


def notes(found: HostList) -> Sequence[str]:
    """Return notes about a missing daemon and about autoscalers that no daemon serves."""
    lines = [] if found.hosts else ["no daemon runs on this state"]
    if found.unheld:
        lines.append(f"no daemon serves {_names(found.unheld)}")
    return lines


def _row(host: HostDocument, now: datetime) -> tuple[str, ...]:
    shards = ", ".join(f"{name} {count}" for name, count in host.shards.items()) or NONE
    left = format_age(host.lease_ends - now) if host.lease_ends > now else "over"
    loaded = UNKNOWN if host.loaded is None else format_age(now - host.loaded)
    configuration = f"differs: {_names(host.differs)}" if host.differs else "the latest"
    return (
        clean(host.name),
        clean(host.version),
        str(host.autoscalers),
        clean(shards),
        left,
        loaded,
        UNKNOWN if host.loaded is None else configuration,
    )


def _names(names: Sequence[str]) -> str:
    return clean(listed(names, _NAMED))
