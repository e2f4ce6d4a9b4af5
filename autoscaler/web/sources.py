"""The server's access to the daemon."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry

from autoscaler.clock import Clock
from autoscaler.config.settings import Settings
from autoscaler.record.state import State
from autoscaler.view.discovered import DiscoveredList
from autoscaler.view.reads import Reads
from autoscaler.view.status import DaemonStatus
from autoscaler.web.work import Work


@dataclass(frozen=True, slots=True)
class Sources:
    """Functions and values for the server's threads. Shards do not call them."""

    state: State
    settings: Callable[[], Settings]
    """Returns the running configuration."""
    clock: Clock
    registry: CollectorRegistry
    """The registry of /metrics."""
    ready: Callable[[], bool]
    """Returns whether every shard's first cycle has ended or met its deadline. Does not block."""
    reload: Callable[[], Sequence[str]]
    """Reloads the configuration and returns its problems, once it is followed."""
    resign: Callable[[], Sequence[str]]
    """Frees the lease, once the cycles have ended; returns why it was not."""
    status: Callable[[], DaemonStatus]
    """Returns the status of the daemon and its dependencies. Does not block."""
    discovered: Callable[[], DiscoveredList] = DiscoveredList
    """Returns the policies that were discovered. Does not block."""
    work: Work = field(default_factory=Work)
    """The threads that make answers."""

    def reads(self) -> Reads:
        """Return the operations that change nothing."""
        return Reads(self.state.archive, self.settings, self.clock, self.status, self.discovered)

    def operators_of(self, name: str) -> Collection[str]:
        """Return the users whom a grant lets change this autoscaler."""
        grant = self.settings().grant_of(name)
        return () if grant is None else grant.operators
