"""The status of the daemon and of what it depends on: each Prometheus, each back end, the configuration."""

from datetime import datetime
from typing import Literal

from autoscaler.document import Document
from autoscaler.view.level import Level


class ReloadStatus(Document):
    """The last load of the configuration."""

    at: datetime
    successful: bool
    """false: the previous configuration stays in force."""
    problem: str | None
    """The first problem; null: there was none."""
    problems: int
    """The number of problems."""


class AskedAloneStatus(Document):
    """A query that the daemon does not merge with others, because of an earlier result."""

    query: str
    """The expression, up to 1 KiB of it."""
    reason: Literal["refused", "heavy"]
    """`refused`: Prometheus refused it. `heavy`: it is slow, or its answer is large; it is sent last, one at a time."""
    said: str
    """The result because of which it is sent alone."""
    autoscalers: tuple[str, ...]
    """The autoscalers that use it; at most twenty."""


class SourceStatus(Document):
    """One Prometheus of the configuration."""

    name: str
    url: str
    """Its address for browsers."""
    level: Level
    """`error`: it was queried and has not answered for two sync periods."""
    last_success: datetime | None
    """Its last answer, including refusals of wrong queries; null: none since the start."""
    last_failure: datetime | None
    error: str | None
    """The last failure."""
    queries_alone: int = 0
    """The number of queries that are sent alone, until they have been cheap for ten minutes."""
    asked_alone: tuple[AskedAloneStatus, ...] = ()
    """At most twenty of them."""


class ConnectionStatus(Document):
    """One adapter connection of the configuration."""

    name: str
    type: str
    level: Level
    """`error`: no target was read or written for two sync periods, or every shard hangs. `warning`: one shard hangs."""
    shards: int
    hung: int
    """The number of shards whose cycle has passed its deadline."""
    superseded: int
    """How often a hung shard was replaced, since the start."""
    missed_ticks: int
    """Cycles that were due while the previous one was running, since the start."""
    removal_budget: int | None
    """The instances that may be removed in each period of its removalBudget; null: it has none."""
    removals_left: int | None
    """The instances that may be removed now; null also before the first cycle."""
    max_total: int | None
    """The limit on the sum of its autoscalers' sizes; null: it has none."""
    total_size: int | None
    """The sum of these sizes; null without a limit, or before the first cycle."""
    last_cycle: datetime | None
    """When a cycle last ended, in the shard where that is longest ago; null: none since the last reload."""
    last_success: datetime | None
    """When the back end last answered for a target."""
    last_failure: datetime | None
    error: str | None
    """The last failure, of one target."""


class GrantStatus(Document):
    """The autoscalers under one grant, as those in a team's folder."""

    name: str
    """The grant's; or that of a folder without a grant; empty: of the folder of all teams."""
    autoscalers: int
    """The number of those that are served."""
    refused: int
    """The number of problems: with its folder, its files and its autoscalers."""
    problems: tuple[str, ...]
    """What is wrong; at most twenty of them."""


class DaemonStatus(Document):
    """The daemon, and what it depends on."""

    version: str
    started: datetime
    configuration: str
    """The file."""
    state_folder: str = ""
    """The folder of its state, on its machine."""
    autoscalers: int
    """The number of configured autoscalers."""
    level: Level
    """The worst level of all parts."""
    problems: tuple[str, ...]
    """A sentence for each problem; empty: there is none."""
    lease_lost: bool = False
    """Whether the daemon shares its state and has lost its lease; then it scales nothing."""
    last_reload: ReloadStatus
    sources: tuple[SourceStatus, ...]
    """Sorted by name."""
    connections: tuple[ConnectionStatus, ...]
    """The connections with autoscalers, sorted by name."""
    grants: tuple[GrantStatus, ...] = ()
    """Sorted by name."""
