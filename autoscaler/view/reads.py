"""What can be read: the operations of the API that change nothing, by path."""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, get_type_hints

from autoscaler.clock import Clock
from autoscaler.document import Document
from autoscaler.errors import AutoscalerError
from autoscaler.fields.types import suggest
from autoscaler.model import Autoscaler, Decision, ManualControls
from autoscaler.record.archive import Archive
from autoscaler.view.detail import Detail, detail
from autoscaler.view.discovered import DiscoveredList
from autoscaler.view.events import EventList, event
from autoscaler.view.explain import explanation
from autoscaler.view.explanation import Explanation
from autoscaler.view.history import HistoryDocument, history_document
from autoscaler.view.hosts import HostList, host_list
from autoscaler.view.last_value import last_values
from autoscaler.view.parameters import (
    DEFAULT_HISTORY,
    EventParameters,
    ExplainParameters,
    HistoryParameters,
    ListParameters,
    validated,
)
from autoscaler.view.status import DaemonStatus
from autoscaler.view.summary import AutoscalerList, Summary, summaries
from autoscaler.view.verdict import AutoscalerState, states

if TYPE_CHECKING:  # a command without a configuration does not need its loader
    from autoscaler.config.settings import PrometheusSource, Settings

_DETAIL_EVENTS: Final = timedelta(hours=1)
"""Whose events are shown with an autoscaler, as Kubernetes keeps them."""


class UnknownAutoscaler(AutoscalerError):
    """The autoscaler is neither configured nor remembered: use another name."""


class LabelsUnknown(AutoscalerError):
    """The configuration, which has the labels, is unknown: name it, or do not select by labels."""


class NoDecision(AutoscalerError):
    """There was no decision yet at that time: use a later one."""


class NoDaemon(AutoscalerError):
    """Only a daemon knows this: start it."""


class Reads:
    """The operations that change nothing. The daemon answers requests with them; a command runs them without one.

    Any thread may call it. Every method raises StateError, and those with a name UnknownAutoscaler.
    """

    def __init__(
        self,
        archive: Archive,
        settings: "Callable[[], Settings | None]",
        clock: Clock,
        status: Callable[[], DaemonStatus] | None = None,
        discovered: Callable[[], DiscoveredList] | None = None,
    ) -> None:
        """`settings` returns the configuration; None: unknown, and every remembered autoscaler counts as configured.

        `status` and `discovered`: of the daemon; None: there is none, and these operations raise NoDaemon.
        """
        self._archive, self._settings, self._clock = archive, settings, clock
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
        """Perform the operation with the parameters of a request. `name`: that of the path. Also raises BadRequest."""
        run = self.operations[path]
        given: dict[str, Any] = {"name": name} if "{name}" in path else {}
        if (query := get_type_hints(run).get("query")) is not None:
            given["query"] = validated(query, parameters, "parameter")
        return run(**given)

    def list_autoscalers(self, query: ListParameters) -> AutoscalerList:
        """All autoscalers, by name."""
        scalers, selector = self._scalers(), query.label_selector
        if selector is not None and scalers is None:
            raise LabelsUnknown("only the configuration has labels, and it is unknown; name it with --config.file")
        known, latest = scalers or {}, self._archive.latest()
        names: Sequence[str] = sorted(name for name in known.keys() | latest.keys() if query.name in name)
        if selector is not None:
            names = [name for name in names if selector.matches(dict(known[name].labels) if name in known else {})]
        if query.state is not None:
            configured = names if scalers is None else [name for name in names if name in scalers]
            names = self._in_state(query.state, configured, latest)
        shown = names[query.offset : query.offset + query.limit]
        reload = None if self._status is None else self._status().last_reload
        return AutoscalerList(
            autoscalers=tuple(self._summaries(shown, scalers, latest)),
            total=len(names),
            refused_reload=None if reload is None or reload.successful else reload,
            led=self._archive.is_led(),
        )

    def get_autoscaler(self, name: str) -> Detail:
        """One autoscaler with its configuration and events."""
        scalers, recorded = self._scalers(), self._archive.record_at(name)
        scaler = None if scalers is None else scalers.get(name)
        known = recorded.scaler if scaler is None and recorded is not None else scaler
        if known is None:
            raise self._unknown(name)
        (found,) = self._summaries([name], scalers, {} if recorded is None else {name: recorded.decision})
        return detail(
            found, known, recorded, self._archive.events(name, self._clock.now() - _DETAIL_EVENTS), self._sources()
        )

    def explain_autoscaler(self, name: str, query: ExplainParameters) -> Explanation:
        """The explanation of a decision."""
        record = self._archive.record_at(name, query.at)
        if record is None:
            self._require(name)
            when = "yet" if query.at is None else f"at {query.at.isoformat(timespec='seconds')}"
            raise NoDecision(f"autoscaler {name!r} had no decision {when}; use a later time")
        return explanation(record, self._sources(), last_values(self._archive, record.decision))

    def get_history(self, name: str, query: HistoryParameters) -> HistoryDocument:
        """Sizes, bounds and metrics over time, with events."""
        self._require(name)
        until = query.until or self._clock.now()
        since = query.since or until - DEFAULT_HISTORY
        events = [row for row in self._archive.events(name, since) if row.first <= until]
        return history_document(name, since, until, self._archive.series(name, since, until), events, query.points)

    def list_events(self, query: EventParameters) -> EventList:
        """Events, counted."""
        if query.name is not None:
            self._require(query.name)
        found = self._archive.event_page(query.name, query.since, query.offset, query.limit, merged=query.merged)
        return EventList(events=tuple([event(row) for row in found.rows]), total=found.total, since=found.since)

    def get_daemon_status(self) -> DaemonStatus:
        """The status of the daemon, each Prometheus and each connection."""
        if self._status is None:
            raise NoDaemon("the state does not have the status of a daemon; start the daemon")
        return self._status()

    def list_hosts(self) -> HostList:
        """The daemons that share the state: the leader, and those that stand by."""
        settings = self._settings()
        return host_list(self._archive.daemons(), self._clock.now(), None if settings is None else settings.digest)

    def list_discovered(self) -> DiscoveredList:
        """The scaling policies that were discovered, and what became of each."""
        if self._discovered is None:
            raise NoDaemon("the state does not have the discovered autoscalers; start the daemon")
        return self._discovered()

    def _in_state(self, wanted: AutoscalerState, names: Sequence[str], latest: Mapping[str, Decision]) -> list[str]:
        steering, now = self._archive.steering(), self._clock.now()
        given = {name: steering[name].at(now) if name in steering else ManualControls() for name in names}
        return [name for name in names if wanted in states(latest.get(name), given[name])]

    def _scalers(self) -> Mapping[str, Autoscaler] | None:
        settings = self._settings()
        return None if settings is None else {scaler.name: scaler for scaler in settings.autoscalers}

    def _sources(self) -> "Mapping[str, PrometheusSource]":
        settings = self._settings()
        return MappingProxyType({}) if settings is None else settings.prometheus

    def _summaries(
        self,
        names: Sequence[str],
        scalers: Mapping[str, Autoscaler] | None,
        latest: Mapping[str, Decision],
    ) -> Sequence[Summary]:
        archive = self._archive
        return summaries(names, scalers, latest, archive.steering(), self._clock.now(), archive.first_seen())

    def _require(self, name: str) -> None:
        """Raise UnknownAutoscaler unless the autoscaler is configured or remembered."""
        if name not in (self._scalers() or {}) and not self._archive.knows(name):
            raise self._unknown(name)

    def _unknown(self, name: str) -> UnknownAutoscaler:
        known = (self._scalers() or {}).keys() | self._archive.latest().keys()
        return UnknownAutoscaler(f"no autoscaler {name[:64]!r} is configured or remembered; {suggest(name, known)}")
