"""What the server is handed: everything it knows of the daemon."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry

from autoscaler.clock import Clock
from autoscaler.config.settings import Settings
from autoscaler.documents.library import Library
from autoscaler.documents.status import DaemonStatus
from autoscaler.record import State
from autoscaler.web.work import Work


@dataclass(frozen=True, slots=True)
class Sources:
    """Called from the server's threads, never from a shard's."""

    state: State
    settings: Callable[[], Settings]
    """The configuration that runs now."""
    clock: Clock
    registry: CollectorRegistry
    """What /metrics shows."""
    ready: Callable[[], bool]
    """Whether every shard's first cycle has ended or met its deadline. Answers at once."""
    reload: Callable[[], Sequence[str]]
    """Reads the configuration again and returns when it is followed: what is wrong with it, if anything."""
    status: Callable[[], DaemonStatus]
    """How it does, and what it depends on. Answers at once."""
    work: Work = field(default_factory=Work)
    """The threads that answers are made on."""

    def library(self) -> Library:
        """Documents of what is configured now."""
        settings = self.settings()
        return Library(self.state.archive, settings.autoscalers, settings.prometheus)
