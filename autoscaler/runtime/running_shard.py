"""One running shard: its adapter, its ledger, and the ports of its cycles."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from msgspec import structs

from autoscaler.act import Actuator
from autoscaler.clock import Clock
from autoscaler.drain import Drainer
from autoscaler.logger import Logger
from autoscaler.metrics import Metrics, metered
from autoscaler.model import (
    Autoscaler,
    Call,
    ConnectionLimits,
    Decision,
    History,
    LimitUsage,
    Observed,
    Outcome,
    ShardName,
)
from autoscaler.observe import Connect, Connection, Gates, Observer, Prometheus, Queries
from autoscaler.record import Ledger
from autoscaler.runtime.building import BuiltAdapter
from autoscaler.runtime.leadership import Leadership
from autoscaler.runtime.wanted import Wanted
from autoscaler.schedule import Shard, Work

_HANGS_AFTER_PERIODS: Final = 3
"""Periods past its deadline after which a shard is superseded."""


@dataclass(frozen=True, slots=True)
class Ports:
    """Implements `cycle.Ports` for one shard."""

    observer: Observer
    ledger: Ledger
    actuator: Actuator
    clock: Clock
    leadership: Leadership | None = None
    """None: no other daemon shares the state."""
    drainer: Drainer | None = None
    """None: no instance is drained."""

    def observe(self, scalers: Sequence[Autoscaler], call: Call) -> Observed:
        """Claim what the shard scales and read its memory, then observe."""
        if call.moment is not None:
            self.ledger.follow_clock(call.moment)
        self.ledger.claim()
        known = self.ledger.sightings({scaler.target for scaler in scalers})
        observed = self.observer.observe(scalers, call, known, self._civil_ahead(scalers))
        return self._with_reports(scalers, observed)

    def recall(self, scalers: Sequence[Autoscaler]) -> Mapping[str, History]:
        """Return the histories in the ledger."""
        return self.ledger.recall(scalers)

    def standing(self, now: datetime) -> LimitUsage:
        """Return the ledger's standing, with the targets that have an earlier write under way."""
        return self.ledger.standing(now, self.actuator.begin())

    def intend(self, decisions: Sequence[Decision]) -> Mapping[str, Exception]:
        """Commit the intents in the ledger."""
        return self.ledger.intend(decisions, self.actuator.busy)

    def act(self, decisions: Sequence[Decision], call: Call) -> Mapping[str, Outcome]:
        """Write through the adapter until the deadline or the end of the lease."""
        if self.leadership is not None:  # after the lease another daemon may write
            left = self.clock.monotonic() + self.leadership.seconds_left()
            call = replace(call, deadline=min(call.deadline, left))
        return self.actuator.act(decisions, call)

    def record(
        self, scalers: Sequence[Autoscaler], observed: Observed, decisions: Sequence[Decision]
    ) -> Mapping[str, Exception]:
        """Commit the result in the ledger."""
        return self.ledger.record({scaler.name: scaler for scaler in scalers}, observed, decisions)

    def drain(self, scalers: Sequence[Autoscaler], observed: Observed, decisions: Sequence[Decision]) -> None:
        """Hand over the drains that are recorded as under way; leave those of targets that another shard serves."""
        if self.drainer is None:
            return
        self.drainer.drop({scaler.target for scaler in scalers if scaler.name in self.ledger.unheld})
        self.drainer.follow({scaler.name: scaler for scaler in scalers}, observed, decisions)

    def announce(self, decisions: Sequence[Decision], call: Call) -> None:
        """Announce through the adapter."""
        self.actuator.announce(decisions, call)

    def _with_reports(self, scalers: Sequence[Autoscaler], observed: Observed) -> Observed:
        """Return the observation with the present state of the targets' drains."""
        if self.drainer is None:
            return observed
        reports = {scaler.name: self.drainer.reports(scaler.target) for scaler in scalers}
        seen = observed.observations
        told = {name: structs.replace(seen[name], drains=found) for name, found in reports.items() if found}
        return structs.replace(observed, observations={**seen, **told}) if told else observed

    def _civil_ahead(self, scalers: Sequence[Autoscaler]) -> timedelta:
        """Return by how much the database's clock is ahead of this host's, in whole seconds; 0 on SQLite.

        A leader then opens and closes schedules when its predecessor would have.
        """
        if not any(rule.by_calendar for scaler in scalers for rule in scaler.rules):
            return timedelta(0)
        civil = self.ledger.database_time()
        return timedelta(0) if civil is None else timedelta(seconds=int((civil - self.clock.now()).total_seconds()))


class RunningShard:
    """A shard in one epoch. Used by the main thread; the shard's own thread uses only its `Work`."""

    def __init__(
        self,
        wanted: Wanted,
        built: BuiltAdapter,
        ledger: Ledger,
        shard: Shard,
        clock: Clock,
        logger: Logger,
        metrics: Metrics,
        gates: Gates,
        leadership: Leadership | None = None,
        connect: Connect = Prometheus,
    ) -> None:
        """`shard` gets its first work. `gates`: those of the daemon's sources.

        `leadership`: this daemon's; None if no other daemon shares the state. `connect`: returns a source's client.
        """
        name = shard.name.adapter
        adapter = metered(name, built.adapter, metrics, clock)
        built.memory.ledger = ledger
        self.adapters: Final = built.adapters
        self.shard: Final = shard
        self.wanted = wanted
        self._leadership = leadership
        self._clock = clock
        self._logger = logger
        self._metrics = metrics
        self._gates = gates
        self._connect = connect
        self.queries: Final = Queries()
        self._ledger = ledger
        self._connection = Connection(name, adapter, clock, logger, wanted.adapter.section.type)
        self._actuator = Actuator(adapter, clock, logger, ledger.is_current, shard.name.of)
        self._drainer = Drainer(
            built.adapter,
            built.nodes,
            clock,
            logger,
            ledger.is_current,
            local=built.adapter.one_host,
        )
        self._observer = self._new_observer()
        shard.assign(self._work())

    @property
    def name(self) -> ShardName:
        """The shard's name."""
        return self.shard.name

    @property
    def generation(self) -> str:
        """The generation in which the shard began."""
        return self._ledger.generation

    def follow(self, wanted: Wanted) -> bool:
        """Serve this from the next cycle on, with the same adapter and ledger. Returns whether anything changed.

        The running cycle is not changed. Connections to unchanged sources are kept.
        """
        before, self.wanted = self.wanted, wanted
        if wanted == before:
            return False
        if wanted.sources != before.sources:
            self._observer = self._new_observer()
        self.shard.assign(self._work())
        return True

    def stuck(self) -> bool:
        """Return whether its cycle, or a call of its adapter in another thread, hangs too long to be waited for."""
        shortest = min([scaler.sync_period for scaler in self.wanted.scalers], default=None)
        calls = max(self._connection.overdue_seconds(), self._actuator.overdue_seconds())
        overdue = 0.0 if shortest is None else calls / shortest.total_seconds()
        return max(self.shard.overdue_periods(), overdue) >= _HANGS_AFTER_PERIODS

    def is_current(self) -> bool:
        """Return whether it may write and record, as far as this process knows."""
        return self._ledger.is_current()

    def overdue_seconds(self) -> float:
        """Return the seconds that its longest hanging call is past its deadline; 0 if none hangs."""
        return max(self.shard.overdue_seconds(), self._connection.overdue_seconds(), self._actuator.overdue_seconds())

    def ended(self) -> bool:
        """Return whether no thread is running a cycle or a call of it."""
        return not (self.shard.running() or self._connection.calling() or self._actuator.writing())

    def stop_drains(self) -> None:
        """Leave the drains that are under way to the shard that serves these targets next."""
        self._drainer.close()

    def release_claims(self) -> None:
        """Let other shards claim what it served. Called after the shard was retired."""
        self._ledger.end()

    def end(self) -> None:
        """Release what its cycles used, after the shard was retired and `ended`."""
        self.shard.end()
        self._ledger.end()
        self._observer.close()

    def _new_observer(self) -> Observer:
        connections = {self.name.adapter: self._connection}
        return Observer(
            self.wanted.sources,
            connections,
            self._clock,
            self._logger,
            self._metrics.queried,
            queries=self.queries,
            gates=self._gates,
            connect=self._connect,
        )

    def _work(self) -> Work:
        scalers, observer = self.wanted.scalers, self._observer
        ports = Ports(observer, self._ledger, self._actuator, self._clock, self._leadership, self._drainer)
        begin = partial(self._begin, tuple(scalers), self.wanted.limits)
        return Work.of(scalers, ports, begin, partial(self._close_replaced, observer))

    def _begin(self, scalers: Sequence[Autoscaler], limits: ConnectionLimits) -> None:
        """Set the shard's autoscalers. On its own thread."""
        self._ledger.follow(scalers, limits, self.wanted.identify)
        targets = {scaler.target for scaler in scalers}
        self._connection.follow(targets)
        self._drainer.keep(targets)
        self.queries.follow(scalers)

    def _close_replaced(self, observer: Observer) -> None:
        if observer is not self._observer:
            observer.close()
