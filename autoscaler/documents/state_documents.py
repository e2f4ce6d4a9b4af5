"""Makes documents from the state, for the HTTP API, and for the command line if no daemon runs."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from autoscaler.documents.detail import Detail, detail
from autoscaler.documents.events import EventList, event
from autoscaler.documents.explain import explanation
from autoscaler.documents.explanation import Explanation
from autoscaler.documents.history import HistoryDocument, history_document
from autoscaler.documents.hosts import HostList, host_list
from autoscaler.documents.last_value import last_values
from autoscaler.documents.summary import AutoscalerList, Summary, summaries
from autoscaler.errors import AutoscalerError
from autoscaler.labels import Selector
from autoscaler.model import Autoscaler, Decision
from autoscaler.record import Archive

if TYPE_CHECKING:  # the command line reads documents that a daemon made, and needs no configuration's loader for it
    from autoscaler.config.settings import PrometheusSource

_DETAIL_EVENTS: Final = timedelta(hours=1)
"""Whose events are shown with an autoscaler, as Kubernetes keeps them."""
MOST_POINTS: Final = 2_000
"""Of a chart."""


class UnknownAutoscaler(AutoscalerError):
    """The autoscaler is neither configured nor remembered: use another name."""


class LabelsUnknown(AutoscalerError):
    """The configuration, which has the labels, is unknown: name it, or do not select by labels."""


class NoDecision(AutoscalerError):
    """There was no decision yet at that time: use a later one."""


class StateDocuments:
    """Reads the state and makes documents. Any thread may call it. Every method raises StateError."""

    def __init__(
        self,
        archive: Archive,
        scalers: Sequence[Autoscaler] | None,
        sources: "Mapping[str, PrometheusSource]" = MappingProxyType({}),
    ) -> None:
        """`scalers`: the configuration's; None: unknown, and every remembered autoscaler counts as configured.

        `sources`: the configuration's, for links to queries.
        """
        self._archive = archive
        self._sources = sources
        self._scalers = None if scalers is None else {scaler.name: scaler for scaler in scalers}

    def autoscalers(self, now: datetime) -> Sequence[Summary]:
        """Return every autoscaler that is configured or remembered, by name."""
        return self.page(now, 0, None).autoscalers

    def page(
        self, now: datetime, offset: int, limit: int | None, containing: str = "", selector: Selector | None = None
    ) -> AutoscalerList:
        """Return a part of that list: only names that contain a text, and labels that match. Raises LabelsUnknown."""
        if selector is not None and self._scalers is None:
            raise LabelsUnknown("only the configuration has labels, and it is unknown; name it with --config.file")
        known, latest = self._scalers or {}, self._archive.latest()
        names = sorted(name for name in known.keys() | latest.keys() if containing in name)
        if selector is not None:
            names = [name for name in names if selector.matches(dict(known[name].labels) if name in known else {})]
        shown = names[offset:] if limit is None else names[offset : offset + limit]
        return AutoscalerList(autoscalers=tuple(self._summaries(shown, latest, now)), total=len(names))

    def autoscaler(self, name: str, now: datetime) -> Detail:
        """Return one autoscaler in detail. Raises UnknownAutoscaler."""
        scaler = None if self._scalers is None else self._scalers.get(name)
        recorded = self._archive.record_at(name)
        known = recorded.scaler if scaler is None and recorded is not None else scaler
        if known is None:
            raise self._unknown(name)
        (found,) = self._summaries([name], {} if recorded is None else {name: recorded.decision}, now)
        return detail(found, known, recorded, self._archive.events(name, now - _DETAIL_EVENTS), self._sources)

    def _summaries(self, names: Sequence[str], latest: Mapping[str, Decision], now: datetime) -> Sequence[Summary]:
        archive = self._archive
        steering, seen, served = archive.steering(), archive.first_seen(), archive.served(names)
        return summaries(names, self._scalers, latest, steering, now, seen, served)

    def explanation(self, name: str, at: datetime | None = None) -> Explanation:
        """Return the decision in force at a time, by default the last. Raises UnknownAutoscaler, NoDecision."""
        record = self._archive.record_at(name, at)
        if record is None:
            self.require(name)
            when = "yet" if at is None else f"at {at.isoformat(timespec='seconds')}"
            raise NoDecision(f"autoscaler {name!r} had no decision {when}; use a later time")
        return explanation(record, self._sources, last_values(self._archive, record.decision))

    def history(self, name: str, since: datetime, until: datetime, most: int = MOST_POINTS) -> HistoryDocument:
        """Return the decisions over a time, as at most `most` points. Raises UnknownAutoscaler."""
        self.require(name)
        rows = self._archive.series(name, since, until)
        events = [row for row in self._archive.events(name, since) if row.first <= until]
        return history_document(name, since, until, rows, events, most)

    def events(
        self,
        name: str | None,
        since: datetime | None,
        offset: int = 0,
        limit: int | None = None,
        *,
        merged: bool = True,
    ) -> EventList:
        """Return events, the newest last; with `merged`, equal ones are counted. `offset` counts from the newest.

        Raises UnknownAutoscaler.
        """
        if name is not None:
            self.require(name)
        found = self._archive.event_page(name, since, offset, limit, merged=merged)
        return EventList(events=tuple([event(row) for row in found.rows]), total=found.total)

    def hosts(self, now: datetime) -> HostList:
        """Return the daemons that share the state."""
        return host_list(self._archive.ownership(), now)

    def require(self, name: str) -> None:
        """Raise UnknownAutoscaler unless the autoscaler is configured or remembered."""
        if name not in (self._scalers or {}) and not self._archive.knows(name):
            raise self._unknown(name)

    def _unknown(self, name: str) -> UnknownAutoscaler:
        return UnknownAutoscaler(
            f"no autoscaler {name[:64]!r} is configured or remembered; `autoscaler get` lists them"
        )
