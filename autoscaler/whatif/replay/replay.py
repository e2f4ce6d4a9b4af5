"""Runs the decision pipeline of a candidate over a past, one cycle after another.

Pure: the same cycles give the same decisions. Nothing is read or written.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from msgspec.structs import replace

from autoscaler.decide import conclude, decide, remember
from autoscaler.decide.brakes import with_own_write
from autoscaler.decide.connection_limits import apply_limits
from autoscaler.decide.deployments import with_own_size
from autoscaler.decide.remember import with_events
from autoscaler.decide.shadow import unknown_backlogs, without_shadow
from autoscaler.model import (
    Autoscaler,
    ConnectionLimits,
    Decision,
    History,
    Observation,
    Outcome,
    OwnSize,
    Proposed,
    Removal,
    ScaleEvent,
    Standing,
    Steering,
    TargetState,
    later,
)
from autoscaler.text import count
from autoscaler.whatif.past.past import Cycle, Finding, FindingKind, Replayed
from autoscaler.whatif.replay.fitting import Fitting

_NO_LIMITS: Final = ConnectionLimits()


class Load(StrEnum):
    """Which load a candidate has."""

    RECORDED = "recorded"
    """Each cycle is decided at the recorded size, from what was observed then."""
    CONSERVED = "conserved"
    """The total load stays and is spread over the instances that the candidate would have had."""


@dataclasses.dataclass(frozen=True, slots=True)
class Candidate:
    """A configuration to try."""

    label: str
    scaler: Autoscaler
    load: Load = Load.CONSERVED
    start_up: timedelta | None = None
    """How long an instance takes to be ready until one was observed; None: as configured. Only for CONSERVED."""
    limits: ConnectionLimits = _NO_LIMITS
    """Of the candidate's connection. They apply to its own use alone: that of its neighbours is unknown. Only for
    CONSERVED."""


def replay(cycles: Iterable[Cycle], candidate: Candidate) -> Iterator[Replayed]:
    """Decide cycles as the candidate would have; those between two cycles of a longer sync period are left out."""
    made = Replay(candidate)
    return (replayed for cycle in cycles if (replayed := made.step(cycle)) is not None)


class Replay:
    """Runs one candidate through a past."""

    def __init__(self, candidate: Candidate) -> None:
        self._is_recorded: Final = candidate.load is Load.RECORDED
        self._limits: Final = _NO_LIMITS if self._is_recorded else candidate.limits
        self._scaler: Final = _without_shadow(candidate.scaler) if self._is_recorded else _with_shadow(candidate)
        self._fitting: Final = Fitting(candidate.scaler)
        self._removals: tuple[Removal, ...] = ()
        """The candidate's own, within the period of the removal budget."""
        self._history: History | None = None
        self._before: Cycle | None = None
        """The cycle before, even if it was left out."""
        self._decided: Decision | None = None
        self._missing: Final = list[Finding]()
        self._guesses: Final = dict[tuple[str, bool], _Guess]()
        """For each backlog, by its metric and whether its service rate is known."""

    @property
    def findings(self) -> Sequence[Finding]:
        """About the cycles so far."""
        return [*self._missing, *[each.finding for each in self._guesses.values()]]

    def step(self, cycle: Cycle) -> Replayed | None:
        """Decide a cycle; None if it is between two cycles of the candidate."""
        history = self._follow(cycle)
        if not self._is_due(cycle):
            self._history, self._before = history, cycle
            return None
        self._add_missing(cycle)
        observed = self._fitting.fit(cycle)
        made = self._limited(decide(self._scaler, observed, history, cycle.at), history)
        if made.change is not None:
            made = conclude(made, self._outcome(made, cycle))
        self._add_guesses(made, observed)
        self._history, self._before, self._decided = remember(self._scaler, history, made), cycle, made
        return Replayed(cycle, made, self._scaler, observed, history)

    def _limited(self, made: Decision, history: History) -> Decision:
        """The decision within the limits of the connection."""
        if self._limits == _NO_LIMITS:
            return made
        standing = Standing(self._scaler.target.adapter, self._limits, self._removals)
        live = replace(made, current=made.shadow, shadow=None, dry_run=False)  # limits apply to targets, not shadows
        (limited,) = apply_limits([live], {made.name: history}, standing, made.now).decisions
        limited = replace(limited, current=made.current, shadow=made.shadow, dry_run=made.dry_run)
        change = limited.change
        if change is not None and change.size < change.decided_from:
            self._removals = (*self._removals, Removal(made.name, made.now, change.decided_from - change.size))
        if self._limits.removal_budget is not None:
            oldest = made.now - self._limits.removal_budget.period
            self._removals = tuple([each for each in self._removals if each.at > oldest])
        return limited

    def _is_due(self, cycle: Cycle) -> bool:
        """Whether no later cycle is nearer to the time at which the candidate decides next."""
        if self._decided is None or self._before is None:
            return True
        return cycle.at + (cycle.at - self._before.at) / 2 >= self._decided.now + self._scaler.sync_period

    def _follow(self, cycle: Cycle) -> History:
        """The candidate's memory, with steps of the clock, pauses, overrides, and sizes that others wrote."""
        recorded, before = cycle.history, self._before
        history = self._history
        if history is None:  # a candidate begins with the daemon's memory, as after a reload
            history = History() if recorded is None else replace(without_shadow(recorded), unfinished=None)
        elif before is not None:
            step = timedelta(0)
            if recorded is not None and recorded.at is not None and before.history is not None:
                step = recorded.at - before.at
            if step:
                history = later(history, step)
                self._removals = tuple([replace(each, at=each.at + step) for each in self._removals])
                if self._decided is not None:
                    self._decided = replace(self._decided, now=self._decided.now + step)
            if self._is_recorded:
                history = self._with_recorded_change(history, before, cycle)
        return replace(history, steering=Steering() if recorded is None else recorded.steering)

    def _with_recorded_change(self, history: History, before: Cycle, cycle: Cycle) -> History:
        """The memory with a change of the recorded size, which counts for policies even if something else wrote it."""
        was, now = before.observation.target, cycle.observation.target
        if not isinstance(was, TargetState) or not isinstance(now, TargetState) or was.replicas == now.replicas:
            return history
        own = self._decided
        if own is not None and own.now == before.at and own.written == now.replicas:
            return history  # the candidate decided it, and remembers it
        if before.decision is None or before.decision.written == now.replicas:  # the daemon wrote it, not an operator
            brakes = with_own_write(history.brakes, OwnSize(now.replicas, before.at, answered=True))
            history = replace(history, brakes=brakes, deployments=with_own_size(history.deployments, now.replicas))
        behavior = self._scaler.behavior
        if behavior is None:
            return history
        event = ScaleEvent(abs(now.replicas - was.replicas), before.at)
        if now.replicas > was.replicas:
            return replace(history, scale_ups=with_events(history.scale_ups, [event], behavior.scale_up))
        return replace(history, scale_downs=with_events(history.scale_downs, [event], behavior.scale_down))

    def _outcome(self, made: Decision, cycle: Cycle) -> Outcome | None:
        """The outcome of a change: that of the daemon's change if it was the same, else a proposal."""
        change, own = made.change, cycle.decision
        if change is None:
            return None
        if not self._is_recorded or own is None or own.change is None or own.outcome is None:
            return Proposed(change.size)
        same = (own.change.size, own.change.decided_from) == (change.size, change.decided_from)
        return own.outcome if same else Proposed(change.size)

    def _add_missing(self, cycle: Cycle) -> None:
        if self._before is not None and self._before.scaler is cycle.scaler:
            return
        for spec in self._fitting.missing(cycle.scaler):
            message = f"{spec.type} metric {spec.name}: its query was not asked for then, so it has no value"
            self._missing.append(Finding(cycle.at, cycle.at, FindingKind.UNKNOWN, message))

    def _add_guesses(self, made: Decision, observed: Observation) -> None:
        """Remember the queues whose length under the candidate is a guess."""
        shadow, state = made.shadow_memory, observed.target
        if shadow is None or not shadow.backlogs or not isinstance(state, TargetState):
            return
        for each in unknown_backlogs(self._scaler, state, shadow, shadow.ready(made.now)):
            guess = self._guesses.setdefault((each.metric, each.has_rate), _Guess(made.now, each.message))
            guess.end, guess.cycles = made.now, guess.cycles + 1


@dataclasses.dataclass(slots=True)
class _Guess:
    """Cycles whose decisions rest on a guess; other cycles may lie between them."""

    begin: datetime
    message: str
    """Of the first of them."""
    cycles: int = 0
    end: datetime | None = None

    @property
    def finding(self) -> Finding:
        message = f"in {count(self.cycles, 'cycle')}: {self.message}"
        return Finding(self.begin, self.end or self.begin, FindingKind.UNKNOWN, message)


def _without_shadow(scaler: Autoscaler) -> Autoscaler:
    """The configuration, which decides at the recorded size even as a dry run."""
    return dataclasses.replace(scaler, options=dataclasses.replace(scaler.options, shadow=False))


def _with_shadow(candidate: Candidate) -> Autoscaler:
    """The configuration as a dry run whose shadow follows its decisions; nothing is written."""
    scaler, options = candidate.scaler, dataclasses.replace(candidate.scaler.options, shadow=True)
    if candidate.start_up is not None:
        options = dataclasses.replace(options, start_up=candidate.start_up)
    return dataclasses.replace(scaler, dry_run=True, options=options)
