"""The result of a replay: measures and findings of its candidates, and series for the picture."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import ceil, isfinite
from typing import Any, Final

from autoscaler.document import Document
from autoscaler.view.thinning import thinned_places
from autoscaler.whatif.compare.fit import Fit
from autoscaler.whatif.compare.measures import Measures, measures, places_in_force
from autoscaler.whatif.past.past import Finding
from autoscaler.whatif.replay.course import UNKNOWN, Course
from autoscaler.whatif.replay.demand import Demand
from autoscaler.whatif.replay.start_up import InstanceTime

MAX_POINTS: Final = 2_000
"""Of the series."""
MAX_FINDINGS: Final = 1_000


class SeriesDocument(Document):
    """Sizes and load over time. Each list has one item for each time; null if unknown.

    Long series are thinned evenly. As far as there is room they keep every change of size, and in between the highest
    and the lowest load. A gap begins with a time at which nothing is known.
    """

    at: tuple[datetime, ...]
    load: tuple[int | None, ...]
    """The fewest replicas that put every metric at or below its target."""
    sizes: tuple[tuple[int | None, ...], ...]
    """In the order of the candidates."""


class CandidateDocument(Document):
    """A candidate, or the real sizes."""

    label: str
    measures: Measures


@dataclass(slots=True)
class Part:
    """Successive cycles from one source."""

    origin: str
    """As in Past."""
    begin: datetime
    end: datetime
    cycles: int = 0


class ReplayDocument(Document):
    """The replay of one autoscaler."""

    name: str
    since: datetime
    until: datetime
    part: Part
    """The cycles and their source."""
    same: int
    """How many recorded decisions were the same, bit for bit, when they were decided again."""
    compared: int
    """Of how many."""
    fit: Fit | None
    """Whether the simulation fits the past; null: no daemon wrote sizes in it."""
    start_up: InstanceTime
    """How long an instance of a candidate takes to become ready."""
    candidates: tuple[CandidateDocument, ...]
    """The real sizes first. Empty if the simulation does not fit."""
    findings: tuple[Finding, ...]
    """The first ones in order of time."""
    more_findings: int
    """The number of the others."""
    series: SeriesDocument
    """Empty if the simulation does not fit."""


class ReplayList(Document):
    """The replays of several autoscalers."""

    replays: tuple[ReplayDocument, ...]


def replay_document(
    courses: Sequence[Course],
    demand: Demand,
    findings: Sequence[Finding],
    fit: Fit | None,
    *,
    demand_is_known: bool,
    **others: Any,
) -> ReplayDocument:
    """Return the document of the real sizes and the candidates. `others`: the fields that are given as they are.

    `findings`: in order of time. `demand_is_known`: False: a metric is no load. Its series has about MAX_POINTS times.
    """
    if fit is not None and not fit.holds:
        courses, demand = (), Demand()
    return ReplayDocument(
        fit=fit,
        candidates=tuple(
            [
                CandidateDocument(label=each.label, measures=measures(each, demand, is_known=demand_is_known))
                for each in courses
            ]
        ),
        findings=tuple(findings[:MAX_FINDINGS]),
        more_findings=max(0, len(findings) - MAX_FINDINGS),
        series=_series(demand, courses),
        **others,
    )


def _series(demand: Demand, courses: Sequence[Course]) -> SeriesDocument:
    in_force = [places_in_force(course, demand) for course in courses]
    whole = [ceil(needed) if isfinite(needed) else None for needed in demand.needed]
    places = thinned_places(whole, _turns(demand, courses, in_force), MAX_POINTS)
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
        load=tuple([None if place is None else whole[place] for place in shown]),
        sizes=tuple(
            [
                tuple([None if place is None else _size(course, cycles[place]) for place in shown])
                for course, cycles in zip(courses, in_force, strict=True)
            ]
        ),
    )


def _turns(demand: Demand, courses: Sequence[Course], in_force: Sequence[Sequence[int | None]]) -> Sequence[int]:
    """The first and the last place, both sides of each gap, and each change of a size."""
    found: list[int] = []
    before: list[int | None] | None = None
    for place, cycles in enumerate(zip(*in_force, strict=True)):
        now = [_size(course, cycle) for course, cycle in zip(courses, cycles, strict=True)]
        if demand.follows_gap(place) and place > 0 and (not found or found[-1] != place - 1):
            found.append(place - 1)
        if now != before or demand.follows_gap(place) or place == len(demand.at) - 1:
            found.append(place)
        before = now
    return found


def _size(course: Course, cycle: int | None) -> int | None:
    return None if cycle is None or course.size[cycle] == UNKNOWN else course.size[cycle]
