"""Measures of a course of sizes: its cost, the demand that it left unserved, and its changes.

The measures of elasticity are those of the SPEC Research Group's Cloud working group: Herbst, Krebs, Oikonomou,
Kousiouris, Evangelinou, Iosup, Kounev: "Ready for Rain? A View from SPEC Research on the Future of Cloud Metrics",
technical report SPEC-RG-2016-01, 2016; in the form that is normalised by demand, as in Bauer, Herbst, Spinner,
Ali-Eldin, Kounev: "Chameleon: A Hybrid, Proactive Auto-Scaling Mechanism on a Level-Playing Field", IEEE TPDS 30(4),
2019. With demand d, supply s, and T the length of the time in which both are known:

    accuracy, under      1/T * sum of max(d - s, 0) / d * dt        time share, under    1/T * sum of dt where s < d
    accuracy, over       1/T * sum of max(s - d, 0) / d * dt        time share, over     1/T * sum of dt where s > d
    instability          1/T * sum of dt where the sign of the change of s is not that of the change of d

All are shares of 1, and 0 is best; only the accuracy of over-provisioning can exceed 1. Demand is rounded up to whole
replicas. Supply is the number of ready replicas, or the size if that is unknown. If no replica is needed, the accuracy
divides by one.
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
    """The measures of one candidate, over the time that the demand counts. Gaps do not count."""

    covered_seconds: float
    """During which the size is known."""
    smallest: int | None
    """The smallest size; None, as the next, if it is never known."""
    largest: int | None
    instance_hours: float
    """The size with the instances that are leaving, summed over time: what is paid for."""
    leaving_instance_hours: float
    """The part of the leaving instances, which take no load."""
    above_target_seconds: float
    """During which the demand exceeded the ready replicas by more than the reference's tolerance."""
    at_maximum_seconds: float
    """During which the size was at its upper bound."""
    worst_overload: float | None
    """The highest demand per ready replica: 1 is on the reference's target. None if nothing is known."""
    changes: int
    """Of size."""
    changes_of_direction: int
    """How many changes had the opposite direction of the change before."""
    compared_seconds: float
    """During which demand and supply are both known. All measures of the demand are over this time."""
    unserved: float | None
    """The share of the demand left unserved: the missing replicas over time, divided by the demand over time.

    None, as the next five, if nothing is known. 0 if nothing was needed.
    """
    accuracy_under: float | None
    """SPEC RG: the missing replicas relative to the demand, on average over time."""
    accuracy_over: float | None
    """SPEC RG: the surplus replicas relative to the demand, on average over time."""
    timeshare_under: float | None
    """SPEC RG: the share of the time with too few replicas."""
    timeshare_over: float | None
    """SPEC RG: the share of the time with too many replicas."""
    instability: float | None
    """SPEC RG: the share of the time in which supply and demand did not move alike."""
    saturated_seconds: float
    """During which the demand may have been higher than measured: the target was at its maximum and above target. The
    same for all candidates of a comparison."""


def measures(course: Course, demand: Demand, termination: timedelta = timedelta(0)) -> Measures:
    """Measure a candidate's course against the demand of the same past, over the time that the demand counts.

    `termination`: how long an instance that leaves is paid for after the change.
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
        leaving.add(size, demand.at[place])
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
    """For each cycle of the demand the place of the course's cycle in force; None if there is none."""
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
    """The places of the times that are later than all before; others follow a clock that was set back."""
    if all(before < after for before, after in pairwise(times)):
        return range(len(times))
    found: list[int] = []
    for place, at in enumerate(times):
        if not found or at > times[found[-1]]:
            found.append(place)
    return found


def supply(course: Course, cycle: int) -> int | None:
    """The replicas that could serve in a cycle; None if the size is unknown."""
    ready, size = course.ready[cycle], course.size[cycle]
    if size == UNKNOWN:
        return None
    return size if ready == UNKNOWN else ready


class _Leaving:
    """Instances that are leaving and still paid for. Times are POSIX seconds, rising."""

    __slots__ = ("_before", "_termination", "_units")

    def __init__(self, termination: float) -> None:
        self._termination = termination
        self._before = UNKNOWN
        self._units = deque[tuple[int, float]]()
        """How many, and until when; in order of time."""

    def forget(self) -> None:
        """The size before is unknown from here on."""
        self._before = UNKNOWN

    def add(self, size: int, at: float) -> None:
        """Take the size at a time; it may be UNKNOWN."""
        if UNKNOWN not in (size, self._before) and size < self._before and self._termination:
            self._units.append((self._before - size, at + self._termination))
        self._before = size

    def paid_seconds(self, at: float, seconds: float) -> float:
        """Return their instance-seconds within `seconds` after `at`."""
        while self._units and self._units[0][1] <= at:
            self._units.popleft()
        return sum([units * min(seconds, gone - at) for units, gone in self._units])


class _Elasticity:
    """Sums of seconds, and of seconds weighted by the difference of demand and supply."""

    __slots__ = (
        "_before", "_highest", "_missing", "_needed", "above", "apart", "lacking", "over", "seconds", "surplus",
        "under", "worst",
    )  # fmt: skip

    def __init__(self, highest: float) -> None:
        """`highest`: the highest demand per ready replica that is not above target."""
        self.seconds = self.lacking = self.surplus = self.under = self.over = self.apart = self.above = 0.0
        self.worst: float | None = None
        self._highest = highest
        self._missing = self._needed = 0.0
        self._before: tuple[int, int] | None = None
        """Demand and supply of the cycle before; None if unknown."""

    def forget(self) -> None:
        """The cycle before is unknown."""
        self._before = None

    def add(self, needed: float, ready: int | None, seconds: float) -> None:
        """Take the next cycle."""
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
        """As a share of the demand."""
        if not self.seconds:
            return None
        return self._missing / self._needed if self._needed else 0.0

    def share(self, part: float) -> float | None:
        """As a share of the time."""
        return part / self.seconds if self.seconds else None


def _sign(difference: int) -> int:
    return (difference > 0) - (difference < 0)


def _turns(changes: Sequence[Change]) -> int:
    return sum((one.after > one.before) is not (next_.after > next_.before) for one, next_ in pairwise(changes))
