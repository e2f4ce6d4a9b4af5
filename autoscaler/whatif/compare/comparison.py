"""Reads the past of one autoscaler once, and runs every candidate through it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from autoscaler.whatif.compare.divergences import Divergence, Divergences
from autoscaler.whatif.compare.inferred_past import Agreement, InferredPast
from autoscaler.whatif.past.missing_data import MissingData
from autoscaler.whatif.past.past import Cycle, Finding, Past
from autoscaler.whatif.replay.course import Course
from autoscaler.whatif.replay.demand import Demand, DemandRecorder
from autoscaler.whatif.replay.instance_times import NONE_SEEN, InstanceTime, Terminations
from autoscaler.whatif.replay.reaction import Reactions
from autoscaler.whatif.replay.repetition import Repetition
from autoscaler.whatif.replay.replay import Candidate, Load, Replay


@dataclass(slots=True)
class Part:
    """Successive cycles from one source."""

    origin: str
    """As in Past."""
    begin: datetime
    end: datetime
    cycles: int = 1


@dataclass(slots=True)
class Comparison:
    """The result of a comparison."""

    name: str
    """The autoscaler's."""
    since: datetime
    until: datetime
    candidates: Sequence[Candidate]
    courses: Sequence[Course]
    """The course of the recorded sizes (AS_IT_WAS), then one for each candidate."""
    parts: list[Part] = field(default_factory=list)
    """In order of time."""
    findings: Sequence[Finding] = ()
    """In order of time."""
    same: int = 0
    """How many recorded decisions were the same, bit for bit, when they were decided again."""
    compared: int = 0
    """Of how many."""
    demand: Demand = field(default_factory=Demand)
    """By the metrics and targets of the first candidate; without one, of the first recorded configuration."""
    divergences: Sequence[Divergence] = ()
    """When the sizes of the first two candidates differ, in order of time."""
    termination: InstanceTime = NONE_SEEN
    """How long an instance that leaves is paid for, in all courses."""
    agreement: Agreement | None = None
    """Between Prometheus and the state; None if no time is known from both."""

    @property
    def cycles(self) -> int:
        """The number of cycles of the past."""
        return sum([part.cycles for part in self.parts])

    def add_cycle(self, origin: str, at: datetime) -> None:
        """Count the next cycle."""
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
    watch: Callable[[Cycle], object] | None = None,
    termination: timedelta | None = None,
) -> Comparison:
    """Run candidates through a past, and decide recorded cycles again.

    `watch` is called with each cycle before it is replayed. `termination`: how long an instance takes to end; None: as
    the past shows. Raises what the past raises.
    """
    courses = [Course(), *[Course(each.label, each.scaler, each.start_up) for each in candidates]]
    found = Comparison(past.name, since, until, candidates, courses)
    own, recorder = courses[0], Repetition()
    replays = [Replay(each) for each in candidates]
    demand, terminations = DemandRecorder(candidates[0].scaler if candidates else None), Terminations()
    reactions = [Reactions(each.scaler) for each in candidates[:1] if each.load is Load.CONSERVED]
    divergences, missing = Divergences(), MissingData(since)
    for cycle in past.cycles():
        found.add_cycle(past.origin, cycle.at)
        if watch is not None:
            watch(cycle)
        missing.add(cycle)
        demand.add(cycle)
        terminations.add(cycle)
        for each in reactions:
            each.add(cycle)
        repeated = recorder.step(cycle)
        if repeated is not None and (repeated.decision.shadow is None or not candidates):
            own.add(repeated)
        else:
            own.add_seen(cycle)  # the decision is unknown, or only a shadow followed it
        steps = [replay.step(cycle) for replay in replays]
        if len(steps) > 1:
            divergences.add(steps[0], steps[1])
        for course, replayed in zip(courses[1:], steps, strict=True):
            if replayed is not None:
                course.add(replayed)
    missing.end(until)
    findings = {*past.findings, *missing.findings, *recorder.findings}
    findings |= {finding for each in replays for finding in each.findings}
    findings |= {finding for each in reactions for finding in each.findings()}
    found.findings = sorted(findings, key=lambda each: (each.begin, each.kind, each.message))
    found.same, found.compared = recorder.same, recorder.compared
    found.demand = demand.demand()
    found.termination = terminations.used(termination)
    found.divergences = divergences.found()
    if isinstance(past, InferredPast):
        found.agreement = past.agreement()
    return found
