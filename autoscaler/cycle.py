"""One reconcile cycle, on one screen. Each stage takes frozen values and returns frozen values.

An autoscaler that fails in a stage is left out of the later stages. The others continue.
"""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from msgspec.structs import replace

from autoscaler.act.actuator import Actuator
from autoscaler.clock import Clock
from autoscaler.decide import apply_outcome, decide
from autoscaler.drain.drainer import Drainer
from autoscaler.isolation import each, without
from autoscaler.limits.connection_limits import apply_limits
from autoscaler.model import Autoscaler, Call, Decision, Observed, Outcome, ShardName, TargetRef
from autoscaler.observe.observer import Observer
from autoscaler.record.ledger import Ledger

_NO_SHARD: Final = ShardName("")


@dataclass(frozen=True, slots=True)
class CycleResult:
    """The result of one cycle."""

    decisions: Sequence[Decision] = ()
    """Concluded and recorded, in the order of the autoscalers."""
    broken: Mapping[str, Exception] = field(default_factory=dict)
    """Autoscaler's name -> the exception that left it without a decision."""
    unrecorded: Mapping[str, Outcome] = field(default_factory=dict)
    """Outcomes of those autoscalers' writes that are not recorded."""
    removals_left: int | None = None
    """Instances that the removal budget still allows; None without a budget."""
    total: int | None = None
    """Sum of the sizes of the connection's autoscalers; None without `maxTotal`."""
    observing_seconds: float = 0.0
    """Time until every metric and target was read."""
    shard: ShardName = _NO_SHARD
    """The shard of the cycle. The shard sets this and the following fields."""
    late_seconds: float = 0.0
    """Time from when the cycle was due to its start."""
    seconds: float = 0.0
    """Time from its start to its end."""


@dataclass(slots=True)
class Ports:
    """What the cycles of one shard use. Mappings have the autoscaler's name as key."""

    observer: Observer
    ledger: Ledger
    actuator: Actuator
    drainer: Drainer
    clock: Clock
    lease_seconds: Callable[[], float] = lambda: math.inf
    """Returns the seconds until the lease ends, after which another daemon may write; without a lease it never ends."""

    def observe(self, scalers: Sequence[Autoscaler], call: Call) -> Observed:
        """Claim what the shard scales and read its memory, then observe. A failure is a value in an observation.

        Raises StateError if sightings cannot be read, and LateError if the observation is too old.
        """
        if call.moment is not None:
            self.ledger.follow_clock(call.moment)
        self.ledger.claim()
        known = self.ledger.sightings({scaler.target for scaler in scalers})
        observed = self.observer.observe(scalers, call, known, self._civil_ahead(scalers))
        return self._with_reports(scalers, observed)

    def act(self, decisions: Sequence[Decision], call: Call, busy: frozenset[TargetRef]) -> Mapping[str, Outcome]:
        """Write, or propose in a dry run, until the deadline or the end of the lease. `busy`: as for `Actuator.act`.

        Returns an outcome for each change.
        """
        deadline = min(call.deadline, self.clock.monotonic() + self.lease_seconds())
        return self.actuator.act(decisions, dataclasses.replace(call, deadline=deadline), busy)

    def drain(self, scalers: Mapping[str, Autoscaler], observed: Observed, decisions: Sequence[Decision]) -> None:
        """Let the drains that these recorded decisions have under way begin or go on, outside of the cycle.

        Drains of targets that another shard serves stop.
        """
        self.drainer.drop({scaler.target for name, scaler in scalers.items() if name in self.ledger.unheld})
        self.drainer.follow(scalers, observed, decisions)

    def _with_reports(self, scalers: Sequence[Autoscaler], observed: Observed) -> Observed:
        """Return the observation with the present state of the targets' drains."""
        reports = {scaler.name: self.drainer.reports(scaler.target) for scaler in scalers}
        seen = observed.observations
        told = {name: replace(seen[name], drains=found) for name, found in reports.items() if found}
        return replace(observed, observations={**seen, **told}) if told else observed

    def _civil_ahead(self, scalers: Sequence[Autoscaler]) -> timedelta:
        """Return by how much the database's clock is ahead of this host's, in whole seconds; 0 on SQLite.

        A leader then opens and closes schedules when its predecessor would have.
        """
        if not any(rule.by_calendar for scaler in scalers for rule in scaler.rules):
            return timedelta(0)
        civil = self.ledger.database_time()
        return timedelta(0) if civil is None else timedelta(seconds=int((civil - self.clock.now()).total_seconds()))


def reconcile(scalers: Sequence[Autoscaler], call: Call, ports: Ports) -> CycleResult:
    """Run one cycle. Raises StateError, and what a port raises for the whole batch."""
    broken, by_name = dict[str, Exception](), {scaler.name: scaler for scaler in scalers}
    observed = ports.observe(scalers, call)
    history = ports.ledger.recall(scalers)
    seen = observed.observations
    decisions = each(scalers, lambda one: decide(one, seen[one.name], history[one.name], call.now), broken)
    # asked before the intents, which would replace those of writes that can still arrive
    busy = ports.actuator.writers.busy()
    # the connection's limits apply to all decisions together
    limited = apply_limits(decisions, history, ports.ledger.standing(call.now, busy), call.now)
    broken |= ports.ledger.intend(limited.decisions, busy)  # committed before the first write
    intended = without(limited.decisions, broken)
    outcomes = ports.act(intended, call, busy)
    concluded = each(intended, lambda made: apply_outcome(made, outcomes.get(made.name)), broken)
    broken |= ports.ledger.record(by_name, observed, concluded)
    recorded = without(concluded, broken)
    ports.drain(by_name, observed, recorded)
    ports.actuator.announce(recorded, call)
    unrecorded = {name: outcomes[name] for name in broken if name in outcomes}
    return CycleResult(recorded, broken, unrecorded, limited.removals_left, limited.total, observed.seconds)
