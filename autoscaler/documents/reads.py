"""What can be read: the operations of the API that change nothing, by path."""

from collections.abc import Callable, Mapping
from typing import Any, get_type_hints

from autoscaler.clock import Clock
from autoscaler.documents.base import Document
from autoscaler.documents.detail import Detail
from autoscaler.documents.discovered import DiscoveredList
from autoscaler.documents.events import EventList
from autoscaler.documents.explanation import Explanation
from autoscaler.documents.history import HistoryDocument
from autoscaler.documents.hosts import HostList
from autoscaler.documents.parameters import (
    DEFAULT_HISTORY,
    EventParameters,
    ExplainParameters,
    HistoryParameters,
    ListParameters,
)
from autoscaler.documents.state_documents import StateDocuments
from autoscaler.documents.status import DaemonStatus
from autoscaler.documents.summary import AutoscalerList
from autoscaler.errors import AutoscalerError


class NoDaemon(AutoscalerError):
    """Only a daemon knows this: start it."""


class Reads:
    """The operations that change nothing. The daemon answers requests with them; a command runs them without one."""

    def __init__(
        self,
        documents: Callable[[], StateDocuments],
        clock: Clock,
        status: Callable[[], DaemonStatus] | None = None,
        discovered: Callable[[], DiscoveredList] | None = None,
    ) -> None:
        """`status` and `discovered`: of the daemon; None: there is none, and these operations raise NoDaemon."""
        self._documents, self._clock = documents, clock
        self._status, self._discovered = status, discovered
        self.operations: Mapping[str, Callable[..., Document]] = {
            "/autoscalers": self.list_autoscalers,
            "/autoscalers/{name}": self.get_autoscaler,
            "/autoscalers/{name}/explain": self.explain_autoscaler,
            "/autoscalers/{name}/history": self.get_history,
            "/events": self.list_events,
            "/status/daemon": self.get_daemon_status,
            "/status/hosts": self.list_hosts,
            "/status/discovered": self.list_discovered,
        }
        """Path in the API -> operation."""

    def answer(self, path: str, name: str | None, parameters: Mapping[str, Any]) -> Document:
        """Perform the operation with the parameters of a request. `name`: that of the path."""
        run = self.operations[path]
        given: dict[str, Any] = {"name": name} if "{name}" in path else {}
        if (query := get_type_hints(run).get("query")) is not None:
            given["query"] = query.model_validate(parameters)
        return run(**given)

    def list_autoscalers(self, query: ListParameters) -> AutoscalerList:
        """All autoscalers, by name."""
        now = self._clock.now()
        page = self._documents().page(now, query.offset, query.limit, query.name, query.label_selector)
        reload = None if self._status is None else self._status().last_reload
        return page.model_copy(update={"refused_reload": None if reload is None or reload.successful else reload})

    def get_autoscaler(self, name: str) -> Detail:
        """One autoscaler with its configuration and events."""
        return self._documents().autoscaler(name, self._clock.now())

    def explain_autoscaler(self, name: str, query: ExplainParameters) -> Explanation:
        """The explanation of a decision."""
        return self._documents().explanation(name, query.at)

    def get_history(self, name: str, query: HistoryParameters) -> HistoryDocument:
        """Sizes, bounds and metrics over time, with events."""
        until = query.until or self._clock.now()
        since = query.since or until - DEFAULT_HISTORY
        return self._documents().history(name, since, until, query.points)

    def list_events(self, query: EventParameters) -> EventList:
        """Events, counted."""
        return self._documents().events(query.name, query.since, query.offset, query.limit, merged=query.merged)

    def get_daemon_status(self) -> DaemonStatus:
        """The status of the daemon, each Prometheus and each connection."""
        if self._status is None:
            raise NoDaemon("the state does not have the status of a daemon; start the daemon")
        return self._status()

    def list_hosts(self) -> HostList:
        """The daemons that share the state, and the shards of each."""
        return self._documents().hosts(self._clock.now())

    def list_discovered(self) -> DiscoveredList:
        """The scaling policies that were discovered, and what became of each."""
        if self._discovered is None:
            raise NoDaemon("the state does not have the discovered policies; start the daemon")
        return self._discovered()
