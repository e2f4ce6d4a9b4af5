"""Everything that a configuration asks for, built; and made to follow the next configuration.

One connection is one adapter with its lane, in one epoch of what its autoscalers remember. What a lane's cycles work
with is one `Work`, which is replaced between cycles and never changed.
"""

import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from autoscaler.act import Actuator
from autoscaler.clock import Clock
from autoscaler.config.settings import AdapterSection, PrometheusSource, Settings
from autoscaler.errors import AdapterError, AutoscalerError, StateError, named
from autoscaler.logger import Logger
from autoscaler.metrics import Metrics, metered
from autoscaler.model import Autoscaler, Call, Decision, History, Observed, Outcome, TargetRef
from autoscaler.observe import Connection, Gates, Observer, Queries
from autoscaler.record import Ledger, State, make_folder
from autoscaler.schedule import Batch, Lane, Lanes, Stop, Stopping, Work, wait_for
from autoscaler.target import Adapter, AdapterContext, AdapterValues, Closes, load

_CLOSE_SECONDS: Final = 2.0
"""The contract gives an adapter one second to let go."""
_HANGS_AFTER_PERIODS: Final = 3
"""How far past its deadline a lane is superseded."""
_MOST_ABANDONED: Final = 3
"""Threads of one connection that are left behind in what hangs, before it waits for one of them to end."""
_RETRY_SECONDS: Final = 15.0
"""How long after a failure it is tried again to begin a lane."""


@dataclass(frozen=True, slots=True)
class _Ports:
    """`cycle.Ports` of one lane."""

    observer: Observer
    ledger: Ledger
    actuator: Actuator

    def observe(self, scalers: Sequence[Autoscaler], call: Call) -> Observed:
        if call.moment is not None:
            self.ledger.follow_clock(call.moment)
        known = self.ledger.sightings({scaler.target for scaler in scalers})
        return self.observer.observe(scalers, call, known)

    def recall(self, scalers: Sequence[Autoscaler]) -> Mapping[str, History]:
        return self.ledger.recall(scalers)

    def intend(self, decisions: Sequence[Decision]) -> Mapping[str, Exception]:
        return self.ledger.intend(decisions)

    def act(self, decisions: Sequence[Decision], call: Call) -> Mapping[str, Outcome]:
        return self.actuator.act(decisions, call)

    def record(
        self, scalers: Sequence[Autoscaler], observed: Observed, decisions: Sequence[Decision]
    ) -> Mapping[str, Exception]:
        return self.ledger.record({scaler.name: scaler for scaler in scalers}, observed, decisions)

    def announce(self, decisions: Sequence[Decision], call: Call) -> None:
        self.actuator.announce(decisions, call)


class _AdapterMemory:
    """`target.AdapterMemory` in the ledger of the adapter's lane, which begins after the adapter was built."""

    def __init__(self) -> None:
        self.ledger: Ledger | None = None

    def load(self) -> Mapping[TargetRef, AdapterValues]:
        return {} if self.ledger is None else self.ledger.adapter_memory()

    def save(self, target: TargetRef, values: AdapterValues | None) -> None:
        if self.ledger is None:
            raise AdapterError("an adapter may save nothing before it was first asked to observe")
        self.ledger.save_adapter_memory(target, values)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a configuration wants of an adapter; an equal one does not cause a new adapter."""

    section: AdapterSection
    dry_run: bool
    """All its autoscalers are."""
    dry_targets: frozenset[TargetRef]
    """Those of its autoscalers that are, one by one."""


@dataclass(frozen=True, slots=True)
class _Built:
    """An adapter that nothing uses yet."""

    adapter: Adapter
    memory: _AdapterMemory


@dataclass(slots=True)
class _Connected:
    wanted: _Wanted
    built: _Built
    connection: Connection
    actuator: Actuator
    ledger: Ledger
    lane: Lane
    scalers: Sequence[Autoscaler]
    sources: Mapping[str, PrometheusSource]
    queries: Queries = field(default_factory=Queries)

    def stuck(self) -> bool:
        """Whether its lane, or its adapter in a thread of its own, hangs too long to be waited for."""
        shortest = min(self.lane.periods, default=None)
        calls = max(self.connection.overdue_seconds(), self.actuator.overdue_seconds())
        overdue = 0.0 if shortest is None else calls / shortest.total_seconds()
        return max(self.lane.overdue_periods(), overdue) >= _HANGS_AFTER_PERIODS

    def overdue_seconds(self) -> float:
        """How far past its deadline is what hangs longest; 0: nothing does."""
        return max(self.lane.overdue_seconds(), self.connection.overdue_seconds(), self.actuator.overdue_seconds())

    def ended(self) -> bool:
        """Whether no thread is in it any more."""
        return not (self.lane.running() or self.connection.calling() or self.actuator.writing())


@dataclass(frozen=True, slots=True)
class _Waiting:
    """What is connected as soon as it may be."""

    wanted: _Wanted
    built: _Built
    scalers: Sequence[Autoscaler]
    sources: Mapping[str, PrometheusSource]


class Runtime:
    """What runs. Used from the main thread alone, apart from the lanes."""

    def __init__(
        self,
        state: State,
        state_dir: Path,
        clock: Clock,
        logger: Logger,
        report: Callable[[Batch], None],
        metrics: Metrics,
        stop: Stop | None = None,
    ) -> None:
        """`report` is called with every cycle that ended, on its lane's thread.

        `stop`: asked for, whatever else is under way here is given up and raises Stopping; `close` comes next.
        """
        self.lanes = Lanes(clock, logger)
        self._state = state
        self._state_dir = state_dir
        self._clock = clock
        self._logger = logger
        self._report = report
        self._metrics = metrics
        self._stop = stop or Stop()
        self._gates = Gates()
        self._connected: dict[str, _Connected] = {}
        self._abandoned: dict[str, list[_Connected]] = {}
        """Connection's name -> those of it whose thread hung when they were superseded or replaced."""
        self._leaving: Sequence[_Connected] = ()
        """Those that have no further cycle, and whose running one is waited for."""
        self._waiting: dict[str, _Waiting] = {}
        """Connection's name -> what begins when one of its abandoned threads ends, or the state takes it."""
        self._crowded: frozenset[str] = frozenset()
        """Connections that wait for one of their abandoned threads to end."""
        self._retry_at: dict[str, float] = {}
        """Connection's name -> when it is tried again to begin its lane."""

    @property
    def adapters(self) -> Sequence[str]:
        """The connections' names, sorted."""
        return sorted(self._connected)

    def follow(self, settings: Settings) -> None:
        """Make what runs follow `settings`; what did not change goes on, in the same epoch.

        An adapter without autoscalers is not built. Raises AdapterError, then nothing has changed; or StateError, then
        `supervise` begins what the state refused to begin; or Stopping.
        """
        scalers: dict[str, list[Autoscaler]] = {}
        for scaler in settings.autoscalers:
            scalers.setdefault(scaler.target.adapter, []).append(scaler)
        wanted = {
            name: _Wanted(
                settings.adapters[name],
                dry_run=all(scaler.dry_run for scaler in used),
                dry_targets=frozenset(scaler.target for scaler in used if scaler.dry_run),
            )
            for name, used in scalers.items()
        }
        kept = {name for name, have in self._connected.items() if wanted.get(name) == have.wanted}
        built = self._build({name: want for name, want in wanted.items() if name not in kept})
        try:
            self._end([self._connected.pop(name) for name in self._connected.keys() - kept])
        except Stopping:
            self._let_go(each.adapter for each in built.values())
            raise
        self._let_go(each.built.adapter for each in self._waiting.values())
        self._retry_at.clear()
        self._waiting = {
            name: _Waiting(wanted[name], adapter, scalers[name], settings.prometheus) for name, adapter in built.items()
        }
        for name, have in self._connected.items():
            if (have.scalers, have.sources) != (scalers[name], settings.prometheus):
                have.scalers, have.sources = scalers[name], settings.prometheus
                have.lane.assign(self._work(have))
                self.lanes.reschedule(have.lane)
        failures = [failure for name in self._may_begin(built) if (failure := self._begin(name)) is not None]
        if failures:
            raise failures[0]

    def supervise(self) -> None:
        """To be called every second or so: gives a lane that hangs too long a successor."""
        self._forget_ended()
        stuck = {name: have for name, have in self._connected.items() if have.stuck()}
        for name in self._may_begin([*self._waiting, *stuck]):
            failure = self._begin(name) if name in self._waiting else self._supersede(name, stuck[name])
            if failure is not None:
                self._logger.error("lane_not_begun", adapter=name, error=str(failure))

    def close(self) -> bool:
        """End all; waits for running cycles, up to their deadlines. False: one hangs, and its thread is left behind."""
        gone = [*self._leaving, *self._connected.values()]
        self.lanes.retire([have.lane for have in self._connected.values()], wait=False)
        self._connected.clear()
        wait_for([have.lane for have in gone])
        self._part(gone)
        self._let_go(each.built.adapter for each in self._waiting.values())
        self.lanes.stop()
        self._forget_ended()
        return not any(self._abandoned.values())

    def _may_begin(self, names: Collection[str]) -> Sequence[str]:
        """Those of the names whose lanes may begin now. Of others it is logged, once each, what they wait for."""
        crowded = frozenset(name for name in names if len(self._abandoned.get(name, ())) >= _MOST_ABANDONED)
        for name in sorted(crowded - self._crowded):
            error = f"{_MOST_ABANDONED} threads left behind hang in it; it goes on when one of them ends"
            self._logger.error("lane_waits", adapter=name, error=error)
        self._crowded = crowded
        now = self._clock.monotonic()
        return [name for name in names if name not in crowded and now >= self._retry_at.get(name, now)]

    def _begin(self, name: str) -> StateError | None:
        """Begin a lane that waited. Returns why the state refused it: then it is tried again."""
        try:
            ledger = self._ledger(name)
        except StateError as failure:
            self._retry_at[name] = self._clock.monotonic() + _RETRY_SECONDS
            return failure
        self._connect(name, self._waiting.pop(name), ledger)
        return None

    def _supersede(self, name: str, have: _Connected) -> AutoscalerError | None:
        """A new adapter, lane and epoch in place of one that hangs. What hangs can write and record nothing more.

        Returns why that could not be: then the old one stays, and it is tried again.
        """
        self._retry_at[name] = self._clock.monotonic() + _RETRY_SECONDS
        try:
            built = self._build_one(name, have.wanted)
        except AdapterError as failure:
            return failure
        try:
            ledger = self._ledger(name)
        except StateError as failure:
            self._let_go([built.adapter])
            return failure
        overdue = have.overdue_seconds()
        del self._connected[name]
        self._end([have], wait=False)
        self._connect(name, _Waiting(have.wanted, built, have.scalers, have.sources), ledger, missed=have.lane.missed)
        del self._retry_at[name]
        self.lanes.count_superseded(name)
        self._logger.error(
            "lane_superseded",
            adapter=name,
            error=f"its cycle hung {overdue:.0f} s past its deadline; a new lane has taken over, the hanging thread is "
            "left behind and can write nothing more",
        )
        return None

    def _build(self, wanted: Mapping[str, _Wanted]) -> Mapping[str, _Built]:
        built: dict[str, _Built] = {}
        try:
            for name, want in wanted.items():
                built[name] = self._build_one(name, want)
        except AutoscalerError:
            self._let_go(each.adapter for each in built.values())
            raise
        return built

    def _ledger(self, name: str) -> Ledger:
        """In a new epoch. Raises StateError and Stopping."""
        return self._stop.unless(partial(self._state.ledger, name))

    def _build_one(self, name: str, want: _Wanted) -> _Built:
        memory = _AdapterMemory()
        context = AdapterContext(
            name=name,
            settings=want.section.settings,
            clock=self._clock,
            logger=self._logger,
            state_dir=make_folder(self._state_dir / "adapters" / name),
            memory=memory,
            dry_run=want.dry_run,
            dry_targets=want.dry_targets,
        )
        try:
            return _Built(self._stop.unless(lambda: load(want.section.type)(context)), memory)
        except Stopping:
            raise
        except AdapterError as error:
            raise AdapterError(f"adapters.{name}: {error}") from error
        except Exception as error:
            raise AdapterError(
                f"adapters.{name}: the adapter {want.section.type!r} cannot be built: {named(error)}; "
                "report it to the adapter's author"
            ) from error

    def _connect(self, name: str, coming: _Waiting, ledger: Ledger, missed: int = 0) -> None:
        """A lane in the epoch of `ledger`."""
        built = coming.built
        built.memory.ledger = ledger
        adapter = metered(name, built.adapter, self._metrics, self._clock)
        lane = Lane(name, self._clock, self._logger, self._report)
        lane.missed = missed
        connection = Connection(name, adapter, self._clock, self._logger, coming.wanted.section.type)
        actuator = Actuator({name: adapter}, self._clock, self._logger, ledger.is_current)
        have = _Connected(coming.wanted, built, connection, actuator, ledger, lane, coming.scalers, coming.sources)
        lane.assign(self._work(have))
        self._connected[name] = have
        self.lanes.add(lane)

    def _work(self, have: _Connected) -> Work:
        name = have.lane.name
        observer = Observer(
            have.sources, {name: have.connection}, self._clock, self._logger, self._metrics, have.queries, self._gates
        )
        ports = _Ports(observer, have.ledger, have.actuator)
        return Work.of(have.scalers, ports, partial(have.ledger.follow, tuple(have.scalers)), observer.close)

    def _end(self, gone: Sequence[_Connected], *, wait: bool = True) -> None:
        """No further cycle of these; with `wait` running ones are waited for, to their deadlines. Raises Stopping."""
        self.lanes.retire([have.lane for have in gone], wait=False)
        if wait:
            self._leaving = gone
            wait_for([have.lane for have in gone], self._stop)
            self._leaving = ()
        self._part(gone)

    def _part(self, gone: Collection[_Connected]) -> None:
        """Let go of these, whose cycles have ended or hang."""
        self._let_go(have.built.adapter for have in gone)
        for have in gone:
            if have.ended():
                have.lane.end()
            else:
                self._abandoned.setdefault(have.lane.name, []).append(have)

    def _forget_ended(self) -> None:
        """Let go of what threads worked with that were left behind and have ended since."""
        for abandoned in self._abandoned.values():
            for have in [each for each in abandoned if each.ended()]:
                have.lane.end()
                abandoned.remove(have)

    def _let_go(self, adapters: Iterable[Adapter]) -> None:
        """Close them side by side, with a bound: one that hangs must not keep the others, or the process."""
        threads = [
            threading.Thread(target=self._let_go_of, args=(adapter,), daemon=True)
            for adapter in adapters
            if isinstance(adapter, Closes)
        ]
        for thread in threads:
            thread.start()
        until = time.monotonic() + _CLOSE_SECONDS
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()))

    def _let_go_of(self, adapter: Closes) -> None:
        try:
            adapter.close()
        except Exception as error:  # noqa: BLE001 - foreign code; what it held is lost either way
            self._logger.warning("adapter_close_failed", error=named(error))
