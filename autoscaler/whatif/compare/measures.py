"""Measures of a course of sizes: its changes, its cost, and the demand that it left unserved.

Supply is the number of ready replicas, or the size if that is unknown.
"""

from collections.abc import Sequence
from math import isnan
from typing import Final

from autoscaler.document import Document
from autoscaler.whatif.past.past import GAP
from autoscaler.whatif.replay.course import UNKNOWN, Course
from autoscaler.whatif.replay.demand import Demand

_HOUR: Final = 3600.0


class Measures(Document):
    """The measures of one candidate. Gaps do not count, and what is unknown is no zero."""

    covered_seconds: float
    """During which the size is known."""
    changes: int
    """Of size."""
    instance_hours: float
    """The size, summed over time."""
    at_maximum_seconds: float
    """During which the size was at its upper bound."""
    unserved: float | None
    """The missing replicas over time, as a share of the demand over time; null if unknown, 0 if none were needed."""
    worst_overload: float | None
    """The highest demand per ready replica: 1 is on the target. null if nothing is known."""


def measures(course: Course, demand: Demand, *, is_known: bool = True) -> Measures:
    """Measure a course against the demand of the same past. `is_known`: whether the demand is."""
    covered = hours = at_maximum = missing = needed = 0.0
    changes, before = 0, UNKNOWN
    worst: float | None = None
    for place, cycle in enumerate(places_in_force(course, demand)):
        size = UNKNOWN if cycle is None else course.size[cycle]
        if demand.follows_gap(place):
            before = UNKNOWN
        changes += UNKNOWN not in (size, before) and size != before
        before = size
        if cycle is None or size == UNKNOWN:
            continue
        seconds, maximum = demand.seconds[place], course.maximum[cycle]
        covered += seconds
        hours += size * seconds / _HOUR
        at_maximum += seconds * (maximum != UNKNOWN and size >= maximum)
        if isnan(demand.needed[place]) or not is_known:
            continue
        ready = size if course.ready[cycle] == UNKNOWN else course.ready[cycle]
        missing += max(demand.needed[place] - ready, 0.0) * seconds
        needed += demand.needed[place] * seconds
        worst = max(worst or 0.0, demand.needed[place] / max(ready, 1))
    return Measures(
        covered_seconds=covered,
        changes=changes,
        instance_hours=hours,
        at_maximum_seconds=at_maximum,
        unserved=None if worst is None else missing / needed if needed else 0.0,
        worst_overload=worst,
    )


def hours_text(hours: float) -> str:
    """Instance-hours with at least three digits."""
    return f"{hours:,.1f}" if hours >= 10 else f"{hours:.3g}"


def places_in_force(course: Course, demand: Demand) -> Sequence[int | None]:
    """For each cycle of the demand the place of the course's cycle in force; None if there is none."""
    own = course.sync_period.total_seconds()
    found: list[int | None] = []
    following = 0
    for at in demand.at:
        while following < len(course.at) and course.at[following] <= at:
            following += 1
        in_force = following > 0 and at - course.at[following - 1] <= GAP * own
        found.append(following - 1 if in_force else None)
    return found
