"""`autoscaler check --live`: queries every Prometheus, reads every target and the state once. It changes nothing.

With `--write-test` it also sends each back end a write that changes no size, to learn whether the daemon may scale.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import wait
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NoReturn

from autoscaler.cli.causes import Causes, with_causes
from autoscaler.cli.examine import Examiner
from autoscaler.cli.find_daemon import daemons_folder, status_of
from autoscaler.cli.findings import Finding, Findings, findings_of
from autoscaler.clock import Clock
from autoscaler.config.settings import Settings
from autoscaler.errors import AdapterError, StateError, TargetError, TargetUnavailable, named
from autoscaler.logger import Logger
from autoscaler.model import (
    Autoscaler,
    Call,
    Observation,
    ScaleChange,
    Sighting,
    TargetRef,
    TargetState,
)
from autoscaler.net.programs import unusable
from autoscaler.observe.failure import QueryFailure
from autoscaler.observe.observer import Observer, query_seconds
from autoscaler.observe.planner.outcome import Outcome
from autoscaler.observe.prometheus import Prometheus
from autoscaler.observe.targets import Connection
from autoscaler.quantity import format_duration
from autoscaler.record.archive import Archive
from autoscaler.record.examine import examine_state
from autoscaler.rules.drain import DrainRule
from autoscaler.schedule.shard import MAX_CYCLE, cycle_seconds
from autoscaler.target import Adapter, AdapterContext, load
from autoscaler.text import count
from autoscaler.threads import spawn

_CYCLE_SECONDS: Final = 15.0
"""The daemon's default period. The observer waits two thirds of it for answers."""
_CAUSE_SECONDS: Final = 15.0
"""The time for all questions about queries without a sample."""
_CLOSE_SECONDS: Final = 2.0
"""The adapter contract permits one."""
_LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)


def examine(
    settings: Settings, clock: Clock, logger: Logger, *, write_test: bool = False, seconds: float = _CYCLE_SECONDS
) -> Sequence[Findings]:
    """Return findings about missing files, connections and autoscalers.

    The autoscalers are in the file's order. `write_test`: also test whether the targets that could be read may be
    scaled, and whether nodes may be drained. `seconds`: the time for a cycle, and for each examination.
    """
    now = clock.now()
    queries, status = _Queries(), status_of(settings.path)
    folder = daemons_folder() if status is None or not status.state_folder else Path(status.state_folder)
    with _connected(settings, folder, clock, logger) as adapters, ExitStack() as closing:
        connections = {
            name: Connection(name, adapter, clock, logger, settings.adapters[name].type)
            for name, adapter in adapters.items()
        }
        observer = Observer(settings.prometheus, connections, clock, logger, queries.count)
        known = {scaler.target: _LongSince() for scaler in settings.autoscalers}
        try:
            call = Call(now, clock.monotonic() + seconds)
            seen = observer.observe(settings.autoscalers, call, known).observations
        finally:
            observer.close()
        sources = {name: Prometheus(name, section, clock) for name, section in settings.prometheus.items()}
        for name, source in sources.items():
            closing.callback(source.close)
            queries.ask_the_unused(name, source, now, clock.monotonic() + seconds)
        end = clock.monotonic() + _CAUSE_SECONDS
        causes = {name: Causes(source, now, end, clock) for name, source in sources.items()}
        seen = {scaler.name: with_causes(scaler, seen[scaler.name], causes) for scaler in settings.autoscalers}
        targets = {scaler.target: seen[scaler.name].target for scaler in settings.autoscalers}
        writes = {target: write_test and isinstance(state, TargetState) for target, state in targets.items()}
        examined = Examiner(clock, seconds).findings(adapters, writes, _draining(settings) if write_test else ())
    absent = [Finding(problem.path, problem.message, wrong=True) for problem in settings.warnings]  # `run` refuses them
    found = [*queries.findings(settings.prometheus, settings.autoscalers), *_adapters(settings, adapters, seen)]
    found += [*(line for name in adapters for line in examined[name]), _state(settings, folder)]
    told = {} if status is None else _warnings(settings, folder)
    return [
        *([Findings("files", absent)] if absent else []),
        Findings("connections", found),
        *(
            Findings(
                f"{scaler.name} on {scaler.target}",
                [
                    *findings_of(scaler, seen[scaler.name], now),
                    *_new(told.get(scaler.name, ()), targets[scaler.target]),
                    *examined[scaler.target],
                    *_programs(scaler),
                ],
            )
            for scaler in settings.autoscalers
        ),
    ]


class _Queries:
    """Counts the answers and failures of each Prometheus. Any thread may call `count`."""

    def __init__(self) -> None:
        self._answered: dict[str, list[float]] = {}
        """Source -> the duration of each query, in seconds."""
        self._failed: dict[str, list[QueryFailure]] = {}

    def count(self, prometheus: str, seconds: float, failure: QueryFailure | None) -> None:
        """Count one query."""
        if failure is None:
            self._answered.setdefault(prometheus, []).append(seconds)
        else:
            self._failed.setdefault(prometheus, []).append(failure)

    def ask_the_unused(self, name: str, source: Prometheus, now: datetime, end: float) -> None:
        """Query a constant from a Prometheus that no query uses. `end`: by which, in seconds on the clock."""
        if name not in self._answered and name not in self._failed:
            came = source.exchange("vector(1)", now, end, source.timeout_seconds)
            self.count(name, came.seconds, came.answer if isinstance(came.answer, QueryFailure) else None)

    def findings(self, names: Iterable[str], scalers: Sequence[Autoscaler]) -> Iterator[Finding]:
        """Yield a finding about each Prometheus. `scalers`: of which the shortest cycle limits its queries.

        A query that it refuses says nothing about it: the finding where the query is used says why.
        """
        for name in names:
            periods = [each.sync_period for each in scalers if any(query.prometheus == name for query in each.queries)]
            shortest = min(periods, default=MAX_CYCLE)
            limit = query_seconds(cycle_seconds(shortest))
            answered, all_failed = self._answered.get(name, []), self._failed.get(name, [])
            failed = [each for each in all_failed if each.outcome is not Outcome.REFUSED]
            refused = len({str(each) for each in all_failed} - {str(each) for each in failed})
            text = f"{count(len(answered), 'query', 'queries')} answered"
            text += f", the slowest in {max(answered):.2f} s" if answered else ""
            slow = max(answered, default=0.0) > limit
            allowed = f"a syncPeriod of {format_duration(shortest)} gives a query at most {limit:.2g} s"
            text += f"; {allowed}; raise it, or write a cheaper expression" if slow else ""
            text += f"; {refused} refused, see below" if refused else ""
            text += f"; {len(failed)} failed: {failed[0]}" if failed else ""
            yield Finding(f"prometheus {name}", text, slow or bool(failed))


def _draining(settings: Settings) -> Sequence[str]:
    """Return the connections that drain the nodes of autoscalers' instances."""
    rules = [scaler.rules.find(DrainRule) for scaler in settings.autoscalers]
    return sorted({rule.nomad.adapter for rule in rules if rule is not None and rule.nomad is not None})


def _programs(scaler: Autoscaler) -> Iterator[Finding]:
    """Yield why the program that drains its instances would not run here."""
    rule = scaler.rules.find(DrainRule)
    command = () if rule is None else rule.command
    if command and (problem := unusable(command[0])):
        yield Finding("drain", problem, wrong=True)


class _LongSince(dict[str, Sighting]):
    """Sightings of one target whose instances have not changed for a long time.

    The daemon remembers when it first saw an instance. Without that, a check would treat every instance as new.
    """

    def get(self, key: str, default: object = None) -> Sighting:  # noqa: ARG002 - dict's signature
        """Return the same object for every instance."""
        return Sighting(_LONG_AGO, True, _LONG_AGO)


class _Unbuilt(Adapter):
    """Replaces an adapter that could not be built, so that the queries are still sent."""

    def __init__(self, error: str) -> None:
        self.error = error

    def observe(self, targets: Sequence[TargetRef], call: Call) -> NoReturn:  # noqa: ARG002 - Adapter's signature
        """Raise TargetUnavailable with the reason."""
        raise TargetUnavailable(self.error)

    def scale(self, target: TargetRef, change: ScaleChange, call: Call) -> NoReturn:  # noqa: ARG002 - likewise
        """Raise TargetUnavailable with the reason."""
        raise TargetUnavailable(self.error)


@contextmanager
def _connected(settings: Settings, state: Path, clock: Clock, logger: Logger) -> Iterator[Mapping[str, Adapter]]:
    """Build every adapter of the file, for a dry run. `state`: the state folder."""
    with TemporaryDirectory(prefix="autoscaler-check-", ignore_cleanup_errors=True) as spare:
        adapters: dict[str, Adapter] = {}
        try:
            for name in settings.adapters:
                adapters[name] = _build(name, settings, state, Path(spare), clock, logger)
            yield adapters
        finally:
            _close(adapters.values())


def _state(settings: Settings, folder: Path) -> Finding:
    """Return whether the daemon could open its state."""
    try:
        return Finding("state", examine_state(settings.state.url, folder))
    except StateError as error:
        return Finding("state", str(error).removeprefix("state "), wrong=True)


def _warnings(settings: Settings, folder: Path) -> Mapping[str, Sequence[str]]:
    """Return the warnings in the last decisions of the daemon that runs the file, by autoscaler.

    An adapter may know more in the daemon than here, for example why the workers that it starts end at once.
    """
    try:
        with Archive.open_archive(settings.state.url, folder) as archive:
            return {name: decision.warnings for name, decision in archive.latest().items()}
    except StateError:  # the finding about the state says why
        return {}


def _new(warnings: Sequence[str], state: TargetState | TargetError) -> Iterator[Finding]:
    """Yield the warnings that the adapter here does not give."""
    own = state.warnings if isinstance(state, TargetState) else ()
    yield from [Finding("warning", warning) for warning in warnings if warning not in own]


def _build(name: str, settings: Settings, state: Path, spare: Path, clock: Clock, logger: Logger) -> Adapter:
    """Build an adapter with the daemon's state folder, if it exists: only that lists the workers of a pool."""
    section = settings.adapters[name]
    folder = state / "adapters" / name
    if section.one_host and state.exists() and not os.access(state, os.X_OK):
        return _Unbuilt(
            f"only the state folder {state} lists its instances, and this user may not read it; run the check as root, "
            "or as the daemon's user"
        )
    if not os.access(folder, os.R_OK | os.X_OK):
        folder = spare / name
        folder.mkdir()
    of_this = [scaler for scaler in settings.autoscalers if scaler.target.adapter == name]
    drains = {one.target: rule.hook for one in of_this if (rule := one.rules.find(DrainRule)) is not None}
    try:
        context = AdapterContext(name, section.settings, clock, logger, folder, dry_run=True, drains=drains)
        return load(section.type)(context)
    except AdapterError as error:
        return _Unbuilt(str(error))
    except Exception as error:  # noqa: BLE001 - foreign code
        return _Unbuilt(f"the adapter {section.type!r} cannot be built: {named(error)}; report it to its author")


def _close(adapters: Iterable[Adapter]) -> None:
    """Close all adapters at the same time, so that one that hangs does not delay the others."""
    wait([spawn("close", each.close) for each in adapters], timeout=_CLOSE_SECONDS)


def _adapters(
    settings: Settings, adapters: Mapping[str, Adapter], seen: Mapping[str, Observation]
) -> Iterator[Finding]:
    for name, section in settings.adapters.items():
        adapter = adapters[name]
        states = [seen[scaler.name].target for scaler in settings.autoscalers if scaler.target.adapter == name]
        read = sum(isinstance(state, TargetState) for state in states)
        if isinstance(adapter, _Unbuilt):
            yield Finding(f"adapter {name}", adapter.error, wrong=True)
        elif not states:
            yield Finding(f"adapter {name}", f"{section.type}, used by no autoscaler")
        else:
            text = f"{section.type}, {read} of {count(len(states), 'target')} read"
            yield Finding(f"adapter {name}", text, wrong=read < len(states))
