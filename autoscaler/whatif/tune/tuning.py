"""The search for the values of an autoscaler that would have cost least over its past, under a limit.

The load is conserved (`Load.CONSERVED`), and the targets in force now define the demand for all candidates. By its own
target, a candidate with a higher one would always look better.
"""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from math import isnan
from typing import Final, NamedTuple

from autoscaler.errors import AutoscalerError
from autoscaler.model import Autoscaler, History, MetricKind
from autoscaler.whatif.compare.measures import Measures, measures
from autoscaler.whatif.past.past import Cycle
from autoscaler.whatif.replay.course import course_of
from autoscaler.whatif.replay.demand import Demand
from autoscaler.whatif.replay.fitting import Fitting
from autoscaler.whatif.replay.instance_times import NONE_SEEN, InstanceTime
from autoscaler.whatif.replay.reaction import latency
from autoscaler.whatif.replay.replay import Candidate, replay
from autoscaler.whatif.tune.choices import Choices, Group
from autoscaler.whatif.tune.search import Evaluate, Point, Score, Search, search

_FEWEST: Final = 120
"""Cycles. The result of fewer would be chance."""
BLOCKS: Final = 12
"""Parts of a history, with as many cycles each."""
HELD_BACK: Final = (2, 4, 6, 11)
"""Blocks: one of each three, always a different one, so that they are of different hours of the day."""


class Untunable(AutoscalerError):
    """The autoscaler cannot be tuned; the message says what is missing."""


class Block(NamedTuple):
    """A part of the history that is held back from the search."""

    since: datetime
    until: datetime
    """Exclusive."""
    demand: Demand


@dataclass(frozen=True, slots=True)
class Split:
    """The demand in two parts. Saturated cycles count in neither."""

    searched: Demand
    held_back: Demand
    blocks: Sequence[Block]
    """Of the part that is held back, in order of time."""
    saturated_seconds: float
    """The time that counts in neither part because the demand may have been higher than measured."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What candidates are evaluated with, besides the cycles of the past."""

    base: Candidate
    """The configuration in force, with its limits and the start-up time."""
    kept: frozenset[Group]
    """What candidates leave as it is."""
    parts: Split
    termination: InstanceTime = NONE_SEEN
    origin: str = ""
    """Where the history was read from."""
    notes: Sequence[str] = ()
    """What the metrics show of the load."""


class Evaluation(NamedTuple):
    """One candidate over all parts of the history."""

    searched: Measures
    held_back: Measures
    blocks: Sequence[Measures]
    """Of each block that is held back."""
    start_up: InstanceTime | None
    """At the end of the history."""

    @property
    def worst(self) -> int:
        """The place of the block with the highest share of the demand left unserved."""
        return max(range(len(self.blocks)), key=lambda place: self.blocks[place].unserved or 0.0)


@dataclass(frozen=True, slots=True)
class Tuned:
    """The result of the search."""

    choices: Choices
    search: Search
    in_force: Evaluation
    best: Evaluation
    """Of the choice."""

    @property
    def keeps_limit(self) -> bool:
        """Whether the choice keeps the limit in the part that was searched."""
        return score_of(self.best.searched).unserved <= self.search.limit

    @property
    def keeps_limit_held_back(self) -> bool:
        """Whether the choice keeps the limit in the part that was held back."""
        return score_of(self.best.held_back).unserved <= self.search.limit

    @property
    def refuted(self) -> bool:
        """Whether the choice breaks the limit in the part that was held back, and is worse there than now."""
        best, now = score_of(self.best.held_back), score_of(self.in_force.held_back)
        return best.unserved > max(self.search.limit, now.unserved)


def score_of(found: Measures) -> Score:
    """What the search compares."""
    return Score(found.instance_hours, found.unserved or 0.0, found.changes)


def check_tunable(scaler: Autoscaler) -> None:
    """Raise Untunable if the load at another size cannot be known."""
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
                f"{named} is a latency ({why}): its value times the ready replicas is no load, so its value at another "
                "size is unknown; search with a metric of the load, such as requests per second"
            )


def check_queried(scaler: Autoscaler, recorded: Autoscaler) -> None:
    """Raise Untunable if the daemon did not query a metric while it ran with the configuration `recorded`."""
    missing = Fitting(scaler).missing(recorded)
    if missing:
        raise Untunable(
            f"autoscaler {scaler.name!r}: its history does not hold what its metric {missing[0].name} asks for: "
            f"{missing[0].query.expr}; search with the queries that it has run with"
        )


def split(demand: Demand, name: str) -> Split:
    """Hold back four of twelve blocks of the cycles that count. Raises Untunable if too few cycles count.

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
    edges = [*[known[len(known) * number // BLOCKS] for number in range(BLOCKS)], end]
    searched, blocks = unsaturated, list[Block]()
    for number in HELD_BACK:
        since, until = edges[number], edges[number + 1]
        blocks.append(Block(since, until, unsaturated.between(since, until)))
        searched = searched.without(blocks[-1].demand)
    return Split(searched, unsaturated.without(searched), blocks, hidden)


def conserved_part(cycle: Cycle, *, first: bool) -> Cycle:
    """What a replay of the conserved load needs of a cycle; it needs the whole memory of the first one only."""
    known = cycle.history
    if known is not None and not first:
        known = History(at=known.at, steering=known.steering)
    return replace(cycle, decision=None, history=known)


class Evaluator:
    """Evaluates combinations over one past."""

    def __init__(self, setup: Setup, cycles: Sequence[Cycle]) -> None:
        self._setup: Final = setup
        self._cycles: Final = cycles
        self._choices: Final = Choices(setup.base.scaler, setup.kept)

    def score(self, point: Point) -> Score:
        """Evaluate a combination over the part that is searched."""
        return score_of(self._measures(point, [self._setup.parts.searched])[0][0])

    def evaluate(self, point: Point) -> Evaluation:
        """Evaluate a combination over all parts."""
        parts = self._setup.parts
        demands = [parts.searched, parts.held_back, *[each.demand for each in parts.blocks]]
        (searched, held_back, *blocks), start_up = self._measures(point, demands)
        return Evaluation(searched, held_back, blocks, start_up)

    def _measures(self, point: Point, demands: Sequence[Demand]) -> tuple[Sequence[Measures], InstanceTime | None]:
        candidate = dataclasses.replace(self._setup.base, scaler=self._choices.at(point))
        course = course_of(candidate, replay(self._cycles, candidate))
        termination = self._setup.termination.seconds
        return [measures(course, demand, termination) for demand in demands], course.start_up


def tuned(
    setup: Setup,
    scores: Evaluate,
    evaluations: Callable[[Sequence[Point]], Sequence[Evaluation]],
    most: int,
    limit: float | None,
    seed: int,
) -> Tuned:
    """Search among at most `most` combinations; the same for the same arguments.

    `limit`: of the share of the demand left unserved; None: that of the configuration in force.
    """
    choices = Choices(setup.base.scaler, setup.kept)
    found = search(choices.space, scores, most, limit, seed)
    in_force, best = evaluations([choices.space.start, found.best.point])
    return Tuned(choices, found, in_force, best)
