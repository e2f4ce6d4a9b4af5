"""Runs the decision pipeline of a candidate over a past, one cycle after another.

Pure: the same cycles give the same decisions. Nothing is read or written.
"""

import dataclasses
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from msgspec.structs import replace

from autoscaler.decide import apply_outcome, decide, remember
from autoscaler.limits.connection_limits import apply_limits
from autoscaler.model import (
    Autoscaler,
    ConditionType,
    ConnectionLimits,
    Decision,
    History,
    LimitUsage,
    ManualControls,
    Memories,
    Removal,
    Rules,
    TargetState,
    Written,
    later,
)
from autoscaler.rules import RULES, plan_of
from autoscaler.whatif.past.past import Cycle, Finding, FindingKind, Replayed
from autoscaler.whatif.replay.conserved import observation_of_fleet
from autoscaler.whatif.replay.fitting import Fitting
from autoscaler.whatif.replay.fleet import Fleet

_NO_LIMITS: Final = ConnectionLimits()


@dataclasses.dataclass(frozen=True, slots=True)
class Candidate:
    """A configuration to try."""

    label: str
    scaler: Autoscaler | None
    """None: what was configured in each cycle."""
    limits: ConnectionLimits = _NO_LIMITS
    """Of the candidate's connection. They apply to its own use alone: that of its neighbours is unknown."""


class Replay:
    """Runs one candidate through a past. Its instances take the load that the target's had."""

    def __init__(self, candidate: Candidate, start_up: timedelta) -> None:
        """`start_up`: how long an instance takes to become ready."""
        self._limits: Final = candidate.limits
        self._start_up: Final = start_up
        self._follows: Final = candidate.scaler is None
        self._configured: Autoscaler | None = None
        """As it was given, of which the next two are made."""
        self._scaler: Autoscaler | None = None
        self._fitting: Fitting | None = None
        if candidate.scaler is not None:
            self._take(candidate.scaler)
        self._fleet: Fleet | None = None
        """None: the target was not read yet."""
        self._removals: tuple[Removal, ...] = ()
        """The candidate's own, within the period of the removal budget."""
        self._history: History | None = None
        self._before: Cycle | None = None
        """The cycle before, even if it was left out."""
        self._decided: Decision | None = None
        self._missing: Final = list[Finding]()

    @property
    def findings(self) -> Sequence[Finding]:
        """About the cycles so far."""
        return self._missing

    def step(self, cycle: Cycle) -> Replayed | None:
        """Decide a cycle; None if it is between two cycles of the candidate."""
        if self._follows and cycle.scaler is not self._configured:
            self._take(cycle.scaler)
        scaler, fitting = self._scaler, self._fitting
        if scaler is None or fitting is None:
            return None
        history = self._follow(cycle)
        if not self._is_due(cycle, scaler):
            self._history, self._before = history, cycle
            return None
        self._add_missing(cycle, fitting)
        observed, ready = fitting.fit(cycle), None
        state = observed.target
        if isinstance(state, TargetState):
            self._fleet = self._fleet_now(scaler, state, history, cycle)
            observed = observation_of_fleet(scaler, observed, state, self._fleet, self._start_up, cycle.at)
            ready = None if state.ready is None else self._fleet.ready(cycle.at)
        made = self._limited(decide(scaler, observed, history, cycle.at), history)
        if self._fleet is not None and made.change is not None:
            size = made.change.size
            made = apply_outcome(made, Written(size))
            self._fleet = self._fleet.resized(size, cycle.at, self._start_up)
            ready = None if ready is None else min(ready, size)  # what it adds is seen later, as in a record
        self._history, self._before, self._decided = remember(scaler, history, made), cycle, made
        return Replayed(cycle, made, scaler.sync_period, ready)

    def _take(self, scaler: Autoscaler) -> None:
        """Decide with this configuration from now on."""
        self._configured, self._scaler, self._fitting = scaler, _simulated(scaler), Fitting(scaler)

    def _fleet_now(self, scaler: Autoscaler, state: TargetState, history: History, cycle: Cycle) -> Fleet:
        """The fleet at the beginning of a cycle. It starts as large as the target, with all its instances ready."""
        fleet = self._fleet
        if fleet is None or (fleet.size == 0 < state.replicas and not _is_own_zero(history)):
            return Fleet(state.replicas)  # an operator ended a size of 0 that no autoscaler leaves
        return fleet.without_old(scaler, state, cycle.at)

    def _limited(self, made: Decision, history: History) -> Decision:
        """The decision within the limits of the connection."""
        if self._limits == _NO_LIMITS:
            return made
        standing = LimitUsage(made.target.adapter, self._limits, self._removals)
        (limited,) = apply_limits([made], {made.name: history}, standing, made.now).decisions
        change = limited.change
        if change is not None and change.size < change.decided_from:
            self._removals = (*self._removals, Removal(made.name, made.now, change.decided_from - change.size))
        if self._limits.removal_budget is not None:
            oldest = made.now - self._limits.removal_budget.period
            self._removals = tuple([each for each in self._removals if each.at > oldest])
        return limited

    def _is_due(self, cycle: Cycle, scaler: Autoscaler) -> bool:
        """Whether no later cycle is nearer to the time at which the candidate decides next.

        One that decides as often as what ran decides in every cycle: a cycle that came early was decided then, too.
        """
        if self._decided is None or self._before is None or scaler.sync_period <= cycle.scaler.sync_period:
            return True
        return cycle.at + (cycle.at - self._before.at) / 2 >= self._decided.now + scaler.sync_period

    def _follow(self, cycle: Cycle) -> History:
        """The candidate's memory, with steps of the clock, pauses and overrides."""
        recorded, before = cycle.history, self._before
        history = self._history
        if history is None:  # a candidate begins with the daemon's memory, as after a reload
            known = History() if recorded is None else recorded
            followers = {kind.name for kind in RULES if kind.follows_target}
            memories = {name: each for name, each in known.rules.of.items() if name not in followers}
            history = replace(known, pending=None, rules=Memories(memories))
        elif before is not None:
            step = timedelta(0)
            if recorded is not None and recorded.at is not None and before.history is not None:
                step = recorded.at - before.at
            if step:
                history = later(history, step)
                self._removals = tuple([replace(each, at=each.at + step) for each in self._removals])
                if self._decided is not None:
                    self._decided = replace(self._decided, now=self._decided.now + step)
        return replace(history, manual=ManualControls() if recorded is None else recorded.manual)

    def _add_missing(self, cycle: Cycle, fitting: Fitting) -> None:
        if self._before is not None and self._before.scaler is cycle.scaler:
            return
        for spec in fitting.missing(cycle.scaler):
            message = f"{spec.type} metric {spec.name}: its query was not asked for then, so it has no value"
            self._missing.append(Finding(cycle.at, cycle.at, FindingKind.UNKNOWN, message))


def _simulated(scaler: Autoscaler) -> Autoscaler:
    """The configuration as if every decision had been written at once: nothing else sets a size, and nothing drains."""
    rules = [each.simulated() for each in plan_of(scaler.rules).rules]
    return dataclasses.replace(scaler, dry_run=False, rules=Rules([each for each in rules if each is not None]))


def _is_own_zero(history: History) -> bool:
    return any(each.status for each in history.hpa.conditions if each.type == ConditionType.SCALED_TO_ZERO)
