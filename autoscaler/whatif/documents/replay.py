"""What a replay came to: measures, changes and findings of one or several candidates, and their course for a chart."""

from collections.abc import Sequence
from datetime import UTC, datetime
from math import ceil, isfinite, isnan, nan
from typing import Final

from autoscaler.documents.base import Document
from autoscaler.documents.explain import explanation
from autoscaler.documents.explanation import Explanation
from autoscaler.documents.thinning import thinned_places
from autoscaler.record import Record
from autoscaler.whatif.compare.agreement import Agreement
from autoscaler.whatif.compare.comparison import Comparison, Part
from autoscaler.whatif.compare.divergences import Divergence
from autoscaler.whatif.compare.measures import Measures, measures, places_in_force, supply
from autoscaler.whatif.past.past import Finding
from autoscaler.whatif.replay.course import UNKNOWN, Course
from autoscaler.whatif.replay.demand import Demand
from autoscaler.whatif.replay.instance_times import InstanceTime
from autoscaler.whatif.replay.replay import Load

MOST_POINTS: Final = 2_000
"""Of a chart."""
MOST_CHANGES: Final = 2_000
"""Of a candidate that are listed."""
MOST_FINDINGS: Final = 1_000
"""That are listed."""
MOST_PARTINGS: Final = 1_000
"""That are listed."""


class ChangeDocument(Document):
    """A change of size."""

    at: datetime
    before: int
    after: int
    reason: str
    message: str
    """Why."""


class CourseDocument(Document):
    """One candidate over the times of the series; null: not known."""

    size: tuple[int | None, ...]
    ready: tuple[int | None, ...]
    maximum: tuple[int | None, ...]
    """The upper bound in force."""
    overload: tuple[float | None, ...]
    """The demand for each ready replica: 1 is on the reference's target."""


class SeriesDocument(Document):
    """Sizes, demand and metrics over time. Each list has one entry for each time; null: not known.

    Evenly thinned where there were more times: every change of size is kept as long as there is room, and of each
    stretch between the highest and the lowest demand. A gap begins with a time at which nothing is known.
    """

    at: tuple[datetime, ...]
    needed: tuple[int | None, ...]
    """The demand: the fewest replicas that put every metric of the reference on its target or below."""
    courses: tuple[CourseDocument, ...]
    """In the order of the candidates."""


class CandidateDocument(Document):
    """One of those that are compared: the sizes as they were, and what each configuration would have made of them."""

    label: str
    measures: Measures
    start_up: InstanceTime | None = None
    """How long an instance took to be ready, at the end of the time; null: no such time was used."""
    changes: tuple[ChangeDocument, ...]
    """The first, where there were more than are listed; the measures have their number."""


class ReplayDocument(Document):
    """One autoscaler's replay."""

    name: str
    since: datetime
    until: datetime
    load: Load | None
    """By which the candidates were led through the past; null: there are none beside the sizes as they were."""
    cycles: int
    """How many there were in this time."""
    parts: tuple[Part, ...]
    """What was used for what, in order of time."""
    same: int
    """Recorded decisions that came out the same, bit for bit, when they were decided again."""
    compared: int
    """Of how many."""
    reference: str | None
    """The candidate whose metrics and targets say what was needed; null: what was configured first then."""
    candidates: tuple[CandidateDocument, ...]
    termination: InstanceTime
    """For how long what leaves is paid for, in all candidates."""
    findings: tuple[Finding, ...]
    """In order of time; the first, where there were more."""
    more_findings: int
    """How many there are beside those."""
    divergences: tuple[Divergence, ...]
    """Where the first two configurations come to other sizes, in order of time; the first, where there were more."""
    more_divergences: int
    """How many there are beside those."""
    agreement: Agreement | None = None
    """How far what Prometheus tells agrees with the state; null: it was not asked, or nothing is known of both."""
    series: SeriesDocument


class ReplayList(Document):
    """Several autoscalers' replays."""

    replays: tuple[ReplayDocument, ...]


def replay_document(found: Comparison, most: int = MOST_POINTS) -> ReplayDocument:
    """The document of one comparison, with a series of about `most` times."""
    demand = found.demand
    return ReplayDocument.of(
        found,
        load=found.candidates[0].load if found.candidates else None,
        parts=tuple(found.parts),
        reference=found.candidates[0].label if found.candidates else None,
        candidates=tuple([_candidate(course, found) for course in found.courses]),
        findings=tuple(found.findings[:MOST_FINDINGS]),
        more_findings=max(0, len(found.findings) - MOST_FINDINGS),
        divergences=tuple(found.divergences[:MOST_PARTINGS]),
        more_divergences=max(0, len(found.divergences) - MOST_PARTINGS),
        series=_series(demand, found.courses, most),
    )


def explanations(found: Comparison) -> Sequence[Sequence[Explanation]]:
    """For each of its courses, the changes that can be explained, in order of time."""
    return [
        [explanation(Record(each.scaler, each.decision, each.observation, each.history)) for each in cycles]
        for cycles in found.explainable
    ]


def _candidate(course: Course, found: Comparison) -> CandidateDocument:
    start_up = found.start_ups.get(course.label)
    return CandidateDocument(
        label=course.label,
        measures=measures(course, found.demand, found.termination.seconds),
        start_up=start_up,
        changes=tuple(map(ChangeDocument.of, course.changes[:MOST_CHANGES])),
    )


def _series(demand: Demand, courses: Sequence[Course], most: int) -> SeriesDocument:
    in_force = [places_in_force(course, demand) for course in courses]
    whole = [ceil(needed) if isfinite(needed) else None for needed in demand.needed]
    places = thinned_places(whole, _turns(demand, courses, in_force), most)
    times: list[float] = []
    shown: list[int | None] = []  # None: the begin of a gap
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
    """The first and the last place, both sides of a gap, and where a candidate's size or upper bound changes."""
    found: list[int] = []
    before: list[tuple[int, int] | None] | None = None
    for place, cycles in enumerate(zip(*in_force, strict=True)):
        now = [
            None if cycle is None else (course.size[cycle], course.maximum[cycle])
            for course, cycle in zip(courses, cycles, strict=True)
        ]
        if demand.follows_gap(place) and place > 0 and (not found or found[-1] != place - 1):
            found.append(place - 1)
        if now != before or demand.follows_gap(place) or place == len(demand.at) - 1:
            found.append(place)
        before = now
    return found


def _course(course: Course, cycles: Sequence[int | None], needed: Sequence[float]) -> CourseDocument:
    def known(values: Sequence[int]) -> tuple[int | None, ...]:
        return tuple([None if cycle is None or values[cycle] == UNKNOWN else values[cycle] for cycle in cycles])

    supplies = [None if cycle is None else supply(course, cycle) for cycle in cycles]
    return CourseDocument(
        size=known(course.size),
        ready=known(course.ready),
        maximum=known(course.maximum),
        overload=tuple(
            [
                None if ready is None or isnan(demand) else demand / max(ready, 1)
                for demand, ready in zip(needed, supplies, strict=True)
            ]
        ),
    )
