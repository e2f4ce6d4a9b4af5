"""Everything that a configuration asks for, built; and made to follow the next configuration.

One connection is one adapter with its lane, its observer and its actuator. The store is everybody's.
"""

import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from autoscaler.act import Actuator
from autoscaler.clock import Clock
from autoscaler.config.settings import AdapterSection, PrometheusSource, Settings
from autoscaler.errors import AdapterError, AutoscalerError, named
from autoscaler.logger import Logger
from autoscaler.metrics import Metrics, metered
from autoscaler.model import Autoscaler, Call, Decision, History, Observation, Outcome, TargetRef
from autoscaler.observe import Observer, Sighting
from autoscaler.record import Store
from autoscaler.record.folder import make_folder
from autoscaler.schedule import Batch, Lane, Lanes
from autoscaler.target import Adapter, AdapterContext, Closes, load

_CLOSE_SECONDS: Final = 2.0
"""The contract gives an adapter one second to let go."""


@dataclass(frozen=True, slots=True)
class _Ports:
    """`cycle.Ports` of one lane."""

    observer: Observer
    store: Store
    actuator: Actuator

    def observe(self, scalers: Sequence[Autoscaler], call: Call) -> Mapping[str, Observation]:
        return self.observer.observe(scalers, call)

    def recall(self, scalers: Sequence[Autoscaler]) -> Mapping[str, History]:
        return self.store.recall(scalers)

    def intend(self, decisions: Sequence[Decision]) -> None:
        self.store.intend(decisions)

    def act(self, decisions: Sequence[Decision], call: Call) -> Mapping[str, Outcome]:
        return self.actuator.act(decisions, call)

    def record(self, observed: Mapping[str, Observation], decisions: Sequence[Decision]) -> None:
        self.store.record(observed, decisions)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a configuration wants of an adapter; the same again is no reason to build it anew."""

    section: AdapterSection
    dry_run: bool
    """All its autoscalers are."""
    dry_targets: frozenset[TargetRef]
    """Those of its autoscalers that are, one by one."""


@dataclass(slots=True)
class _Connection:
    wanted: _Wanted
    adapter: Adapter
    actuator: Actuator
    lane: Lane
    sources: Mapping[str, PrometheusSource]
    observer: Observer


class Runtime:
    """What runs. Used from the main thread alone, apart from the lanes."""

    def __init__(
        self,
        store: Store,
        state_dir: Path,
        clock: Clock,
        logger: Logger,
        report: Callable[[Batch], None],
        metrics: Metrics,
    ) -> None:
        """`report` is told of every cycle that ended, on its lane's thread."""
        self.lanes = Lanes(clock, logger)
        self._store = store
        self._state_dir = state_dir
        self._clock = clock
        self._logger = logger
        self._report = report
        self._metrics = metrics
        self._connections: dict[str, _Connection] = {}
        self._left_behind: list[Lane] = []
        """Lanes that hung when they were retired."""
        self._sightings = store.sightings(Sighting)

    @property
    def adapters(self) -> Sequence[str]:
        """The connections' names, sorted."""
        return sorted(self._connections)

    def follow(self, settings: Settings) -> None:
        """Make what runs follow `settings`; what did not change goes on.

        An adapter without autoscalers is not built. Raises AdapterError or StateError, and has changed nothing then.
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
        kept = {name for name, have in self._connections.items() if wanted.get(name) == have.wanted}
        built = self._build({name: want for name, want in wanted.items() if name not in kept})
        self._end([self._connections.pop(name) for name in self._connections.keys() - kept])
        for name, have in self._connections.items():
            self._refit(have, settings.prometheus, scalers[name])
        for name, adapter in built.items():
            self._connect(name, wanted[name], adapter, settings.prometheus, scalers[name])

    def close(self) -> bool:
        """End all; waits for running cycles, up to their deadlines. False: one hangs, and its thread is left behind."""
        gone = list(self._connections.values())
        self._connections.clear()
        self._end(gone)
        self.lanes.stop()
        return not any(lane.hung() for lane in self._left_behind)

    def _build(self, wanted: Mapping[str, _Wanted]) -> Mapping[str, Adapter]:
        built: dict[str, Adapter] = {}
        try:
            for name, want in wanted.items():
                built[name] = self._build_one(name, want)
        except AutoscalerError:
            self._let_go(built.values())
            raise
        return built

    def _build_one(self, name: str, want: _Wanted) -> Adapter:
        context = AdapterContext(
            name=name,
            settings=want.section.settings,
            clock=self._clock,
            logger=self._logger,
            state_dir=make_folder(self._state_dir / "adapters" / name),
            dry_run=want.dry_run,
            dry_targets=want.dry_targets,
        )
        try:
            return load(want.section.type)(context)
        except AdapterError as error:
            raise AdapterError(f"adapters.{name}: {error}") from error
        except Exception as error:
            raise AdapterError(
                f"adapters.{name}: the adapter {want.section.type!r} cannot be built: {named(error)}; "
                "report it to the adapter's author"
            ) from error

    def _connect(
        self,
        name: str,
        wanted: _Wanted,
        adapter: Adapter,
        sources: Mapping[str, PrometheusSource],
        scalers: Sequence[Autoscaler],
    ) -> None:
        actuator = Actuator({name: self._metered(name, adapter)}, self._clock, self._logger)
        observer = self._observer(name, adapter, sources)
        lane = Lane(name, self._clock, self._logger, self._report)
        lane.equip(scalers, _Ports(observer, self._store, actuator))
        self._connections[name] = _Connection(wanted, adapter, actuator, lane, sources, observer)
        self.lanes.add(lane)

    def _refit(self, have: _Connection, sources: Mapping[str, PrometheusSource], scalers: Sequence[Autoscaler]) -> None:
        """Same adapter, same lane: other autoscalers, and where Prometheus' section changed other sources."""
        have.lane.equip(scalers, _Ports(have.observer, self._store, have.actuator))
        self.lanes.reschedule(have.lane)
        if sources != have.sources:
            have.sources = sources
            have.observer.follow(sources)

    def _observer(self, name: str, adapter: Adapter, sources: Mapping[str, PrometheusSource]) -> Observer:
        adapters = {name: self._metered(name, adapter)}
        return Observer(sources, adapters, self._clock, self._logger, sightings=self._sightings, meter=self._metrics)

    def _metered(self, name: str, adapter: Adapter) -> Adapter:
        return metered(name, adapter, self._metrics, self._clock)

    def _end(self, gone: Collection[_Connection]) -> None:
        self.lanes.retire([have.lane for have in gone])
        self._let_go([have.adapter for have in gone])
        for have in gone:
            _close_observer(have.observer, have.lane)
        self._left_behind += [have.lane for have in gone if have.lane.hung()]

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


def _close_observer(observer: Observer, lane: Lane) -> None:
    if not lane.hung():  # its cycle may still be using it
        observer.close()
