"""One autoscaler's past, read once, and every candidate led through it."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from autoscaler.model import Autoscaler, ConnectionLimits
from autoscaler.whatif.compare.agreement import Agreement
from autoscaler.whatif.compare.divergences import Divergence, Divergences
from autoscaler.whatif.compare.inferred_past import InferredPast
from autoscaler.whatif.past.past import Finding, Moment, Past
from autoscaler.whatif.replay.course import Course
from autoscaler.whatif.replay.demand import Demand, DemandRecorder
from autoscaler.whatif.replay.instance_times import (
    NONE_SEEN,
    InstanceTime,
    Terminations,
    start_up_used,
    termination_of,
)
from autoscaler.whatif.replay.kept import KeptChanges
from autoscaler.whatif.replay.reaction import Reactions
from autoscaler.whatif.replay.replay import NO_LIMITS, Load, Replay, Replayed

AS_IT_WAS: Final = "as it was"
"""The label of the sizes that were seen."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A configuration to try."""

    label: str
    scaler: Autoscaler
    load: Load = Load.CONSERVED
    start_up: timedelta | None = None
    """As in `replay`, and the next."""
    limits: ConnectionLimits = NO_LIMITS


@dataclass(slots=True)
class Part:
    """Cycles in a row that one source told."""

    origin: str
    """As of Past."""
    begin: datetime
    end: datetime
    cycles: int = 1


@dataclass(slots=True)
class Comparison:
    """What came of it."""

    name: str
    """The autoscaler's."""
    since: datetime
    until: datetime
    candidates: Sequence[Candidate]
    courses: Sequence[Course]
    """That of the sizes seen (AS_IT_WAS), then one for each candidate."""
    parts: list[Part] = field(default_factory=list)
    """Which source was used for what, in order of time."""
    findings: Sequence[Finding] = ()
    """In order of time."""
    same: int = 0
    """Recorded decisions that were decided again, bit for bit."""
    compared: int = 0
    """Of how many."""
    demand: Demand = field(default_factory=Demand)
    """What all courses are held to: by the first candidate, or without one by what was configured first."""
    divergences: Sequence[Divergence] = ()
    """Where the first two candidates part, in order of time."""
    explainable: Sequence[Sequence[Replayed]] = ()
    """For each course the cycles of its changes, as far as they were kept: what explains them."""
    start_ups: Mapping[str, InstanceTime] = field(default_factory=dict)
    """Label of a candidate -> the start-up time that it had at the end; without those whose load needs none."""
    termination: InstanceTime = NONE_SEEN
    """For how long what leaves is paid for, in all courses."""
    agreement: Agreement | None = None
    """How far what was inferred agrees with the state; None: nothing was inferred, or nothing is known of both."""

    @property
    def cycles(self) -> int:
        """Of the past."""
        return sum([part.cycles for part in self.parts])

    def add_cycle(self, origin: str, at: datetime) -> None:
        """One more, after those before it."""
        if self.parts and self.parts[-1].origin == origin:
            last = self.parts[-1]
            last.end, last.cycles = at, last.cycles + 1
        else:
            self.parts.append(Part(origin, at, at))


def compare(
    past: Past,
    candidates: Sequence[Candidate],
    since: datetime,
    until: datetime,
    watchers: Sequence[Callable[[Moment], None]] = (),
    termination: timedelta | None = None,
) -> Comparison:
    """Lead candidates through a past, and decide again what the daemon decided.

    Where the past has no decisions of its own, the sizes seen need at least one candidate to be told against.

    What was needed is told by the metrics and targets of the first candidate; without one, by what was configured then.

    `watchers`: are shown each moment before it is replayed. `termination`: how long an instance that leaves takes to be
    gone; None: as the past tells it. Raises what the past raises.
    """
    courses = [Course(AS_IT_WAS), *[Course(each.label, each.scaler) for each in candidates]]
    found = Comparison(past.name, since, until, candidates, courses)
    own = Replay(None, Load.RECORDED)
    seen = Replay(_in_every_cycle(candidates[0].scaler), Load.RECORDED) if candidates else None
    replays = [Replay(each.scaler, each.load, each.start_up, each.limits) for each in candidates]
    kept, divergences = [KeptChanges(course) for course in courses], Divergences()
    needs, terminations = DemandRecorder(candidates[0].scaler if candidates else None), Terminations()
    reactions = [Reactions(each.scaler) for each in candidates[:1] if each.load is Load.CONSERVED]
    for moment in past.moments():
        found.add_cycle(past.origin, moment.at)
        for watch in watchers:
            watch(moment)
        needs.add(moment)
        terminations.see(moment)
        for each in reactions:
            each.see(moment)
        again = own.step(moment)
        if again is not None and (again.decision.shadow is None or seen is None):
            courses[0].add(again)
            kept[0].see(again)
        elif seen is not None and (as_seen := seen.step(moment)) is not None:
            courses[0].add_seen(as_seen)  # what was decided is not known, or followed by a shadow alone
        steps = [one.step(moment) for one in replays]
        if len(steps) > 1:
            divergences.add(steps[0], steps[1])
        for course, changes, replayed in zip(courses[1:], kept[1:], steps, strict=True):
            if replayed is not None:
                course.add(replayed)
                changes.see(replayed)
    findings = [*past.findings, *own.findings]
    findings += [each for one in replays for each in one.findings]
    findings += [each for one in reactions for each in one.findings]
    found.findings = sorted(set(findings), key=lambda each: each.begin)
    found.same, found.compared = own.same, own.compared
    found.demand = needs.demand()
    found.start_ups = {
        each.label: used
        for each, course in zip(candidates, courses[1:], strict=True)
        if (used := start_up_used(course.start_up, each.start_up)) is not None
    }
    found.termination = termination_of(termination, terminations.learnt)
    found.divergences = divergences.found()
    found.explainable = [each.cycles for each in kept]
    if isinstance(past, InferredPast):
        found.agreement = past.agreement()
    return found


def _in_every_cycle(scaler: Autoscaler) -> Autoscaler:
    return dataclasses.replace(scaler, sync_period=timedelta(0))
