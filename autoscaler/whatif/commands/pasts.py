"""Chooses where the past of an autoscaler is read from: the state, or Prometheus."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import typer

from autoscaler.clock import SystemClock
from autoscaler.config.settings import Settings
from autoscaler.errors import PastError
from autoscaler.fields.types import suggest
from autoscaler.model import Autoscaler, Query
from autoscaler.observe.prometheus import Prometheus
from autoscaler.record.archive import Archive
from autoscaler.text import clean
from autoscaler.whatif.past.past import Past
from autoscaler.whatif.past.state_past import StatePast
from autoscaler.whatif.prometheus.fetching import Fetcher
from autoscaler.whatif.prometheus.prometheus_past import PrometheusPast


@dataclass(frozen=True, slots=True)
class Sources:
    """Where a past can be read from."""

    archive: Archive | None
    """The state; None: the past is read from Prometheus."""
    settings: Settings
    """The configuration with the Prometheus sources."""
    prometheus: str | None = None
    """`--prometheus`: the source for the whole past; None: the state."""
    size: str | None = None
    """`--size`: a query for the size of the target."""


def past_of(
    sources: Sources, scaler: Autoscaler, since: datetime, until: datetime, others: Sequence[Autoscaler] = ()
) -> Past:
    """Return the past of an autoscaler from `since` to `until`, from the state or from `--prometheus`.

    `others`: other configurations of it, whose metrics Prometheus is asked for, too. Everything from Prometheus is
    fetched before this returns, and a terminal says so. Raises PastError, StateError.
    """
    if sources.archive is None:
        return _from_prometheus(sources, scaler, others, since, until)
    begin = sources.archive.detail_since(scaler.name)
    if begin is None or begin > until:
        oldest = "it has none at all" if begin is None else f"its oldest is of {begin.isoformat(timespec='seconds')}"
        raise PastError(
            f"autoscaler {scaler.name!r}: the state has no detail of that time: {oldest}; `state.detail` says how long "
            "it is kept; --prometheus NAME reads the past from a source of the configuration instead"
        )
    return StatePast(sources.archive, scaler.name, since, until)


def _from_prometheus(
    sources: Sources, scaler: Autoscaler, others: Sequence[Autoscaler], since: datetime, until: datetime
) -> PrometheusPast:
    """The whole past, fetched. Raises PastError."""
    settings, prometheus = sources.settings, sources.prometheus
    if prometheus is not None and prometheus not in settings.prometheus:
        hint = suggest(prometheus, settings.prometheus)
        raise PastError(f"{settings.path} has no prometheus {prometheus[:64]!r}; {hint}")
    if sys.stderr.isatty():  # it may take minutes
        typer.echo(f"{clean(scaler.name)}: its past is fetched from Prometheus", err=True)
    clock = SystemClock()
    servers = {name: Prometheus(name, source, clock) for name, source in settings.prometheus.items()}
    try:
        return PrometheusPast(
            scaler,
            Fetcher(servers, clock),
            since,
            until,
            prometheus=prometheus,
            size=None if sources.size is None else Query(sources.size),
            also=others,
        )
    finally:
        for server in servers.values():
            server.close()
