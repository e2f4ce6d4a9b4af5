"""The search for the values of an autoscaler that would have cost least over its past, under a limit.

The load is conserved (`Load.CONSERVED`). What counts as above target is the same for all candidates: the load would
have needed more than was ready, by the targets and the tolerance that are in force now. By a candidate's own target,
a higher one would always look better.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from math import isnan
from typing import Final, NamedTuple

from autoscaler.decide.proposals import tolerances_of
from autoscaler.errors import AutoscalerError
from autoscaler.model import Autoscaler, History, MetricKind
from autoscaler.whatif.compare.measures import Measures, measures, places_in_force
from autoscaler.whatif.past.past import Moment
from autoscaler.whatif.replay.course import UNKNOWN, Course, StartUp, course_of
from autoscaler.whatif.replay.demand import Demand
from autoscaler.whatif.replay.fitting import Fitting
from autoscaler.whatif.replay.replay import Load, replay
from autoscaler.whatif.tune.choices import Choices, Group
from autoscaler.whatif.tune.search import Candidate, Evaluate, Point, Score, front, search

_FEWEST: Final = 30
"""Cycles: with fewer, any answer would be chance."""


class Untunable(AutoscalerError):
    """There is nothing to search by: the message says what is missing."""


@dataclass(frozen=True, slots=True)
class Split:
    """A demand curve in two: what is searched, and what is held back from the search. Neither has saturated moments."""

    searched: Demand
    held_back: Demand
    cut: datetime
    """The first moment that is held back."""
    saturated_seconds: float
    """What is left out of both because the demand may have been hidden."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What candidates are evaluated by. Together with the moments it says everything: the answer for one is a value."""

    scaler: Autoscaler
    """As it is in force."""
    kept: frozenset[Group]
    parts: Split
    start_up: timedelta | None
    """As in `replay`."""
    termination: timedelta = timedelta(0)
    """As of `measures`."""


class Evaluated(NamedTuple):
    """One candidate over a part of the past."""

    score: Score
    measures: Measures


class Whole(NamedTuple):
    """One candidate over both parts."""

    searched: Evaluated
    held_back: Evaluated
    start_up: StartUp | None
    """As of its course."""


@dataclass(frozen=True, slots=True)
class Tuned:
    """What the search came to."""

    choices: Choices
    limit: float
    """Of the share of the time above target, 0 to 1."""
    tried: Sequence[Candidate]
    """The one in force first."""
    front: Sequence[Candidate]
    """The best choices, by cost."""
    chosen: Point
    in_force: Whole
    best: Whole
    """The choice."""

    @property
    def keeps_limit(self) -> bool:
        """Whether the choice keeps the limit in the part that was searched."""
        return self.best.searched.score.above <= self.limit

    @property
    def refuted(self) -> bool:
        """Whether the choice, in the part that was held back, breaks the limit and is worse than what is in force."""
        return self.best.held_back.score.above > max(self.limit, self.in_force.held_back.score.above)


def check_tunable(scaler: Autoscaler) -> None:
    """Raise Untunable for an autoscaler whose load at another size cannot be known."""
    for metric in scaler.metrics:
        if metric.kind is MetricKind.BACKLOG and metric.service_rate is None:
            raise Untunable(
                f"autoscaler {scaler.name!r}: its metric {metric.name} is a backlog, and how fast an instance works it "
                "off is not known; write its serviceRate into the configuration"
            )


def check_asked(scaler: Autoscaler, recorded: Autoscaler) -> None:
    """Raise Untunable where a metric was not asked for when its history was recorded, for `recorded`."""
    missing = Fitting(scaler).missing(recorded)
    if missing:
        raise Untunable(
            f"autoscaler {scaler.name!r}: its history does not hold what its metric {missing[0].name} asks for: "
            f"{missing[0].query.expr}; search with the queries that it has run with"
        )


def split(demand: Demand, name: str) -> Split:
    """The last third of the moments that count is held back. Raises Untunable where too little counts.

    `name`: the autoscaler's.
    """
    unsaturated = demand.unsaturated()
    known = [
        at
        for at, needed, counted in zip(demand.at, demand.needed, unsaturated.counted, strict=True)
        if counted and not isnan(needed)
    ]
    hidden = sum(seconds for seconds, saturated in zip(demand.seconds, demand.saturated, strict=True) if saturated)
    if len(known) < _FEWEST:
        left_out = f" ({hidden:.0f} s in which it was saturated are left out)" if hidden else ""
        raise Untunable(
            f"autoscaler {name!r}: {len(known)} cycles of its history tell what its load needed{left_out}; at least "
            f"{_FEWEST} are needed: look further back with --since"
        )
    cut, end = (datetime.fromtimestamp(each, UTC) for each in (known[len(known) * 2 // 3], demand.at[-1]))
    begin = datetime.fromtimestamp(demand.at[0], UTC)
    return Split(unsaturated.between(begin, cut), unsaturated.between(cut, end + timedelta(days=1)), cut, hidden)


def conserved_part(moment: Moment, *, first: bool) -> Moment:
    """What a replay of the conserved load uses of a moment: all that was remembered only of the first."""
    known = moment.history
    if known is not None and not first:
        known = History(at=known.at, steering=known.steering)
    return replace(moment, decision=None, history=known)


class Evaluator:
    """Evaluates candidates over one past."""

    def __init__(self, setup: Setup, moments: Sequence[Moment]) -> None:
        self._setup: Final = setup
        self._moments: Final = moments
        self._choices: Final = Choices(setup.scaler, setup.kept)

    def score(self, point: Point) -> Score:
        """What one comes to in the part that is searched."""
        parts = self._setup.parts
        course = self._course(point, until=parts.cut)
        return self._evaluated(course, parts.searched).score

    def whole(self, point: Point) -> Whole:
        """What one comes to in both parts; what it remembered at the end of the first it knows in the second."""
        parts, course = self._setup.parts, self._course(point)
        searched, held_back = self._evaluated(course, parts.searched), self._evaluated(course, parts.held_back)
        return Whole(searched, held_back, course.start_up)

    def _evaluated(self, course: Course, demand: Demand) -> Evaluated:
        found = measures(course, demand, self._setup.termination)
        above = share_above(course, demand, self._setup.scaler)
        return Evaluated(Score(found.instance_hours, above, found.changes), found)

    def _course(self, point: Point, until: datetime | None = None) -> Course:
        scaler = self._choices.at(point)
        used = self._moments if until is None else takewhile(lambda each: each.at < until, self._moments)
        return course_of("candidate", scaler, replay(used, scaler, Load.CONSERVED, self._setup.start_up))


def tuned(
    setup: Setup,
    scores: Evaluate,
    whole: Callable[[Sequence[Point]], Sequence[Whole]],
    most: int,
    limit: float | None,
    seed: int,
) -> Tuned:
    """Search among at most so many candidates; the same for the same arguments.

    `limit`: of the share of the time above target; None: what the configuration in force comes to.
    """
    choices = Choices(setup.scaler, setup.kept)
    found = search(choices.space, scores, most, limit, seed)
    chosen = found.best.point
    in_force, best = whole([choices.space.start, chosen])
    return Tuned(choices, found.limit, found.tried, front(found.tried), chosen, in_force, best)


def share_above(course: Course, demand: Demand, reference: Autoscaler) -> float:
    """Of the time in which both are known, the share in which the load needed more than was ready, 0 to 1.

    By more than the tolerance of `reference`, whose demand it is: its metrics would have been above their targets.
    """
    tolerance = tolerances_of(reference).up
    known = above = 0.0
    for place, cycle in enumerate(places_in_force(course, demand)):
        needed = demand.needed[place]
        if cycle is None or not demand.counted[place] or isnan(needed):
            continue
        size = course.size[cycle]
        if size == UNKNOWN:
            continue
        ready = size if course.ready[cycle] == UNKNOWN else course.ready[cycle]
        known += demand.seconds[place]
        above += demand.seconds[place] * (needed > ready * (1 + tolerance))
    return above / known if known else 0.0
