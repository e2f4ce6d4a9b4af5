"""The result of a replay: measures, changes and findings of its candidates, and series for charts."""

from collections.abc import Sequence
from datetime import UTC, datetime
from math import ceil, isfinite, isnan, nan
from typing import Final

from autoscaler.documents.base import Document
from autoscaler.documents.explain import explanation
from autoscaler.documents.explanation import Explanation
from autoscaler.documents.thinning import thinned_places
from autoscaler.record import Record
from autoscaler.whatif.compare.comparison import Comparison, Part
from autoscaler.whatif.compare.divergences import Divergence
from autoscaler.whatif.compare.inferred_past import Agreement
from autoscaler.whatif.compare.measures import Measures, measures, places_in_force, supply
from autoscaler.whatif.past.past import Finding
from autoscaler.whatif.replay.course import UNKNOWN, Change, Course
from autoscaler.whatif.replay.demand import Demand
from autoscaler.whatif.replay.instance_times import InstanceTime
from autoscaler.whatif.replay.replay import Load

MOST_POINTS: Final = 2_000
"""Of the series."""
MOST_CHANGES: Final = 2_000
"""Of a candidate that the document lists."""
MOST_FINDINGS: Final = 1_000
MOST_DIVERGENCES: Final = 1_000


class CourseDocument(Document):
    """One candidate at the times of the series; null if unknown."""

    size: tuple[int | None, ...]
    overload: tuple[float | None, ...]
    """The demand per ready replica: 1 is on the reference's target."""


class SeriesDocument(Document):
    """Sizes and demand over time. Each list has one item for each time; null if unknown.

    Long series are thinned evenly. As far as there is room they keep every change of size, and in between the highest
    and the lowest demand. A gap begins with a time at which nothing is known.
    """

    at: tuple[datetime, ...]
    needed: tuple[int | None, ...]
    """The demand: the fewest replicas that put every metric of the reference at or below its target."""
    courses: tuple[CourseDocument, ...]
    """In the order of the candidates."""


class CandidateDocument(Document):
    """A candidate, or the recorded sizes."""

    label: str
    measures: Measures
    start_up: InstanceTime | None = None
    """How long an instance took to be ready, at the end of the replay; null if no such time was used."""
    changes: tuple[Change, ...]
    """The first ones; the measures have the number of all."""


class ReplayDocument(Document):
    """The replay of one autoscaler."""

    name: str
    since: datetime
    until: datetime
    load: Load | None
    """Of the first candidate; null without candidates."""
    cycles: int
    """The number of cycles."""
    parts: tuple[Part, ...]
    """The sources, in order of time."""
    same: int
    """How many recorded decisions were the same, bit for bit, when they were decided again."""
    compared: int
    """Of how many."""
    reference: str | None
    """The candidate whose metrics and targets define the demand; null: the first recorded configuration."""
    candidates: tuple[CandidateDocument, ...]
    termination: InstanceTime
    """How long an instance that leaves is paid for."""
    findings: tuple[Finding, ...]
    """The first ones in order of time."""
    more_findings: int
    """The number of the others."""
    divergences: tuple[Divergence, ...]
    """When the first two candidates have different sizes: the first times, in order."""
    more_divergences: int
    """The number of the others."""
    agreement: Agreement | None = None
    """How far Prometheus agrees with the state; null if no time is known from both."""
    series: SeriesDocument


class ReplayList(Document):
    """The replays of several autoscalers."""

    replays: tuple[ReplayDocument, ...]


def replay_document(found: Comparison, most: int = MOST_POINTS) -> ReplayDocument:
    """The document of a comparison, with a series of about `most` times."""
    reference = found.candidates[0] if found.candidates else None
    return ReplayDocument.of(
        found,
        load=reference and reference.load,
        parts=tuple(found.parts),
        reference=reference and reference.label,
        candidates=tuple([_candidate(course, found) for course in found.courses]),
        findings=tuple(found.findings[:MOST_FINDINGS]),
        more_findings=max(0, len(found.findings) - MOST_FINDINGS),
        divergences=tuple(found.divergences[:MOST_DIVERGENCES]),
        more_divergences=max(0, len(found.divergences) - MOST_DIVERGENCES),
        series=_series(found.demand, found.courses, most),
    )


def explanations(found: Comparison) -> Sequence[Sequence[Explanation]]:
    """For each course the explanations of its explainable changes, in order of time."""
    return [
        [explanation(Record(each.scaler, each.decision, each.observation, each.history)) for each in course.explainable]
        for course in found.courses
    ]


def _candidate(course: Course, found: Comparison) -> CandidateDocument:
    return CandidateDocument(
        label=course.label,
        measures=measures(course, found.demand, found.termination.seconds),
        start_up=course.start_up,
        changes=tuple(course.changes[:MOST_CHANGES]),
    )


def _series(demand: Demand, courses: Sequence[Course], most: int) -> SeriesDocument:
    in_force = [places_in_force(course, demand) for course in courses]
    whole = [ceil(needed) if isfinite(needed) else None for needed in demand.needed]
    places = thinned_places(whole, _turns(demand, courses, in_force), most)
    times: list[float] = []
    shown: list[int | None] = []  # None: a gap begins
    for place in places:
        if times and demand.follows_gap(place):
            times.append(min(demand.at[place - 1] + demand.seconds[place - 1], demand.at[place] - 1e-3))
            shown.append(None)
        times.append(demand.at[place])
        shown.append(place)
    return SeriesDocument(
        at=tuple([datetime.fromtimestamp(at, UTC) for at in times]),
        needed=tuple([None if place is None else whole[place] for place in shown]),
        courses=tuple(
            [
                _course(
                    course,
                    [None if place is None else cycles[place] for place in shown],
                    [nan if place is None else demand.needed[place] for place in shown],
                )
                for course, cycles in zip(courses, in_force, strict=True)
            ]
        ),
    )


def _turns(demand: Demand, courses: Sequence[Course], in_force: Sequence[Sequence[int | None]]) -> Sequence[int]:
    """The first and the last place, both sides of each gap, and each change of a size."""
    found: list[int] = []
    before: list[int | None] | None = None
    for place, cycles in enumerate(zip(*in_force, strict=True)):
        now = [None if cycle is None else course.size[cycle] for course, cycle in zip(courses, cycles, strict=True)]
        if demand.follows_gap(place) and place > 0 and (not found or found[-1] != place - 1):
            found.append(place - 1)
        if now != before or demand.follows_gap(place) or place == len(demand.at) - 1:
            found.append(place)
        before = now
    return found


def _course(course: Course, cycles: Sequence[int | None], needed: Sequence[float]) -> CourseDocument:
    sizes = [UNKNOWN if cycle is None else course.size[cycle] for cycle in cycles]
    supplies = [None if cycle is None else supply(course, cycle) for cycle in cycles]
    return CourseDocument(
        size=tuple([None if size == UNKNOWN else size for size in sizes]),
        overload=tuple(
            [
                None if ready is None or isnan(demand) else demand / max(ready, 1)
                for demand, ready in zip(needed, supplies, strict=True)
            ]
        ),
    )
