"""How the daemon does, and what it depends on: each Prometheus, each back end, the configuration."""

from datetime import datetime
from typing import Literal

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


class AskedAloneStatus(Document):
    """A query that is not merged with others for what it came to."""

    query: str
    """The expression, up to 1 KiB of it."""
    reason: Literal["refused", "heavy"]
    """`heavy`: it takes long, or its answer is too large; it is sent after all others, one at a time."""
    said: str
    """What it came to when it left the merge."""
    autoscalers: tuple[str, ...]
    """Those that ask it, the first twenty."""


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
    queries_alone: int = 0
    """How many queries are kept out of the merge, until they were cheap for ten minutes."""
    asked_alone: tuple[AskedAloneStatus, ...] = ()
    """The first twenty of them."""


class ConnectionStatus(Document):
    """One adapter connection of the configuration."""

    name: str
    type: str
    level: Level
    """`error`: no target was read or written for two sync periods; or every shard hangs. `warning`: one shard hangs."""
    shards: int
    hung: int
    """Of these shards, those whose cycle is past its deadline."""
    superseded: int
    """How often a shard hung so long that another took its place, since the start."""
    missed_ticks: int
    """Cycles that were due while the one before still ran, since the start."""
    removal_budget: int | None
    """How many instances may leave in each period of its removalBudget; null: it has none."""
    removals_left: int | None
    """How many still may now; null also before the first cycle."""
    max_total: int | None
    """What the sizes of its autoscalers may sum to; null: it has no such limit."""
    total_size: int | None
    """What they sum to; null where there is no such limit, or before the first cycle."""
    last_cycle: datetime | None
    """When a cycle last ended, of the shard whose is oldest; null: not since the configuration was read."""
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
