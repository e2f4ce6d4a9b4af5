"""One shard that runs: its adapter, its ledger, and what its cycles work with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Final

from autoscaler.act import Actuator
from autoscaler.clock import Clock
from autoscaler.logger import Logger
from autoscaler.metrics import Metrics, metered
from autoscaler.model import (
    Autoscaler,
    Call,
    ConnectionLimits,
    Decision,
    History,
    Observed,
    Outcome,
    ShardName,
    Standing,
    TargetRef,
)
from autoscaler.observe import Connect, Connection, Gates, Observer, Prometheus, Queries
from autoscaler.record import Ledger
from autoscaler.runtime.building import Built
from autoscaler.runtime.membership import Membership
from autoscaler.runtime.wanted import Wanted
from autoscaler.schedule import Shard, Work
from autoscaler.target import canonical, load

_HANGS_AFTER_PERIODS: Final = 3
"""How far past its deadline a shard is superseded."""


@dataclass(frozen=True, slots=True)
class Ports:
    """`cycle.Ports` of one shard."""

    observer: Observer
    ledger: Ledger
    actuator: Actuator
    clock: Clock
    membership: Membership | None = None
    """None: the daemon has the state for itself."""

    def observe(self, scalers: Sequence[Autoscaler], call: Call) -> Observed:
        """With what is known of the targets' instances, as old as it is by now. What is scaled is claimed before."""
        call = self._divided(call)
        if call.moment is not None:
            self.ledger.follow_clock(call.moment)
        self.ledger.claim()
        self.ledger.load()
        known = self.ledger.sightings({scaler.target for scaler in scalers})
        return self.observer.observe(scalers, call, known)

    def recall(self, scalers: Sequence[Autoscaler]) -> Mapping[str, History]:
        """From the ledger."""
        return self.ledger.recall(scalers)

    def standing(self, now: datetime) -> Standing:
        """From the ledger, with the targets to which an earlier write is under way."""
        return self.ledger.standing(now, self.actuator.begin())

    def intend(self, decisions: Sequence[Decision]) -> Mapping[str, Exception]:
        """Into the ledger."""
        return self.ledger.intend(decisions, self.actuator.busy)

    def act(self, decisions: Sequence[Decision], call: Call) -> Mapping[str, Outcome]:
        """Through the adapter, before the lease ends."""
        call = self._divided(call)
        if self.membership is not None:  # a successor may write from then on
            left = self.clock.monotonic() + self.membership.seconds_left()
            call = replace(call, deadline=min(call.deadline, left))
        return self.actuator.act(decisions, call)

    def record(
        self, scalers: Sequence[Autoscaler], observed: Observed, decisions: Sequence[Decision]
    ) -> Mapping[str, Exception]:
        """Into the ledger."""
        return self.ledger.record({scaler.name: scaler for scaler in scalers}, observed, decisions)

    def announce(self, decisions: Sequence[Decision], call: Call) -> None:
        """Through the adapter."""
        self.actuator.announce(decisions, self._divided(call))

    def _divided(self, call: Call) -> Call:
        """With how many daemons there are."""
        return call if self.membership is None else replace(call, members=self.membership.members)


class Connected:
    """A shard in the one epoch of its ledger. Used from the main thread; the shard's own works with `Work` alone."""

    def __init__(
        self,
        wanted: Wanted,
        built: Built,
        ledger: Ledger,
        shard: Shard,
        clock: Clock,
        logger: Logger,
        metrics: Metrics,
        gates: Gates,
        membership: Membership | None = None,
        connect: Connect = Prometheus,
    ) -> None:
        """`shard` has no work yet, and is given its first. `gates`: the sources', of the whole daemon.

        `membership`: this daemon's among those that share the state; None: it has it for itself. `connect`: makes the
        client of a source.
        """
        name = shard.name.adapter
        adapter = metered(name, built.adapter, metrics, clock)
        built.memory.ledger = ledger
        self.adapter: Final = built.adapter
        self.shard: Final = shard
        self.wanted = wanted
        self._membership = membership
        self._clock = clock
        self._logger = logger
        self._metrics = metrics
        self._gates = gates
        self._connect = connect
        self.queries: Final = Queries()
        self._ledger = ledger
        self._connection = Connection(name, adapter, clock, logger, wanted.adapter.section.type)
        self._actuator = Actuator(adapter, clock, logger, ledger.is_current, shard.name.of)
        self._observer = self._observing()
        shard.assign(self._work())

    @property
    def name(self) -> ShardName:
        """The shard's."""
        return self.shard.name

    @property
    def member(self) -> str | None:
        """As which member its daemon held the shard when this began; None: the daemon has the state for itself."""
        return self._ledger.member

    def follow(self, wanted: Wanted) -> bool:
        """From its next cycle on it serves this, with the adapter that it has. Returns whether that is something else.

        The cycle that is running goes on with what it has; what has not changed is kept: the ledger, and where the
        sources are the same, the connections to them.
        """
        before, self.wanted = self.wanted, wanted
        if wanted == before:
            return False
        if wanted.sources != before.sources:
            self._observer = self._observing()
        self.shard.assign(self._work())
        return True

    def stuck(self) -> bool:
        """Whether its shard, or its adapter in a thread of its own, hangs too long to be waited for; retired or not."""
        shortest = min([scaler.sync_period for scaler in self.wanted.scalers], default=None)
        calls = max(self._connection.overdue_seconds(), self._actuator.overdue_seconds())
        overdue = 0.0 if shortest is None else calls / shortest.total_seconds()
        return max(self.shard.overdue_periods(), overdue) >= _HANGS_AFTER_PERIODS

    def overdue_seconds(self) -> float:
        """How far past its deadline is what hangs longest; 0: nothing does."""
        return max(self.shard.overdue_seconds(), self._connection.overdue_seconds(), self._actuator.overdue_seconds())

    def ended(self) -> bool:
        """Whether no thread is in it any more."""
        return not (self.shard.running() or self._connection.calling() or self._actuator.writing())

    def end(self) -> None:
        """Let go of what its cycles worked with. For whoever retired the shard, when it has ended."""
        self.shard.end()
        self._ledger.end()
        self._observer.close()

    def _observing(self) -> Observer:
        connections = {self.name.adapter: self._connection}
        return Observer(
            self.wanted.sources,
            connections,
            self._clock,
            self._logger,
            self._metrics,
            queries=self.queries,
            gates=self._gates,
            connect=self._connect,
        )

    def _work(self) -> Work:
        scalers, observer = self.wanted.scalers, self._observer
        ports = Ports(observer, self._ledger, self._actuator, self._clock, self._membership)
        begin = partial(self._begin, tuple(scalers), self.wanted.limits)
        return Work.of(scalers, ports, begin, partial(self._close_replaced, observer))

    def _begin(self, scalers: Sequence[Autoscaler], limits: ConnectionLimits) -> None:
        """These are the shard's from now on. On its own thread."""
        self._ledger.follow(scalers, limits, {scaler.name: self._canonical(scaler.target) for scaler in scalers})
        self._connection.follow({scaler.target for scaler in scalers})
        self.queries.follow(scalers)

    def _canonical(self, target: TargetRef) -> TargetRef:
        section = self.wanted.adapter.section
        try:
            return canonical(load(section.type), target, section.settings)
        except Exception:  # noqa: BLE001 - foreign code; it did not raise when the configuration was checked
            return target

    def _close_replaced(self, observer: Observer) -> None:
        if observer is not self._observer:
            observer.close()
