"""What a course of sizes was worth: what it cost, what it left undone, and how restless it was.

The measures of elasticity are those of the SPEC Research Group's Cloud working group: Herbst, Krebs, Oikonomou,
Kousiouris, Evangelinou, Iosup, Kounev: "Ready for Rain? A View from SPEC Research on the Future of Cloud Metrics",
technical report SPEC-RG-2016-01, 2016; in the form that is normalised by demand, as in Bauer, Herbst, Spinner,
Ali-Eldin, Kounev: "Chameleon: A Hybrid, Proactive Auto-Scaling Mechanism on a Level-Playing Field", IEEE TPDS 30(4),
2019. With demand d, supply s, and T the length of the time in which both are known:

    accuracy, under      1/T * sum of max(d - s, 0) / d * dt        time share, under    1/T * sum of dt where s < d
    accuracy, over       1/T * sum of max(s - d, 0) / d * dt        time share, over     1/T * sum of dt where s > d
    instability          1/T * sum of dt where the sign of the change of s is not that of the change of d

All are shares of 1, and 0 is best; the accuracy of over-provisioning alone can exceed 1. Demand is in whole replicas
here, the fewest that are enough, as supply is: what is ready, or where that is not known, the size. Where no replica is
needed, the accuracy is set against one.
"""

from array import array
from collections import deque
from collections.abc import Sequence
from datetime import timedelta
from itertools import pairwise
from math import ceil, isnan
from typing import Final

from autoscaler.documents.base import Document
from autoscaler.foresee.shadow_comparison import GAP
from autoscaler.whatif.replay.course import UNKNOWN, Change, Course
from autoscaler.whatif.replay.demand import Demand

_HOUR: Final = 3600.0


class Measures(Document):
    """One candidate in numbers, over the time that its demand curve counts. Gaps count in nothing."""

    covered_seconds: float
    """In which the size is known."""
    smallest: int | None
    """The size; None, as the next: it is never known."""
    largest: int | None
    instance_hours: float
    """The size, and what had left it and was not gone yet, summed up over time: what was paid for."""
    leaving_instance_hours: float
    """How much of this had left: instances that are on their way out take no load and are in no size."""
    above_target_seconds: float
    """In which the load needed more than was ready, by more than the reference's tolerance. Of the compared time."""
    at_maximum_seconds: float
    """In which the size was the largest that the bounds in force allowed."""
    worst_overload: float | None
    """The highest demand for each ready replica: 1 is on the reference's target. None: nothing is known."""
    changes: int
    """Of size."""
    changes_of_direction: int
    """How often a change went the other way than the one before it."""
    compared_seconds: float
    """In which demand and supply are both known: what all about the demand is taken over."""
    unserved: float | None
    """Which share of the demand was not met: what was missing, times how long, divided by all that was needed.

    None, as the next five: nothing is known. 0 where nothing was needed.
    """
    accuracy_under: float | None
    """SPEC RG: how much of the demand was not met, on average over time."""
    accuracy_over: float | None
    """SPEC RG: how much more there was than the demand, relative to it, on average over time."""
    timeshare_under: float | None
    """SPEC RG: the share of the time in which there was too little."""
    timeshare_over: float | None
    """SPEC RG: the share of the time in which there was too much."""
    instability: float | None
    """SPEC RG: the share of the time in which supply did not move as demand did."""
    saturated_seconds: float
    """In which the demand may have been higher than could be measured: what was there was at its maximum and above its
    target. The same for all candidates of a comparison."""


def measures(course: Course, demand: Demand, termination: timedelta = timedelta(0)) -> Measures:
    """What a candidate's course comes to against a demand curve; both are of one past.

    `termination`: how long an instance that leaves is paid for after the change.

    Only the time that the curve counts counts here (`Demand.between`, `Demand.unsaturated`).
    """
    covered = hours = gone = at_maximum = hidden = 0.0
    sizes = set[int]()
    elasticity, leaving = _Elasticity(1 + demand.tolerance), _Leaving(termination.total_seconds())
    for place, cycle in enumerate(places_in_force(course, demand)):
        if cycle is None or demand.follows_gap(place):
            elasticity.forget()
            leaving.forget()
        if cycle is None:
            continue
        seconds = demand.seconds[place] if demand.counted[place] else 0.0
        elasticity.add(demand.needed[place], supply(course, cycle), seconds)
        hidden += seconds * demand.saturated[place]
        size, maximum = course.size[cycle], course.maximum[cycle]
        leaving.see(size, demand.at[place])
        if size == UNKNOWN or not seconds:
            continue
        sizes.add(size)
        covered += seconds
        hours += size * seconds / _HOUR
        gone += leaving.paid_seconds(demand.at[place], seconds) / _HOUR
        at_maximum += seconds * (maximum != UNKNOWN and size >= maximum)
    changes = [change for change in course.changes if demand.counts(change.at)]
    return Measures(
        covered_seconds=covered,
        smallest=min(sizes, default=None),
        largest=max(sizes, default=None),
        instance_hours=hours + gone,
        leaving_instance_hours=gone,
        above_target_seconds=elasticity.above,
        at_maximum_seconds=at_maximum,
        worst_overload=elasticity.worst,
        changes=len(changes),
        changes_of_direction=_turns(changes),
        compared_seconds=elasticity.seconds,
        unserved=elasticity.unserved(),
        accuracy_under=elasticity.share(elasticity.lacking),
        accuracy_over=elasticity.share(elasticity.surplus),
        timeshare_under=elasticity.share(elasticity.under),
        timeshare_over=elasticity.share(elasticity.over),
        instability=elasticity.share(elasticity.apart),
        saturated_seconds=hidden,
    )


def places_in_force(course: Course, demand: Demand) -> Sequence[int | None]:
    """For each moment of the curve the place in the course of the cycle in force; None: there was none."""
    rising = _rising(course.at)
    own = 0.0 if course.scaler is None else course.scaler.sync_period.total_seconds()
    found: list[int | None] = []
    following = 0
    for at in demand.at:
        while following < len(rising) and course.at[rising[following]] <= at:
            following += 1
        in_force = following > 0 and at - course.at[rising[following - 1]] <= GAP * own
        found.append(rising[following - 1] if in_force else None)
    return found


def _rising(times: "array[float]") -> Sequence[int]:
    """The places of the times that are later than all before them: the wall clock may have been set back."""
    if all(before < after for before, after in pairwise(times)):
        return range(len(times))
    found: list[int] = []
    for place, at in enumerate(times):
        if not found or at > times[found[-1]]:
            found.append(place)
    return found


def supply(course: Course, cycle: int) -> int | None:
    """What was there to serve in one of its cycles; None: the size is not known."""
    ready, size = course.ready[cycle], course.size[cycle]
    if size == UNKNOWN:
        return None
    return size if ready == UNKNOWN else ready


class _Leaving:
    """Units that have left the size and are not gone yet. Times are POSIX seconds, and rise."""

    __slots__ = ("_before", "_termination", "_units")

    def __init__(self, termination: float) -> None:
        self._termination = termination
        self._before = UNKNOWN
        self._units = deque[tuple[int, float]]()
        """How many, and when they are gone; in order of time."""

    def forget(self) -> None:
        """What the size was before is not known any more, so what leaves next is not known either."""
        self._before = UNKNOWN

    def see(self, size: int, at: float) -> None:
        """The size at a time, or UNKNOWN."""
        if UNKNOWN not in (size, self._before) and size < self._before and self._termination:
            self._units.append((self._before - size, at + self._termination))
        self._before = size

    def paid_seconds(self, at: float, seconds: float) -> float:
        """For how long they are there in so many seconds from `at` on, summed up over the units."""
        while self._units and self._units[0][1] <= at:
            self._units.popleft()
        return sum([units * min(seconds, gone - at) for units, gone in self._units])


class _Elasticity:
    """Sums of seconds, and of seconds weighted by how far demand and supply were apart."""

    __slots__ = (
        "_before", "_highest", "_missing", "_needed", "above", "apart", "lacking", "over", "seconds", "surplus",
        "under", "worst",
    )  # fmt: skip

    def __init__(self, highest: float) -> None:
        """`highest`: demand for each ready replica that is not above target yet."""
        self.seconds = self.lacking = self.surplus = self.under = self.over = self.apart = self.above = 0.0
        self.worst: float | None = None
        self._highest = highest
        self._missing = self._needed = 0.0
        self._before: tuple[int, int] | None = None
        """Demand and supply of the moment before; None: not known."""

    def forget(self) -> None:
        """What was before is not known any more."""
        self._before = None

    def add(self, needed: float, ready: int | None, seconds: float) -> None:
        """One moment."""
        if ready is None or isnan(needed):
            self._before = None
            return
        demand = ceil(needed)
        before, self._before = self._before, (demand, ready)
        if not seconds:
            return
        self.seconds += seconds
        self._missing += max(needed - ready, 0.0) * seconds
        self._needed += needed * seconds
        self.above += seconds * (needed > ready * self._highest)
        self.worst = max(self.worst or 0.0, needed / max(ready, 1))
        if ready < demand:
            self.under += seconds
            self.lacking += (demand - ready) / demand * seconds
        elif ready > demand:
            self.over += seconds
            self.surplus += (ready - demand) / max(demand, 1) * seconds
        if before is not None and _sign(demand - before[0]) != _sign(ready - before[1]):
            self.apart += seconds

    def unserved(self) -> float | None:
        """Of the demand."""
        if not self.seconds:
            return None
        return self._missing / self._needed if self._needed else 0.0

    def share(self, part: float) -> float | None:
        """Of the time."""
        return part / self.seconds if self.seconds else None


def _sign(difference: int) -> int:
    return (difference > 0) - (difference < 0)


def _turns(changes: Sequence[Change]) -> int:
    return sum((one.after > one.before) is not (next_.after > next_.before) for one, next_ in pairwise(changes))
