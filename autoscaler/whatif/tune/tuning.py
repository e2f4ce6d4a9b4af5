"""The search for the values of an autoscaler that would have cost least over its past, under a limit.

The load is conserved (`Load.CONSERVED`). What counts as above target is the same for all candidates: the load would
have needed more than was ready, by the targets and the tolerance that are in force now. By a candidate's own target,
a higher one would always look better.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from math import isnan
from typing import Final, NamedTuple

from autoscaler.errors import AutoscalerError
from autoscaler.model import Autoscaler, ConnectionLimits, History, MetricKind
from autoscaler.whatif.compare.measures import Measures, measures
from autoscaler.whatif.past.past import Moment
from autoscaler.whatif.replay.course import Course, StartUp, course_of
from autoscaler.whatif.replay.demand import Demand
from autoscaler.whatif.replay.fitting import Fitting
from autoscaler.whatif.replay.reaction import latency
from autoscaler.whatif.replay.replay import NO_LIMITS, Load, replay
from autoscaler.whatif.tune.choices import Choices, Group
from autoscaler.whatif.tune.search import Candidate, Evaluate, Point, Score, front, search

_FEWEST: Final = 120
"""Cycles: with fewer, any answer would be chance."""
_BLOCKS: Final = 12
"""Of a history, of as many cycles each."""
_HELD_BACK: Final = (2, 4, 6, 11)
"""Blocks: one of each three in turn, each time another one of them, so that they are of different hours of a day."""


class Untunable(AutoscalerError):
    """There is nothing to search by: the message says what is missing."""


class Block(NamedTuple):
    """A part of the history that is held back from the search."""

    since: datetime
    until: datetime
    """Not in it."""
    demand: Demand


@dataclass(frozen=True, slots=True)
class Split:
    """A demand curve in what is searched and what is held back. Neither has saturated moments."""

    searched: Demand
    held_back: Demand
    blocks: Sequence[Block]
    """Of what is held back, in order of time."""
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
    limits: ConnectionLimits = NO_LIMITS
    """As in `replay`."""


class Evaluated(NamedTuple):
    """One candidate over a part of the past."""

    score: Score
    measures: Measures


class Whole(NamedTuple):
    """One candidate over all parts."""

    searched: Evaluated
    held_back: Evaluated
    blocks: Sequence[Evaluated]
    """For each that is held back."""
    start_up: StartUp | None
    """As of its course."""

    @property
    def worst(self) -> int:
        """The place of the block in which it leaves most of the demand unserved."""
        return max(range(len(self.blocks)), key=lambda place: self.blocks[place].score.unserved)


@dataclass(frozen=True, slots=True)
class Tuned:
    """What the search came to."""

    choices: Choices
    limit: float
    """Of the share of the demand left unserved, 0 to 1."""
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
        return self.best.searched.score.unserved <= self.limit

    @property
    def refuted(self) -> bool:
        """Whether, in what was held back, the choice breaks the limit and leaves more unserved than now."""
        return self.best.held_back.score.unserved > max(self.limit, self.in_force.held_back.score.unserved)


def check_tunable(scaler: Autoscaler) -> None:
    """Raise Untunable for an autoscaler whose load at another size cannot be known."""
    for metric in scaler.metrics:
        named = f"autoscaler {scaler.name!r}: its metric {metric.name}"
        if metric.kind is MetricKind.BACKLOG and metric.service_rate is None:
            raise Untunable(
                f"{named} is a backlog, and how fast an instance works it off is not known; write its serviceRate into "
                "the configuration"
            )
        why = latency(metric)
        if why is not None:
            raise Untunable(
                f"{named} is a latency ({why}): its value times the ready replicas is no load, so nothing tells what it"
                " would have been at another size; search with a metric of the load, such as requests per second"
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
    """Four of twelve blocks of the moments that count are held back. Raises Untunable where too little counts.

    `name`: the autoscaler's.
    """
    unsaturated = demand.unsaturated()
    known = [
        datetime.fromtimestamp(at, UTC)
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
    end = datetime.fromtimestamp(demand.at[-1] + demand.seconds[-1], UTC)
    edges = [*[known[len(known) * number // _BLOCKS] for number in range(_BLOCKS)], end]
    searched, blocks = unsaturated, list[Block]()
    for number in _HELD_BACK:
        since, until = edges[number], edges[number + 1]
        blocks.append(Block(since, until, unsaturated.between(since, until)))
        searched = searched.without(blocks[-1].demand)
    return Split(searched, unsaturated.without(searched), blocks, hidden)


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
        return self._evaluated(self._course(point), self._setup.parts.searched).score

    def whole(self, point: Point) -> Whole:
        """What one comes to in all parts."""
        parts, course = self._setup.parts, self._course(point)
        searched, held_back = self._evaluated(course, parts.searched), self._evaluated(course, parts.held_back)
        blocks = [self._evaluated(course, each.demand) for each in parts.blocks]
        return Whole(searched, held_back, blocks, course.start_up)

    def _evaluated(self, course: Course, demand: Demand) -> Evaluated:
        found = measures(course, demand, self._setup.termination)
        return Evaluated(Score(found.instance_hours, found.unserved or 0.0, found.changes), found)

    def _course(self, point: Point) -> Course:
        scaler = self._choices.at(point)
        setup = self._setup
        again = replay(self._moments, scaler, Load.CONSERVED, setup.start_up, setup.limits)
        return course_of("candidate", scaler, again)


def tuned(
    setup: Setup,
    scores: Evaluate,
    whole: Callable[[Sequence[Point]], Sequence[Whole]],
    most: int,
    limit: float | None,
    seed: int,
) -> Tuned:
    """Search among at most so many candidates; the same for the same arguments.

    `limit`: of the share of the demand left unserved; None: what the configuration in force comes to.
    """
    choices = Choices(setup.scaler, setup.kept)
    found = search(choices.space, scores, most, limit, seed)
    chosen = found.best.point
    in_force, best = whole([choices.space.start, chosen])
    return Tuned(choices, found.limit, found.tried, front(found.tried), chosen, in_force, best)
