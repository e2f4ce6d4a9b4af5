"""The decision pipeline over the past, a cycle at a time: as the daemon ran, or as a candidate would have.

Pure: the same moments give the same decisions. Nothing is read and nothing is written here.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, NamedTuple

from msgspec.structs import replace

from autoscaler.decide import conclude, decide, remember
from autoscaler.decide.brakes import with_own_write
from autoscaler.decide.connection_limits import apply_limits
from autoscaler.decide.remember import with_events
from autoscaler.decide.shadow import unknown_backlogs, without_shadow
from autoscaler.model import (
    Autoscaler,
    Behavior,
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
from autoscaler.whatif.past.past import Finding, FindingKind, Moment
from autoscaler.whatif.replay.fitting import Fitting
from autoscaler.whatif.replay.own import Repeated

NO_LIMITS: Final = ConnectionLimits()
"""Of a connection without any."""


class Load(StrEnum):
    """What the load would have been, had the size been another one."""

    RECORDED = "recorded"
    """What was seen, whatever the candidate decides: the size is the one that was seen, too."""
    CONSERVED = "conserved"
    """The whole load stays what it was and is spread over the instances that the candidate would have had."""


class Replayed(NamedTuple):
    """One cycle decided again."""

    moment: Moment
    decision: Decision
    """Concluded."""
    scaler: Autoscaler
    """As it was decided by: a candidate is a dry run with a shadow under CONSERVED, and has none under RECORDED."""
    observation: Observation
    """What it was made from; the moment's own, but for the order of the readings."""
    history: History
    """What was remembered before it."""


class Replay:
    """Decides one moment after another. One for each candidate; several can be led through one past together."""

    def __init__(
        self,
        scaler: Autoscaler | None,
        load: Load,
        start_up: timedelta | None = None,
        limits: ConnectionLimits = NO_LIMITS,
    ) -> None:
        """As `replay`."""
        if scaler is None and load is not Load.RECORDED:
            raise ValueError("the daemon's own decisions are of the recorded load")
        self._candidate = _Candidate(scaler, load, start_up, limits) if scaler is not None else None
        self._repeated: Final = Repeated()

    @property
    def findings(self) -> Sequence[Finding]:
        """What is to be known of what was replayed so far, in order of time."""
        return self._repeated.findings if self._candidate is None else self._candidate.findings

    @property
    def same(self) -> int:
        """Of the daemon's own decisions, how many were the same again, bit for bit."""
        return self._repeated.same

    @property
    def compared(self) -> int:
        """Of how many."""
        return self._repeated.compared

    def step(self, moment: Moment) -> Replayed | None:
        """The moment decided; None: it is between two cycles of the candidate, or has nothing to decide by."""
        if self._candidate is not None:
            return self._candidate.step(moment)
        again = self._repeated.step(moment)
        if again is None or moment.scaler is None:
            return None
        return Replayed(moment, again.decision, moment.scaler, moment.observation, again.history)


def replay(
    moments: Iterable[Moment],
    scaler: Autoscaler | None,
    load: Load,
    start_up: timedelta | None = None,
    limits: ConnectionLimits = NO_LIMITS,
) -> Iterator[Replayed]:
    """Each moment decided again, in order.

    `scaler`: the candidate; None: the one of each moment, as it was configured then, with its recorded outcome (only
    with RECORDED: the daemon's own decisions). `start_up`: how long an instance takes from being asked for until it is
    ready, before any was seen to; None: as the candidate is configured. `limits`: of the candidate's connection, which
    cut it as if the connection's other autoscalers used nothing of them: that is not known here. Both: CONSERVED alone.
    """
    again = Replay(scaler, load, start_up, limits)
    for moment in moments:
        replayed = again.step(moment)
        if replayed is not None:
            yield replayed


def found_at(replayed: Iterable[Replayed], at: datetime) -> Replayed | None:
    """The cycle of exactly this time; None: there is none."""
    return next((each for each in replayed if each.moment.at == at), None)


class _Candidate:
    """A configuration led through the past of another one."""

    def __init__(self, scaler: Autoscaler, load: Load, start_up: timedelta | None, limits: ConnectionLimits) -> None:
        self._load: Final = load
        self._limits: Final = limits
        self._removals: tuple[Removal, ...] = ()
        """Its own, within the removal budget's period."""
        self._scaler: Final = _shadowing(scaler, start_up) if load is Load.CONSERVED else _without_shadow(scaler)
        self._fitting: Final = Fitting(scaler)
        self._history: History | None = None
        self._before: Moment | None = None
        """The moment before this one, whether it was decided or not."""
        self._decided: Decision | None = None
        self._missing: Final = list[Finding]()
        self._unknown: Final = dict[tuple[str, bool], _Unknown]()
        """Backlogs: the metric, and whether its service rate was known."""

    @property
    def findings(self) -> Sequence[Finding]:
        """Of what was replayed so far."""
        return [*self._missing, *[each.finding for each in self._unknown.values()]]

    def step(self, moment: Moment) -> Replayed | None:
        history = self._follow(moment)
        if not self._is_due(moment):
            self._history, self._before = history, moment
            return None
        observed = moment.observation
        if moment.scaler is not None:
            self._tell_missing(moment.scaler, moment.at)
            observed = self._fitting.fit(moment.scaler, observed)
        made = self._within_limits(decide(self._scaler, observed, history, moment.at), history)
        if made.change is not None:
            made = conclude(made, self._outcome(made, moment))
        self._tell_unknown(made, observed)
        self._history, self._before, self._decided = remember(self._scaler, history, made), moment, made
        return Replayed(moment, made, self._scaler, observed, history)

    def _within_limits(self, made: Decision, history: History) -> Decision:
        """As far as its connection's limits allow."""
        if self._load is not Load.CONSERVED or self._limits == NO_LIMITS:
            return made
        standing = Standing(self._scaler.target.adapter, self._limits, self._removals)
        live = replace(made, current=made.shadow, shadow=None, dry_run=False)  # its shadow in its target's place
        (cut,) = apply_limits([live], {made.name: history}, standing, made.now).decisions
        cut = replace(cut, current=made.current, shadow=made.shadow, dry_run=made.dry_run)
        if cut.change is not None and cut.change.size < cut.change.decided_from:
            removal = Removal(made.name, made.now, cut.change.decided_from - cut.change.size)
            self._removals = (*self._removals, removal)
        if self._removals and self._limits.removal_budget is not None:
            oldest = made.now - self._limits.removal_budget.period
            self._removals = tuple([each for each in self._removals if each.at > oldest])
        return cut

    def _is_due(self, moment: Moment) -> bool:
        """Whether no later moment is nearer to the candidate's next cycle."""
        if self._decided is None or self._before is None:
            return True
        return moment.at + (moment.at - self._before.at) / 2 >= self._decided.now + self._scaler.sync_period

    def _follow(self, moment: Moment) -> History:
        """What is remembered before this moment: with it go the clock, operators, and sizes that others wrote."""
        recorded, before = moment.history, self._before
        history = self._history
        if history is None:  # what the daemon remembered stays remembered, as it does when it is configured anew
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
            if self._load is Load.RECORDED:
                history = self._with_seen(history, before, moment)
        return replace(history, steering=Steering() if recorded is None else recorded.steering)

    def _with_seen(self, history: History, before: Moment, moment: Moment) -> History:
        """The history with a change of the size that was seen: policies count it, whatever wrote it."""
        was, now = before.observation.target, moment.observation.target
        if not isinstance(was, TargetState) or not isinstance(now, TargetState) or was.replicas == now.replicas:
            return history
        own = self._decided
        if own is not None and own.now == before.at and own.written == now.replicas:
            return history  # its own, remembered already
        if before.decision is None or before.decision.written == now.replicas:  # not an operator's
            memory = with_own_write(history.brakes, OwnSize(now.replicas, before.at, answered=True))
            history = replace(history, brakes=memory)
        if self._scaler.behavior is None:
            return history
        event, behavior = ScaleEvent(abs(now.replicas - was.replicas), before.at), self._scaler.behavior or Behavior()
        if now.replicas > was.replicas:
            return replace(history, scale_ups=with_events(history.scale_ups, [event], behavior.scale_up))
        return replace(history, scale_downs=with_events(history.scale_downs, [event], behavior.scale_down))

    def _outcome(self, made: Decision, moment: Moment) -> Outcome | None:
        """What became of a change: what the daemon's own did, where it was the same; else nothing was written."""
        change, own = made.change, moment.decision
        if change is None:
            return None
        if self._load is Load.RECORDED and own is not None and own.change is not None:
            same = (own.change.size, own.change.decided_from) == (change.size, change.decided_from)
            if same and own.outcome is not None:
                return own.outcome
        return Proposed(change.size)

    def _tell_missing(self, recorded: Autoscaler, at: datetime) -> None:
        known = self._before.scaler if self._before is not None else None
        if known is recorded:
            return
        for spec in self._fitting.missing(recorded):
            message = f"{spec.type} metric {spec.name}: its query was not asked for then, so it has no value"
            self._missing.append(Finding(at, at, FindingKind.UNKNOWN, message))

    def _tell_unknown(self, made: Decision, observed: Observation) -> None:
        """A queue of unknown length: the sizes and figures of these cycles rest on a guess."""
        shadow, state = made.shadow_memory, observed.target
        if shadow is None or not shadow.backlogs or not isinstance(state, TargetState):
            return
        for each in unknown_backlogs(self._scaler, state, shadow, shadow.ready(made.now)):
            known = self._unknown.setdefault((each.metric, each.has_rate), _Unknown(made.now, each.message))
            known.end, known.cycles = made.now, known.cycles + 1


@dataclasses.dataclass(slots=True)
class _Unknown:
    """What was not known in one cycle or more, of which others may lie between."""

    begin: datetime
    message: str
    """Of the first of them."""
    cycles: int = 0
    end: datetime | None = None

    @property
    def finding(self) -> Finding:
        cycles = "1 cycle" if self.cycles == 1 else f"{self.cycles:,} cycles"
        return Finding(self.begin, self.end or self.begin, FindingKind.UNKNOWN, f"in {cycles}: {self.message}")


def _without_shadow(scaler: Autoscaler) -> Autoscaler:
    """The candidate, decided for the size that was seen even where it is a dry run."""
    if not scaler.options.shadow:
        return scaler
    return dataclasses.replace(scaler, options=dataclasses.replace(scaler.options, shadow=False))


def _shadowing(scaler: Autoscaler, start_up: timedelta | None) -> Autoscaler:
    """The candidate as a dry run with a shadow: what it decides is followed, and nothing of it is written."""
    options = dataclasses.replace(scaler.options, shadow=True)
    if start_up is not None:
        options = dataclasses.replace(options, start_up=start_up)
    return dataclasses.replace(scaler, dry_run=True, options=options)
