"""Where a past is read from."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from autoscaler.cli.output import show_error
from autoscaler.cli.source import UnknownName, nearest
from autoscaler.clock import SystemClock
from autoscaler.config.settings import Settings
from autoscaler.errors import AutoscalerError, PastError, StateError
from autoscaler.model import Autoscaler, MetricSpec, Query, TargetState
from autoscaler.observe.plan import queries_of
from autoscaler.observe.prometheus import Prometheus
from autoscaler.record import Archive, Record
from autoscaler.whatif.commands.progress import progress
from autoscaler.whatif.compare.inferred_past import InferredPast
from autoscaler.whatif.past.past import Past
from autoscaler.whatif.past.state_past import StatePast
from autoscaler.whatif.prometheus.fetching import Fetcher
from autoscaler.whatif.prometheus.prometheus_past import Given, PrometheusPast, phase_of
from autoscaler.whatif.prometheus.range_cache import RangeCache, cache_folder
from autoscaler.whatif.replay.fitting import Fitting


class NothingKnown(AutoscalerError):
    """No source has anything of that time; the message says what was looked for, and where."""


@dataclass(frozen=True, slots=True)
class Asking:
    """What the options say of how Prometheus is asked."""

    prometheus: str | None = None
    """The source to ask for all of the past; None: the queries' own, for what the state does not tell."""
    cache: Path | None = None
    """Where its answers are kept; None: the user's cache folder."""
    size: str | None = None
    """A query for the target's size."""


@dataclass(frozen=True, slots=True)
class Sources:
    """What there is to read from."""

    archive: Archive | None
    """None: there is no state here."""
    settings: Settings | None
    """The configuration to try, which has the Prometheus sources."""
    asking: Asking = Asking()


@contextmanager
def opened(url: str | None, folder: Path, asking: Asking) -> Iterator[Archive | None]:
    """The state. None: there is none here, and Prometheus is asked for all. Raises StateError."""
    try:
        archive = Archive.open_archive(url, folder)
    except StateError as error:
        if asking.prometheus is None:
            raise
        show_error(error)  # it is not needed
        yield None
        return
    with archive:
        yield archive


def source_of(sources: Sources, scaler: Autoscaler, since: datetime, until: datetime) -> Past:
    """What is known of an autoscaler from `since` to `until`: from the state, and from Prometheus for what that lacks.

    The state lacks the time before its oldest detail; and all of it for a configuration that asks for a metric which
    the daemon did not ask for. What Prometheus has is fetched before this returns, with its progress shown. Raises
    NothingKnown, PastError, StateError, UnknownName.
    """
    archive, asked_alone = sources.archive, sources.asking.prometheus is not None
    begin = None if archive is None else archive.detail_since(scaler.name)
    state = None if archive is None or begin is None or begin > until else StatePast(archive, scaler.name, since, until)
    record = None if archive is None or state is None else archive.record_at(scaler.name, until)
    new = () if record is None else Fitting(scaler).missing(record.scaler)
    reaches = begin is not None and begin <= since + scaler.sync_period
    if state is not None and reaches and not new and not asked_alone:
        return state
    recorded = _recorded(sources, record)
    also = () if recorded is None or recorded.metrics == scaler.metrics else (recorded,)
    try:
        inferred = _from_prometheus(sources, scaler, also, _given(sources.asking, record), since, until)
    except PastError as error:
        if asked_alone:
            raise
        if state is not None:
            show_error(NothingKnown(f"autoscaler {scaler.name!r}: {_known_of(begin, new)}: {error}"))
            return state
        oldest = "none of it at all" if begin is None else f"its oldest is of {_time(begin)}"
        raise NothingKnown(
            f"autoscaler {scaler.name!r}: the state has no detail of the time asked for: {oldest}; `state.detail` says "
            f"how long it is kept; and from Prometheus: {error}"
        ) from None
    if archive is None or state is None or begin is None or asked_alone or new:
        return InferredPast(inferred, state, None, recorded)
    return InferredPast(inferred, StatePast(archive, scaler.name, begin, until), begin, recorded)


def _from_prometheus(
    sources: Sources, scaler: Autoscaler, also: Sequence[Autoscaler], given: Given, since: datetime, until: datetime
) -> PrometheusPast:
    """All of it, fetched. Raises PastError, UnknownName."""
    settings, asking = sources.settings, sources.asking
    if settings is None:
        raise PastError("no configuration says where it is; give --config.file")
    if asking.prometheus is not None and asking.prometheus not in settings.prometheus:
        hint = nearest(asking.prometheus, settings.prometheus, "the configuration lists them under prometheus")
        raise UnknownName(f"there is no Prometheus source {asking.prometheus[:64]!r}; {hint}")
    clock = SystemClock()
    cache = RangeCache(asking.cache or cache_folder(os.environ), settings.prometheus, clock)
    servers = {name: Prometheus(name, source, clock) for name, source in settings.prometheus.items()}
    with progress(f"{scaler.name}: fetching") as tell:
        fetcher = Fetcher(servers, cache, clock, tell)
        try:
            past = PrometheusPast(scaler, fetcher, since, until, asking.prometheus, given, also)
            past.fetch()
        finally:
            for server in servers.values():
                server.close()
    return past


def _given(asking: Asking, record: Record | None) -> Given:
    """What else is known of the target: of the state, what it had last."""
    size = None if asking.size is None else Query(asking.size)
    if record is None:
        return Given(size)
    phase = phase_of(record.decision.now, record.scaler.sync_period)
    target = None if record.observation is None else record.observation.target
    if not isinstance(target, TargetState) or not target.instances:
        return Given(size, phase)
    return Given(size, phase, target.instances[0].requests)


def _recorded(sources: Sources, record: Record | None) -> Autoscaler | None:
    """As it was configured, where all that it asked for can still be asked: so its decisions can be made again."""
    if record is None or sources.settings is None:
        return None
    asked = {query.prometheus for query in queries_of(record.scaler)}
    return record.scaler if asked <= set(sources.settings.prometheus) or sources.asking.prometheus else None


def _known_of(begin: datetime | None, new: Sequence[MetricSpec]) -> str:
    """What is left where Prometheus does not answer."""
    if new:
        names = ", ".join([f"{spec.type} metric {spec.name}" for spec in new])
        return f"{names}: nothing is known of it, as the daemon did not ask for it then"
    return f"only what the state has from {_time(begin)} on is known"


def _time(at: datetime | None) -> str:
    return "" if at is None else at.isoformat(timespec="seconds")
