"""The health of each Prometheus and back end, and the result of the last reload, for the page and the API."""

import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from autoscaler.clock import Clock
from autoscaler.config.settings import Settings
from autoscaler.errors import TargetDeferred, TargetError, TargetForbidden, TargetNotWritten, TargetUnavailable, bug
from autoscaler.metrics.grants import grants_of
from autoscaler.metrics.watch import ShardCounts
from autoscaler.model import ConnectionLimits, ShardName
from autoscaler.observe.asked_alone import Why
from autoscaler.observe.failure import QueryFailure
from autoscaler.observe.queries import AskedAlone
from autoscaler.target.answers import checked_error
from autoscaler.text import count, plain
from autoscaler.view.discovered import DiscoveredList, DiscoveringConnection
from autoscaler.view.level import Level
from autoscaler.view.status import (
    AskedAloneStatus,
    ConnectionStatus,
    DaemonStatus,
    GrantStatus,
    ReloadStatus,
    SourceStatus,
)

_PATIENCE_PERIODS: Final = 2
"""Sync periods without an answer until a server counts as failing. One failed query is not an outage."""
_OF_THE_SERVER: Final = (TargetUnavailable, TargetNotWritten, TargetForbidden)
"""Errors of targets that concern the back end; other errors concern their target alone."""
_MAX_ALONE: Final = 20
"""Queries listed, and autoscalers listed for each."""
_NONE_DISCOVERED: Final = DiscoveredList()
_SEVERITY: Final = (Level.NORMAL, Level.WARNING, Level.ERROR)


@dataclass(frozen=True, slots=True)
class Answers:
    """The times of a server's last answer and last failure."""

    last_success: datetime | None = None
    last_failure: datetime | None = None
    failing: bool = False
    """True when the last call failed."""
    error: str | None = None
    """The last failure."""

    def succeeded(self, at: datetime) -> "Answers":
        """Return these values after an answer."""
        return replace(self, last_success=at, failing=False)

    def failed(self, at: datetime, error: str) -> "Answers":
        """Return these values after a failure, of which `error` says why."""
        return replace(self, last_failure=at, failing=True, error=error)

    def is_failing(self, now: datetime, patience: timedelta) -> bool:
        """Return whether the server was asked and has not answered for this long, or never."""
        return self.failing and (self.last_success is None or now - self.last_success > patience)


_NOTHING: Final = Answers()


class Health:
    """The health of the servers that the daemon talks to. Any thread may call it."""

    def __init__(self, clock: Clock, warnings: Callable[[], Mapping[str, str]] = dict) -> None:
        """`warnings`: returns autoscaler's name -> the first warning of its target."""
        self._clock = clock
        self._warnings = warnings
        self._lock = threading.Lock()
        self._sources: dict[str, Answers] = {}
        self._connections: dict[str, Answers] = {}
        self._cycles: dict[ShardName, datetime] = {}
        """When each shard last ended a cycle."""
        self._limits_used: dict[str, tuple[int | None, int | None]] = {}
        """Connection -> the rest of its removal budget, and the sum of its sizes, after its last cycle."""
        self.configured((), ())

    def configured(self, connections: Collection[str], sources: Collection[str]) -> None:
        """Forget sources and connections that a new configuration does not have, and the failure of a reload."""
        with self._lock:
            self._sources = {name: known for name, known in self._sources.items() if name in sources}
        self.serves(connections)
        self._reload = ReloadStatus(at=self._clock.now(), successful=True, problem=None, problems=0)

    def reload_failed(self, problems: Sequence[str]) -> None:
        """Note that a configuration was refused for these reasons; the previous one stays in force."""
        first = next(iter(problems), None)
        self._reload = ReloadStatus(at=self._clock.now(), successful=False, problem=first, problems=len(problems))

    def queried(self, source: str, failure: QueryFailure | None) -> None:
        """Note the end of a query of a source. `failure`: why it failed; None: it did not.

        A server that refuses a query has answered, so it does not count as failing.
        """
        now = self._clock.now()
        with self._lock:
            known = self._sources.get(source, _NOTHING)
            self._sources[source] = (
                known.succeeded(now) if failure is None or failure.answered else known.failed(now, failure.message)
            )

    def called(self, connection: str, targets: int, errors: Collection[BaseException]) -> None:
        """Note the end of a call to a connection for this many targets. `errors`: those of the targets that failed.

        A server that refuses a target has answered, so it does not count as failing.
        """
        now = self._clock.now()
        sent = [error for error in errors if not isinstance(error, TargetDeferred)]
        failures = [error for error in sent if isinstance(error, _OF_THE_SERVER) or not isinstance(error, TargetError)]
        answered = targets - (len(errors) - len(sent)) - len(failures)
        with self._lock:
            known = self._connections.get(connection, _NOTHING)
            if failures:
                known = known.failed(now, _words(failures[0]))
            if answered > 0:
                known = known.succeeded(now)
            self._connections[connection] = known

    def serves(self, connections: Collection[str]) -> None:
        """Forget all connections but these, and when cycles ended: a shard without autoscalers ends no cycle.

        With no connections, as in a standby, the daemon asks no Prometheus, so it also forgets failures of sources.
        """
        with self._lock:
            self._connections = {name: known for name, known in self._connections.items() if name in connections}
            self._sources = self._sources if connections else {}
        self._cycles, self._limits_used = {}, {}

    def cycle_ended(self, shard: ShardName) -> None:
        """Note that a shard has ended a cycle."""
        self._cycles[shard] = self._clock.now()

    def limits_used(self, connection: str, removals_left: int | None, total: int | None) -> None:
        """Note the use of a connection's limits at the end of a cycle; a cycle that failed knows neither."""
        if (removals_left, total) != (None, None):
            self._limits_used[connection] = removals_left, total

    def status(
        self,
        settings: Settings,
        shards: ShardCounts,
        version: str,
        started: datetime,
        *,
        lease_failure: str | None = None,
        state_failure: str | None = None,
        alone: Sequence[AskedAlone] = (),
        discovered: DiscoveredList = _NONE_DISCOVERED,
        state_folder: str = "",
    ) -> DaemonStatus:
        """Return the health of the configuration's servers and of the shards.

        `lease_failure`: why the daemon neither leads nor stands by. `state_failure`: why the state failed at its last
        check. `alone`: the queries excluded from merging. `discovered`: the policies that were discovered.
        """
        sources = tuple([self._source(name, settings, alone) for name in sorted(settings.prometheus)])
        missed, superseded = shards.missed(), shards.superseded()
        hung = Counter(shard.adapter for shard in shards.hung())
        connections = tuple(
            [
                self._connection(name, settings, hung[name], superseded.get(name, 0), missed[name])
                for name in sorted(missed.keys() & settings.adapters.keys())
            ]
        )
        reload, grants, warnings = self._reload, grants_of(settings), self._warnings()
        problems = list[tuple[Level, str]]()
        if lease_failure:
            problems.append((Level.ERROR, f"the lease is lost, so this daemon scales nothing: {lease_failure}"))
        if state_failure:
            problems.append((Level.ERROR, f"the state failed, so this daemon scales nothing: {state_failure}"))
        problems += _problems(reload, sources, connections, grants)
        problems += [(Level.WARNING, _undiscovered(each)) for each in discovered.connections if each.failing]
        problems += [(Level.WARNING, text) for text in _warned(warnings)]
        return DaemonStatus(
            version=version,
            started=started,
            configuration=str(settings.path.absolute()),
            state_folder=state_folder,
            autoscalers=len(settings.autoscalers),
            level=max([level for level, _ in problems], key=_SEVERITY.index, default=Level.NORMAL),
            problems=tuple([text for _, text in problems]),
            lease_lost=lease_failure is not None,
            last_reload=reload,
            sources=sources,
            connections=connections,
            grants=grants,
        )

    def _source(self, name: str, settings: Settings, alone: Sequence[AskedAlone]) -> SourceStatus:
        with self._lock:
            known = self._sources.get(name, _NOTHING)
        mine = [each for each in alone if each.question.prometheus == name]
        return SourceStatus.of(
            known,
            name=name,
            url=settings.prometheus[name].browser_url,
            level=Level.ERROR if self._is_failing(known, settings) else Level.NORMAL,
            queries_alone=len(mine),
            asked_alone=tuple([_alone(each) for each in mine[:_MAX_ALONE]]),
        )

    def _connection(
        self, name: str, settings: Settings, hung: int, superseded: int, missed_ticks: int
    ) -> ConnectionStatus:
        with self._lock:
            known = self._connections.get(name, _NOTHING)
        section = settings.adapters[name]
        limits = settings.limits.get(name, ConnectionLimits())
        removals_left, total = self._limits_used.get(name, (None, None))
        failing = hung >= section.shards or self._is_failing(known, settings)
        return ConnectionStatus.of(
            known,
            name=name,
            type=section.type,
            level=Level.ERROR if failing else Level.WARNING if hung else Level.NORMAL,
            shards=section.shards,
            hung=hung,
            superseded=superseded,
            missed_ticks=missed_ticks,
            removal_budget=None if limits.removal_budget is None else limits.removal_budget.instances,
            removals_left=removals_left,
            max_total=limits.max_total,
            total_size=total,
            last_cycle=min([at for shard, at in self._cycles.copy().items() if shard.adapter == name], default=None),
        )

    def _is_failing(self, known: Answers, settings: Settings) -> bool:
        return known.is_failing(self._clock.now(), _PATIENCE_PERIODS * settings.shared.controller.sync_period)


def _alone(each: AskedAlone) -> AskedAloneStatus:
    return AskedAloneStatus(
        query=plain(each.question.expr),
        reason="refused" if each.why is Why.REFUSED else "heavy",
        said=plain(each.said),
        autoscalers=each.autoscalers[:_MAX_ALONE],
    )


def _words(error: BaseException) -> str:
    """Return an error's text; for an adapter's error its type, because a foreign text may contain a secret."""
    if isinstance(error, TargetError):
        return str(checked_error(error))
    return bug(error)


def _undiscovered(connection: DiscoveringConnection) -> str:
    others = f" and {connection.failing - 1} more" if connection.failing > 1 else ""
    why = f"{connection.failures[0]}{others}"
    what = f"connection {connection.name}: not all of its autoscalers could be discovered; those known stay in force"
    return f"{what}: {why}"


def _warned(warnings: Mapping[str, str]) -> Iterator[str]:
    if warnings:
        name = min(warnings)
        others = len(warnings) - 1
        more = f"; {count(others, 'more target has', 'more targets have')} warnings" if others else ""
        yield f"the target of {name} has a warning: {warnings[name]}{more}"


def _problems(
    reload: ReloadStatus,
    sources: Sequence[SourceStatus],
    connections: Sequence[ConnectionStatus],
    grants: Sequence[GrantStatus],
) -> Iterator[tuple[Level, str]]:
    if not reload.successful:
        yield Level.WARNING, "the last reload was refused; the previous configuration stays in force"
    for source in sources:
        if source.level is not Level.NORMAL:
            yield source.level, f"prometheus {source.name} does not answer"
    for each in connections:
        if each.hung:
            where = "" if each.shards == 1 else f" in {each.hung} of {each.shards} shards"
            yield each.level, f"connection {each.name} hangs{where}"
        elif each.level is not Level.NORMAL:
            yield each.level, f"connection {each.name} fails"
    for grant in grants:
        if not grant.name:
            text = "the folder of all teams cannot be read; the last versions of its files stay in force"
            yield Level.WARNING, text
        elif grant.refused:
            one, many = (f"{what} of team {grant.name}" for what in ("file or autoscaler", "files or autoscalers"))
            yield Level.WARNING, count(grant.refused, f"{one} is refused", f"{many} are refused")
