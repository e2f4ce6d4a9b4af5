"""The search for a good choice among many combinations of values: a plain grid, or a seeded sample of a large one.

Pure: what a combination comes to is for the caller to say, for a batch of them at a time. Which combinations are tried
depends on the seed and on what earlier ones came to, and on nothing else: not on how many are evaluated at a time.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import prod
from random import Random
from typing import Final, NamedTuple, TypeAlias

Point: TypeAlias = tuple[int, ...]
"""One combination: for each axis the place of its value, from 0."""

_BATCH: Final = 10
"""Combinations that are chosen together, from what came of all before them. Always the same number: see above."""
_BEST: Final = 6
"""Of those found so far, whose neighbours are tried."""
_TRIES: Final = 50
"""To find a neighbour that was not tried yet, before any other combination does."""


class Space(NamedTuple):
    """All combinations."""

    sizes: tuple[int, ...]
    """How many values each axis has."""
    start: Point
    """The combination that is in force."""


class Score(NamedTuple):
    """What a combination came to."""

    cost: float
    """Instance-hours."""
    unserved: float
    """Share of the demand that was left unserved, 0 to 1."""
    changes: int
    """Of the size."""


class Candidate(NamedTuple):
    """One combination that was tried."""

    point: Point
    score: Score


Evaluate: TypeAlias = Callable[[Sequence[Point]], Sequence[Score]]
"""What each of several combinations comes to, in their order. The answer for one depends on that one alone."""


class Search(NamedTuple):
    """What a search came to."""

    tried: Sequence[Candidate]
    """The one in force first."""
    best: Candidate
    """Of those that keep the limit the one of least cost; where none does, the one nearest to it."""
    limit: float
    """Of the share of the demand that is left unserved."""


def search(space: Space, evaluate: Evaluate, most: int, limit: float | None, seed: int) -> Search:
    """Try at most so many combinations; the same for the same arguments.

    `limit`: of the share of the demand left unserved; None: what the one in force comes to. In the best one, values
    that make no difference are those in force.
    """
    tried = {space.start: evaluate([space.start])[0]}
    bound = tried[space.start].unserved if limit is None else limit
    reserved = len(space.sizes) + 1  # for leaving as it is what makes no difference
    random = Random(seed)  # noqa: S311 - no secret hangs on it
    for batch in _batches(space, tried, max(1, most - reserved), bound, random):
        tried.update(zip(batch, evaluate(batch), strict=True))
    best = _simplified(space, tried, evaluate, most, bound)
    return Search([Candidate(*each) for each in tried.items()], best, bound)


def _simplified(space: Space, tried: dict[Point, Score], evaluate: Evaluate, most: int, limit: float) -> Candidate:
    """The best, with every value put back that makes nothing worse; what had to be tried for it is added to `tried`."""

    def tried_now(points: Iterable[Point]) -> None:
        new = [point for point in dict.fromkeys(points) if point not in tried][: most - len(tried)]
        tried.update(zip(new, evaluate(new), strict=True))

    def no_worse(point: Point) -> bool:
        score = tried.get(point)
        return score is not None and score.cost <= best.score.cost and score.unserved <= max(limit, best.score.unserved)

    def put_back(axes: Sequence[int]) -> Point:
        return tuple([space.start[axis] if axis in axes else place for axis, place in enumerate(best.point)])

    best = choice([Candidate(*each) for each in tried.items()], limit)
    moved = [axis for axis, place in enumerate(best.point) if place != space.start[axis]]
    tried_now(put_back([axis]) for axis in moved)
    needless = [axis for axis in moved if no_worse(put_back([axis]))]
    tried_now([put_back(needless)])
    for axes in (needless, needless[:1]):
        if no_worse(put_back(axes)):
            return Candidate(put_back(axes), tried[put_back(axes)])
    return best


def choice(candidates: Iterable[Candidate], limit: float) -> Candidate:
    """Of those that keep the limit the one of least cost; where none does, the one nearest to it."""
    return min(candidates, key=lambda each: _rank(each, limit))


def front(tried: Sequence[Candidate]) -> Sequence[Candidate]:
    """The best choices: those of which no other costs less without leaving more of the demand unserved. By cost.

    `tried`: the one in force first. Of several that come to the same, the one that differs least from it.
    """

    def difference(point: Point) -> int:
        return sum(one != other for one, other in zip(point, tried[0].point, strict=True))

    best: list[Candidate] = []
    for each in sorted(tried, key=lambda each: (each.score, difference(each.point))):
        if not best or each.score.unserved < best[-1].score.unserved:
            best.append(each)
    return best


def _rank(candidate: Candidate, limit: float) -> tuple[float, ...]:
    cost, unserved, changes = candidate.score
    return (0.0, cost, unserved, changes, *candidate.point) if unserved <= limit else (1.0, unserved, cost, changes)


def _batches(
    space: Space, tried: Mapping[Point, Score], most: int, limit: float, random: Random
) -> Iterator[Sequence[Point]]:
    """What to try next, while `tried` grows by it."""
    every = prod(space.sizes)
    if every <= most:
        yield from _in_batches([point for point in product(*map(range, space.sizes)) if point != space.start])
        return
    alone = list(_one_changed(space))
    if len(alone) > most // 3:
        alone = random.sample(alone, most // 3)
    yield from _in_batches(alone[: most - 1])
    everywhere = len(alone) + 1 + most // 8
    while (left := most - len(tried)) > 0:
        batch: dict[Point, None] = {}
        best = sorted((Candidate(*each) for each in tried.items()), key=lambda each: _rank(each, limit))[:_BEST]
        while len(batch) < min(_BATCH, left):
            known = tried.keys() | batch.keys()
            batch[_untried(space, [] if len(known) < everywhere else best, known, random)] = None
        yield list(batch)


def _in_batches(points: Sequence[Point]) -> Iterator[Sequence[Point]]:
    for begin in range(0, len(points), _BATCH):
        yield points[begin : begin + _BATCH]


def _one_changed(space: Space) -> Iterator[Point]:
    """Every combination that differs from the one in force in one value."""
    for axis, size in enumerate(space.sizes):
        yield from (
            (*space.start[:axis], place, *space.start[axis + 1 :])
            for place in range(size)
            if place != space.start[axis]
        )


def _untried(space: Space, best: Sequence[Candidate], known: Iterable[Point], random: Random) -> Point:
    """A combination that is not known: near one of the best, else any."""
    seen = frozenset(known)
    for _ in range(_TRIES if best else 0):
        place = list(random.choice(best).point)
        for axis in random.sample(range(len(place)), random.randint(1, min(2, len(place)))):
            last = space.sizes[axis] - 1
            step = random.choice((-1, 1, None))
            place[axis] = random.randint(0, last) if step is None else min(max(place[axis] + step, 0), last)
        if (point := tuple(place)) not in seen:
            return point
    while (point := tuple([random.randrange(size) for size in space.sizes])) in seen:
        pass
    return point
