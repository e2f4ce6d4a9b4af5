"""Chooses where the past of an autoscaler is read from: the state, Prometheus or both."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from autoscaler.cli.output import show_error
from autoscaler.cli.source import UnknownName, nearest
from autoscaler.clock import SystemClock
from autoscaler.config.settings import Settings
from autoscaler.errors import PastError, StateError
from autoscaler.model import Autoscaler, Query, TargetState
from autoscaler.observe.prometheus import Prometheus
from autoscaler.record import Archive, Record
from autoscaler.whatif.commands.progress import progress
from autoscaler.whatif.compare.inferred_past import InferredPast
from autoscaler.whatif.past.past import Past
from autoscaler.whatif.past.state_past import StatePast
from autoscaler.whatif.prometheus.fetching import Fetcher
from autoscaler.whatif.prometheus.prometheus_past import PrometheusPast
from autoscaler.whatif.replay.fitting import Fitting


@dataclass(frozen=True, slots=True)
class Sources:
    """Where a past can be read from."""

    archive: Archive | None
    """The state; None if there is none."""
    settings: Settings | None
    """The configuration with the Prometheus sources."""
    prometheus: str | None = None
    """`--prometheus`: the source for the whole past; None: the queries' own, for what the state lacks."""
    size: str | None = None
    """`--size`: a query for the size of the target."""


@contextmanager
def opened(url: str | None, folder: Path, prometheus: str | None) -> Iterator[Archive | None]:
    """Open the state. None if it cannot be opened and `--prometheus` makes it unnecessary. Raises StateError."""
    try:
        archive = Archive.open_archive(url, folder)
    except StateError as error:
        if prometheus is None:
            raise
        show_error(error)
        yield None
        return
    with archive:
        yield archive


def past_of(
    sources: Sources, scaler: Autoscaler, since: datetime, until: datetime, others: Sequence[Autoscaler] = ()
) -> Past:
    """Return the past of an autoscaler from `since` to `until`: the state's, and Prometheus' for what the state lacks.

    `others`: other configurations of it, whose metrics Prometheus is asked for, too.
    The state lacks the time before its oldest detail, and metrics that the daemon did not query. Everything from
    Prometheus is fetched before this returns, with progress on stderr. Raises PastError, StateError,
    UnknownName.
    """
    archive, from_prometheus = sources.archive, sources.prometheus is not None
    begin = None if archive is None else archive.detail_since(scaler.name)
    state = None if archive is None or begin is None or begin > until else StatePast(archive, scaler.name, since, until)
    record = None if archive is None or state is None else archive.record_at(scaler.name, until)
    new = () if record is None else Fitting(scaler).missing(record.scaler)
    is_complete = begin is not None and begin <= since + scaler.sync_period
    if state is not None and is_complete and not new and not from_prometheus:
        return state
    recorded = record.scaler if record is not None and _can_be_asked(sources, record.scaler) else None
    also = [each for each in (recorded, *others) if each is not None and _can_be_asked(sources, each)]
    try:
        inferred = _from_prometheus(sources, scaler, record, also, since, until)
    except PastError as error:
        if from_prometheus:
            raise
        if state is not None:
            show_error(PastError(f"autoscaler {scaler.name!r}: only what the state has is replayed: {error}"))
            return state
        oldest = "it has none at all" if begin is None else f"its oldest is of {begin.isoformat(timespec='seconds')}"
        raise PastError(
            f"autoscaler {scaler.name!r}: the state has no detail of that time: {oldest}; `state.detail` says how long "
            f"it is kept; and from Prometheus: {error}"
        ) from None
    if archive is None or state is None or begin is None or from_prometheus or new:
        return InferredPast(inferred, state, None, recorded)
    return InferredPast(inferred, StatePast(archive, scaler.name, begin, until), begin, recorded)


def _from_prometheus(
    sources: Sources,
    scaler: Autoscaler,
    record: Record | None,
    also: Sequence[Autoscaler],
    since: datetime,
    until: datetime,
) -> PrometheusPast:
    """The whole past, fetched. Raises PastError, UnknownName.

    `record`: the last one of the state; `also`: configurations whose metrics are read, too.
    """
    settings, prometheus = sources.settings, sources.prometheus
    if settings is None:
        raise PastError("no configuration says where it is; give --config.file")
    if prometheus is not None and prometheus not in settings.prometheus:
        hint = nearest(prometheus, settings.prometheus, "the configuration lists them under prometheus")
        raise UnknownName(f"there is no Prometheus source {prometheus[:64]!r}; {hint}")
    clock = SystemClock()
    servers = {name: Prometheus(name, source, clock) for name, source in settings.prometheus.items()}
    target = None if record is None or record.observation is None else record.observation.target
    instances = target.instances if isinstance(target, TargetState) else ()
    with progress(f"{scaler.name}: fetching") as show:
        try:
            return PrometheusPast(
                scaler,
                Fetcher(servers, clock, show),
                since,
                until,
                prometheus=prometheus,
                size=None if sources.size is None else Query(sources.size),
                like=None if record is None else record.decision.now,
                requests=instances[0].requests if instances else {},
                also=also,
            )
        finally:
            for server in servers.values():
                server.close()


def _can_be_asked(sources: Sources, scaler: Autoscaler) -> bool:
    """Whether the sources of all queries of a configuration are known."""
    if sources.settings is None:
        return False
    names = {query.prometheus for query in scaler.queries}
    return sources.prometheus is not None or names <= set(sources.settings.prometheus)
