"""The API's endpoints: one table for the routes and the OpenAPI document."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from pydantic import BaseModel

from autoscaler.documents.base import Document
from autoscaler.documents.detail import Detail
from autoscaler.documents.discovered import DiscoveredList
from autoscaler.documents.events import EventList
from autoscaler.documents.explanation import Explanation
from autoscaler.documents.history import HistoryDocument
from autoscaler.documents.hosts import HostList
from autoscaler.documents.status import DaemonStatus
from autoscaler.documents.steering import SteeringDocument
from autoscaler.documents.summary import AutoscalerList, SteeredList
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
    OverrideBody,
    PauseBody,
    PauseManyBody,
    ResumeBody,
    ResumeManyBody,
)
from autoscaler.web.api.steering import SteeringChanges
from autoscaler.web.sources import Sources

PREFIX: Final = "/api/v1"


@dataclass(frozen=True, slots=True)
class EndpointRequest:
    """A request's arguments for its endpoint."""

    name: str
    """Name of the autoscaler in the path, if any."""
    query: Any
    """An instance of the endpoint's `query`."""
    body: Any
    """An instance of the endpoint's `body`."""
    user: str
    """The operator's name for a change; otherwise the reader's, or empty."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One operation of the API."""

    method: str
    path: str
    """Path below PREFIX. `{name}` is an autoscaler's name."""
    operation: str
    """The operationId in the OpenAPI document."""
    summary: str
    answer: type[Document]
    """The type of the envelope's `data`."""
    run: Callable[[EndpointRequest], Document]
    """Performs the operation on a thread of the pool."""
    query: type[BaseModel] = Nothing
    body: type[BaseModel] | None = None

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


class Api:
    """The functions of the endpoints."""

    def __init__(self, sources: Sources, logger: Logger) -> None:
        self._sources = sources
        self._steering = SteeringChanges(sources, logger)

    @cached_property
    def endpoints(self) -> Sequence[Endpoint]:
        """Return all endpoints."""
        one = "/autoscalers/{name}"
        return (
            Endpoint(
                "GET",
                "/autoscalers",
                "listAutoscalers",
                "All autoscalers, by name.",
                AutoscalerList,
                self._list,
                ListParameters,
            ),
            Endpoint(
                "GET", one, "getAutoscaler", "One autoscaler with its configuration and events.", Detail, self._detail
            ),
            Endpoint(
                "GET",
                f"{one}/explain",
                "explainAutoscaler",
                "The explanation of a decision.",
                Explanation,
                self._explain,
                ExplainParameters,
            ),
            Endpoint(
                "GET",
                f"{one}/history",
                "getHistory",
                "Sizes, bounds and metrics over time, with events.",
                HistoryDocument,
                self._history,
                HistoryParameters,
            ),
            Endpoint(
                "POST",
                f"{one}/pause",
                "pauseAutoscaler",
                "Write no size in a direction.",
                SteeringDocument,
                self._pause,
                body=PauseBody,
            ),
            Endpoint(
                "POST",
                f"{one}/resume",
                "resumeAutoscaler",
                "Remove a pause and an override.",
                SteeringDocument,
                self._resume,
                body=ResumeBody,
            ),
            Endpoint(
                "POST",
                f"{one}/override",
                "overrideAutoscaler",
                "Set temporary bounds.",
                SteeringDocument,
                self._override,
                body=OverrideBody,
            ),
            Endpoint(
                "POST",
                "/pause",
                "pauseAutoscalers",
                "Write no size in a direction, for all autoscalers or those whose labels match.",
                SteeredList,
                self._pause_many,
                body=PauseManyBody,
            ),
            Endpoint(
                "POST",
                "/resume",
                "resumeAutoscalers",
                "Remove the pauses and overrides of all autoscalers, or of those whose labels match.",
                SteeredList,
                self._resume_many,
                body=ResumeManyBody,
            ),
            Endpoint("GET", "/events", "listEvents", "Events, counted.", EventList, self._events, EventParameters),
            Endpoint(
                "GET",
                "/status/daemon",
                "getDaemonStatus",
                "The status of the daemon, each Prometheus and each connection.",
                DaemonStatus,
                self._status,
            ),
            Endpoint(
                "GET",
                "/status/hosts",
                "listHosts",
                "The daemons that share the state, and the shards of each.",
                HostList,
                self._hosts,
            ),
            Endpoint(
                "GET",
                "/status/discovered",
                "listDiscovered",
                "The scaling policies that were discovered, and what became of each.",
                DiscoveredList,
                self._discovered,
            ),
        )  # fmt: skip - a table

    def _list(self, request: EndpointRequest) -> Document:
        query: ListParameters = request.query
        now = self._sources.clock.now()
        page = self._sources.documents().page(now, query.offset, query.limit, query.name, query.label_selector)
        reload = self._sources.status().last_reload
        return page.model_copy(update={"refused_reload": None if reload.successful else reload})

    def _detail(self, request: EndpointRequest) -> Document:
        return self._sources.documents().autoscaler(request.name, self._sources.clock.now())

    def _explain(self, request: EndpointRequest) -> Document:
        query: ExplainParameters = request.query
        return self._sources.documents().explanation(request.name, query.at)

    def _history(self, request: EndpointRequest) -> Document:
        query: HistoryParameters = request.query
        until = query.until or self._sources.clock.now()
        since = query.since or until - DEFAULT_HISTORY
        return self._sources.documents().history(request.name, since, until, query.points)

    def _events(self, request: EndpointRequest) -> Document:
        query: EventParameters = request.query
        return self._sources.documents().events(query.name, query.since, query.offset, query.limit, merged=query.merged)

    def _pause(self, request: EndpointRequest) -> Document:
        return self._steering.pause(request.name, request.body, request.user)

    def _resume(self, request: EndpointRequest) -> Document:
        return self._steering.resume(request.name, request.body, request.user)

    def _pause_many(self, request: EndpointRequest) -> Document:
        return self._steering.pause_many(request.body, request.user)

    def _resume_many(self, request: EndpointRequest) -> Document:
        return self._steering.resume_many(request.body, request.user)

    def _override(self, request: EndpointRequest) -> Document:
        return self._steering.override(request.name, request.body, request.user)

    def _status(self, request: EndpointRequest) -> Document:  # noqa: ARG002 - every endpoint's signature
        return self._sources.status()

    def _discovered(self, request: EndpointRequest) -> Document:  # noqa: ARG002 - every endpoint's signature
        return self._sources.discovered()

    def _hosts(self, request: EndpointRequest) -> Document:  # noqa: ARG002 - every endpoint's signature
        return self._sources.documents().hosts(self._sources.clock.now())
