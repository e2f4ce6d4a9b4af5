"""How the daemon does, and what it depends on: each Prometheus, each back end, the configuration."""

from datetime import datetime

from autoscaler.documents.base import Document
from autoscaler.documents.level import Level


class ReloadStatus(Document):
    """The last time that the configuration was read."""

    at: datetime
    successful: bool
    """false: the previous configuration stays in force."""
    problem: str | None
    """The first thing that was wrong; null: nothing was."""
    problems: int
    """How many things were."""


class SourceStatus(Document):
    """One Prometheus of the configuration."""

    name: str
    url: str
    """Where browsers reach it."""
    level: Level
    """`error`: it has not answered for two sync periods although it was asked."""
    last_success: datetime | None
    """When it last answered, be it that a query is wrong; null: not since the start."""
    last_failure: datetime | None
    error: str | None
    """Of the last failure."""


class ConnectionStatus(Document):
    """One adapter connection of the configuration."""

    name: str
    type: str
    level: Level
    """`error`: no target could be read or written for two sync periods; or every lane hangs. `warning`: a lane does."""
    lanes: int
    hung: int
    """Of these lanes, those whose cycle is past its deadline."""
    superseded: int
    """How often a lane hung so long that another took its place, since the start."""
    missed_ticks: int
    """Cycles that were due while the one before still ran, since the start."""
    last_cycle: datetime | None
    """When a cycle last ended, of the lane whose is oldest; null: not since the configuration was read."""
    last_success: datetime | None
    """When the back end last answered for a target."""
    last_failure: datetime | None
    error: str | None
    """Of the last failure, of one target."""


class DaemonStatus(Document):
    """The daemon, and what it depends on."""

    version: str
    started: datetime
    configuration: str
    """The file."""
    autoscalers: int
    """How many are configured."""
    level: Level
    """The worst of everything below."""
    problems: tuple[str, ...]
    """What is wrong, in a sentence each; empty: nothing is."""
    lease_lost: bool = False
    """Whether the daemon shares its state and its lease is over: then it scales nothing."""
    last_reload: ReloadStatus
    sources: tuple[SourceStatus, ...]
    """By name."""
    connections: tuple[ConnectionStatus, ...]
    """By name; of those with autoscalers."""
