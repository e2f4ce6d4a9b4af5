"""One running shard: its adapter, its ledger, and the ports of its cycles."""

from collections.abc import Sequence
from functools import partial
from typing import Final

from autoscaler.act.actuator import Actuator
from autoscaler.clock import Clock
from autoscaler.cycle import Ports
from autoscaler.drain.drainer import Drainer
from autoscaler.logger import Logger
from autoscaler.metrics.adapter import metered
from autoscaler.metrics.metrics import Metrics
from autoscaler.model import Autoscaler, ConnectionLimits, ShardName
from autoscaler.observe.gate import Gates
from autoscaler.observe.observer import Observer
from autoscaler.observe.prometheus import Connect, Prometheus
from autoscaler.observe.queries import Queries
from autoscaler.observe.targets import Connection
from autoscaler.record.ledger import Ledger
from autoscaler.runtime.building import BuiltAdapter
from autoscaler.runtime.leadership import Leadership
from autoscaler.runtime.wanted import Wanted
from autoscaler.schedule.shard import Shard, Work

_HANGS_AFTER_PERIODS: Final = 3
"""Periods past its deadline after which a shard is superseded."""


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
        adapter = metered(name, built.adapter, metrics.called, clock)
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
        calls = max(self._connection.overdue_seconds(), self._actuator.writers.overdue_seconds())
        overdue = 0.0 if shortest is None else calls / shortest.total_seconds()
        return max(self.shard.overdue_periods(), overdue) >= _HANGS_AFTER_PERIODS

    def is_current(self) -> bool:
        """Return whether it may write and record, as far as this process knows."""
        return self._ledger.is_current()

    def overdue_seconds(self) -> float:
        """Return the seconds that its longest hanging call is past its deadline; 0 if none hangs."""
        return max(
            self.shard.overdue_seconds(), self._connection.overdue_seconds(), self._actuator.writers.overdue_seconds()
        )

    def ended(self) -> bool:
        """Return whether no thread is running a cycle or a call of it."""
        return not (self.shard.running() or self._connection.calling() or self._actuator.writers.writing())

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
        ports = Ports(observer, self._ledger, self._actuator, self._drainer, self._clock)
        if self._leadership is not None:
            ports.lease_seconds = self._leadership.seconds_left
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
