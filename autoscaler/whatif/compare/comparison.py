"""Reads the past of one autoscaler, and runs every candidate through it."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from autoscaler.errors import PastError
from autoscaler.model import Autoscaler, ConnectionLimits
from autoscaler.quantity import format_seconds
from autoscaler.whatif.compare.document import Part, ReplayDocument, replay_document
from autoscaler.whatif.compare.fit import Check
from autoscaler.whatif.past.missing_data import MissingData
from autoscaler.whatif.past.past import Finding, FindingKind, Past
from autoscaler.whatif.replay.course import Course
from autoscaler.whatif.replay.demand import Demand, DemandRecorder
from autoscaler.whatif.replay.load import unconserved
from autoscaler.whatif.replay.repetition import Repetition
from autoscaler.whatif.replay.replay import Candidate, Replay
from autoscaler.whatif.replay.start_up import StartUps


def compare(
    past: Past,
    candidates: Sequence[Candidate],
    since: datetime,
    until: datetime,
    start_up: timedelta | None = None,
    limits: ConnectionLimits | None = None,
) -> ReplayDocument:
    """Run candidates through a past, decide recorded cycles again, and check the simulation against the record.

    `start_up`: how long an instance takes to become ready, where the past does not show it. `limits`: of the connection
    in the past. The demand is that of the metrics and targets that were configured in each cycle; of a past that no
    daemon recorded, of the first candidate's. Raises PastError for a past without cycles, and what the past raises.
    """
    courses = [Course(), *[Course(each.label) for each in candidates]]
    reference = candidates[0].scaler if candidates else None
    took = _start_ups(past).used(start_up)
    replays = [Replay(each, took.seconds) for each in candidates]
    check, repetition = Check(took, limits or ConnectionLimits()), Repetition()
    recorder, missing = DemandRecorder(reference), MissingData(since)
    measured = reference if reference is not None and not past.recorded else None
    part: Part | None = None
    for cycle in past.cycles():
        part = part or Part(past.origin, cycle.at, cycle.at)
        part.end, part.cycles = cycle.at, part.cycles + 1
        measured = measured or cycle.scaler
        for each in (missing, recorder, check):
            each.add(cycle)
        repetition.step(cycle)
        courses[0].add_seen(cycle)
        for course, replay in zip(courses[1:], replays, strict=True):
            if (replayed := replay.step(cycle)) is not None:
                course.add_replayed(replayed)
    if part is None or measured is None:
        begin, end = (each.isoformat(timespec="seconds") for each in (since, until))
        raise PastError(f"autoscaler {past.name!r}: no cycle is known from {begin} to {end}; give another time")
    missing.end(until)
    demand, about_load = recorder.demand(), list(_unconserved(measured, part))
    findings = {*past.findings, *missing.findings, *repetition.findings, *about_load, *_hidden(demand, part)}
    findings |= {finding for each in replays for finding in each.findings}
    return replay_document(
        courses,
        demand,
        sorted(findings, key=lambda each: (each.begin, each.kind, each.message)),
        check.found(demand, is_known=not about_load),
        demand_is_known=not about_load,
        name=past.name,
        since=since,
        until=until,
        part=part,
        same=repetition.same,
        compared=repetition.compared,
        start_up=took,
    )


def _start_ups(past: Past) -> StartUps:
    """How long instances took to become ready: only a record shows it. Raises what the past raises."""
    times = StartUps()
    if past.recorded:
        for cycle in past.cycles():
            times.add(cycle)
    return times


def _unconserved(scaler: Autoscaler, part: Part) -> Iterator[Finding]:
    """Which metrics of this configuration are no load."""
    yield from (Finding(part.end, part.end, FindingKind.LOAD, message) for message in unconserved(scaler))


def _hidden(demand: Demand, part: Part) -> Sequence[Finding]:
    """That the demand may have been higher than measured."""
    if not demand.saturated_seconds:
        return ()
    message = (
        f"for {format_seconds(demand.saturated_seconds)} the target was at its maximum and above its metric's target: "
        "more may have been needed than was measured"
    )
    return (Finding(part.begin, part.end, FindingKind.LOAD, message),)
