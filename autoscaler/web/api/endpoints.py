"""The API's endpoints: one table for the routes and the OpenAPI document."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, get_type_hints

from pydantic import BaseModel
from pydantic.alias_generators import to_camel

from autoscaler.documents.base import Document
from autoscaler.documents.detail import Detail
from autoscaler.documents.discovered import DiscoveredList
from autoscaler.documents.events import EventList
from autoscaler.documents.explanation import Explanation
from autoscaler.documents.history import HistoryDocument
from autoscaler.documents.hosts import HostList
from autoscaler.documents.status import DaemonStatus
from autoscaler.documents.summary import AutoscalerList
from autoscaler.logger import Logger
from autoscaler.web.api.answers import ErrorType
from autoscaler.web.api.parameters import (
    DEFAULT_HISTORY,
    EventParameters,
    ExplainParameters,
    HistoryParameters,
    ListParameters,
    ManyBody,
    Nothing,
)
from autoscaler.web.api.steering import SteeringChanges
from autoscaler.web.sources import Sources

PREFIX: Final = "/api/v1"


@dataclass(frozen=True)
class Endpoint:
    """One operation of the API."""

    method: str
    path: str
    """Path below PREFIX. `{name}` is an autoscaler's name."""
    run: Callable[..., Document]
    """Performs the operation on a thread of the pool.

    It may take `name`, that of the path; `query` and `body`, of the types that the request has; and `by`, the user. Its
    name is that of the operation, and its docstring begins with the operation's summary.
    """

    @property
    def operation(self) -> str:
        """Return the operationId in the OpenAPI document."""
        return to_camel(self.run.__name__)

    @property
    def summary(self) -> str:
        """Return what the operation does."""
        return (self.run.__doc__ or "").partition("\n")[0]

    @property
    def answer(self) -> type[Document]:
        """Return the type of the envelope's `data`."""
        return self._types["return"]

    @property
    def query(self) -> type[BaseModel]:
        """Return the type of the URL's parameters."""
        return self._types.get("query", Nothing)

    @property
    def body(self) -> type[BaseModel] | None:
        """Return the type of the body; None: it has none."""
        return self._types.get("body")

    @property
    def errors(self) -> Sequence[ErrorType]:
        """Return the errors that the endpoint may answer."""
        found = [ErrorType.BAD_DATA, ErrorType.UNAUTHORIZED, ErrorType.FORBIDDEN]
        several = self.body is not None and issubclass(self.body, ManyBody)
        if "{name}" in self.path or self.query is EventParameters or several:
            found.append(ErrorType.NOT_FOUND)
        if self.body is not None:
            found += [ErrorType.CONFLICT, ErrorType.UNSUPPORTED]
        return (*found, ErrorType.INTERNAL, ErrorType.UNAVAILABLE)

    def answer_to(self, **given: Any) -> Document:
        """Perform the operation with those of the values that it takes."""
        return self.run(**{key: value for key, value in given.items() if key in self._types})

    @cached_property
    def _types(self) -> dict[str, type]:
        return get_type_hints(self.run)


def endpoints(sources: Sources, logger: Logger) -> Sequence[Endpoint]:
    """Return all endpoints."""
    reads, changes, one = _Reads(sources), SteeringChanges(sources, logger), "/autoscalers/{name}"
    return (
        Endpoint("GET", "/autoscalers", reads.list_autoscalers),
        Endpoint("GET", one, reads.get_autoscaler),
        Endpoint("GET", f"{one}/explain", reads.explain_autoscaler),
        Endpoint("GET", f"{one}/history", reads.get_history),
        Endpoint("POST", f"{one}/pause", changes.pause_autoscaler),
        Endpoint("POST", f"{one}/resume", changes.resume_autoscaler),
        Endpoint("POST", f"{one}/override", changes.override_autoscaler),
        Endpoint("POST", "/pause", changes.pause_autoscalers),
        Endpoint("POST", "/resume", changes.resume_autoscalers),
        Endpoint("GET", "/events", reads.list_events),
        Endpoint("GET", "/status/daemon", reads.get_daemon_status),
        Endpoint("GET", "/status/hosts", reads.list_hosts),
        Endpoint("GET", "/status/discovered", reads.list_discovered),
    )


class _Reads:
    """The operations that change nothing."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    def list_autoscalers(self, query: ListParameters) -> AutoscalerList:
        """All autoscalers, by name."""
        now = self._sources.clock.now()
        page = self._sources.documents().page(now, query.offset, query.limit, query.name, query.label_selector)
        reload = self._sources.status().last_reload
        return page.model_copy(update={"refused_reload": None if reload.successful else reload})

    def get_autoscaler(self, name: str) -> Detail:
        """One autoscaler with its configuration and events."""
        return self._sources.documents().autoscaler(name, self._sources.clock.now())

    def explain_autoscaler(self, name: str, query: ExplainParameters) -> Explanation:
        """The explanation of a decision."""
        return self._sources.documents().explanation(name, query.at)

    def get_history(self, name: str, query: HistoryParameters) -> HistoryDocument:
        """Sizes, bounds and metrics over time, with events."""
        until = query.until or self._sources.clock.now()
        since = query.since or until - DEFAULT_HISTORY
        return self._sources.documents().history(name, since, until, query.points)

    def list_events(self, query: EventParameters) -> EventList:
        """Events, counted."""
        return self._sources.documents().events(query.name, query.since, query.offset, query.limit, merged=query.merged)

    def get_daemon_status(self) -> DaemonStatus:
        """The status of the daemon, each Prometheus and each connection."""
        return self._sources.status()

    def list_hosts(self) -> HostList:
        """The daemons that share the state, and the shards of each."""
        return self._sources.documents().hosts(self._sources.clock.now())

    def list_discovered(self) -> DiscoveredList:
        """The scaling policies that were discovered, and what became of each."""
        return self._sources.discovered()
