"""Reads the past of one autoscaler, and runs every candidate through it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from autoscaler.model import Autoscaler, ConnectionLimits
from autoscaler.quantity import format_seconds
from autoscaler.whatif.compare.fit import Check, Fit
from autoscaler.whatif.past.missing_data import MissingData
from autoscaler.whatif.past.past import Finding, FindingKind, Past
from autoscaler.whatif.replay.course import Course
from autoscaler.whatif.replay.demand import Demand, DemandRecorder
from autoscaler.whatif.replay.load import unconserved
from autoscaler.whatif.replay.repetition import Repetition
from autoscaler.whatif.replay.replay import Candidate, Replay
from autoscaler.whatif.replay.start_up import UNKNOWN_TIME, InstanceTime, StartUps


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
    courses: Sequence[Course]
    """The course of the real sizes (AS_IT_WAS), then one for each candidate."""
    part: Part | None = None
    """The cycles; None: there is none."""
    findings: Sequence[Finding] = ()
    """In order of time."""
    same: int = 0
    """How many recorded decisions were the same, bit for bit, when they were decided again."""
    compared: int = 0
    """Of how many."""
    demand: Demand = field(default_factory=Demand)
    """By the metrics and targets that were configured in each cycle; of a past that no daemon recorded, by the first
    candidate's."""
    demand_is_known: bool = True
    """False: a metric is no load."""
    start_up: InstanceTime = UNKNOWN_TIME
    """How long an instance of a candidate takes to become ready."""
    fit: Fit | None = None
    """Whether the simulation fits the past; None: no daemon wrote sizes in it."""

    @property
    def cycles(self) -> int:
        """The number of cycles of the past."""
        return 0 if self.part is None else self.part.cycles

    @property
    def is_refused(self) -> bool:
        """Whether the simulation does not fit, so that candidates cannot be compared."""
        return self.fit is not None and not self.fit.holds

    def add_cycle(self, origin: str, at: datetime) -> None:
        """Count the next cycle."""
        if self.part is None:
            self.part = Part(origin, at, at)
        else:
            self.part.end, self.part.cycles = at, self.part.cycles + 1


def compare(
    past: Past,
    candidates: Sequence[Candidate],
    since: datetime,
    until: datetime,
    start_up: timedelta | None = None,
    limits: ConnectionLimits | None = None,
) -> Comparison:
    """Run candidates through a past, decide recorded cycles again, and check the simulation against the record.

    `start_up`: how long an instance takes to become ready, where the past does not show it. `limits`: of the connection
    in the past. Raises what the past raises.
    """
    courses = [Course(), *[Course(each.label) for each in candidates]]
    found = Comparison(past.name, since, until, courses)
    reference = candidates[0].scaler if candidates else None
    found.start_up = _start_ups(past).used(start_up)
    replays = [Replay(each, found.start_up.seconds) for each in candidates]
    check, repetition = Check(found.start_up, limits or ConnectionLimits()), Repetition()
    demand, missing = DemandRecorder(reference), MissingData(since)
    measured = reference if reference is not None and not past.recorded else None
    for cycle in past.cycles():
        found.add_cycle(past.origin, cycle.at)
        measured = measured or cycle.scaler
        for each in (missing, demand, check):
            each.add(cycle)
        repetition.step(cycle)
        courses[0].add_seen(cycle)
        for course, replay in zip(courses[1:], replays, strict=True):
            if (replayed := replay.step(cycle)) is not None:
                course.add_replayed(replayed)
    missing.end(until)
    about_load = list(_unconserved(found, measured))
    found.demand, found.demand_is_known = demand.demand(), not about_load
    findings = {*past.findings, *missing.findings, *repetition.findings, *about_load, *_hidden(found)}
    findings |= {finding for each in replays for finding in each.findings}
    found.findings = sorted(findings, key=lambda each: (each.begin, each.kind, each.message))
    found.same, found.compared = repetition.same, repetition.compared
    found.fit = check.found(found.demand, is_known=found.demand_is_known)
    return found


def _start_ups(past: Past) -> StartUps:
    """How long instances took to become ready: only a record shows it. Raises what the past raises."""
    times = StartUps()
    if past.recorded:
        for cycle in past.cycles():
            times.add(cycle)
    return times


def _unconserved(found: Comparison, scaler: Autoscaler | None) -> Iterator[Finding]:
    """Which metrics of this configuration are no load."""
    if found.part is not None and scaler is not None:
        end = found.part.end
        yield from (Finding(end, end, FindingKind.LOAD, message) for message in unconserved(scaler))


def _hidden(found: Comparison) -> Sequence[Finding]:
    """That the demand may have been higher than measured."""
    part, seconds = found.part, found.demand.saturated_seconds
    if part is None or not seconds:
        return ()
    message = (
        f"for {format_seconds(seconds)} the target was at its maximum and above its metric's target: more may have "
        "been needed than was measured"
    )
    return (Finding(part.begin, part.end, FindingKind.LOAD, message),)
