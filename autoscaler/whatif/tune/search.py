"""The search for a good combination of values: all of them, or a seeded sample of many.

Pure: the caller evaluates the combinations, several at a time. Which ones are tried depends on the seed and on the
scores of earlier ones, and not on how many are evaluated at a time.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import prod
from random import Random
from typing import Final, NamedTuple, TypeAlias

Point: TypeAlias = tuple[int, ...]
"""A combination: for each axis the place of its value, from 0."""

_BATCH: Final = 10
"""Combinations that are chosen together. It never depends on the number of processes; see above."""
_BEST: Final = 6
"""The best combinations so far, whose neighbours are tried."""
_TRIES: Final = 50
"""Attempts to find a neighbour that was not tried yet, before any combination is taken."""


class Space(NamedTuple):
    """All combinations."""

    sizes: tuple[int, ...]
    """The number of values of each axis."""
    start: Point
    """The combination in force."""


class Score(NamedTuple):
    """What the search compares. The order of the fields is that of preference among equals."""

    instance_hours: float
    unserved: float
    """The share of the demand left unserved, 0 to 1."""
    changes: int
    """Of size."""


class Tried(NamedTuple):
    """A combination with its score."""

    point: Point
    score: Score


Evaluate: TypeAlias = Callable[[Sequence[Point]], Sequence[Score]]
"""Returns the scores of several combinations, in their order. Each score depends on its combination alone."""


class Search(NamedTuple):
    """The result of a search."""

    tried: Sequence[Tried]
    """The combination in force first."""
    best: Tried
    """The one of least cost that keeps the limit; if none does, the one nearest to it."""
    limit: float
    """Of the share of the demand left unserved."""


def search(space: Space, evaluate: Evaluate, most: int, limit: float | None, seed: int) -> Search:
    """Try at most `most` combinations; the same for the same arguments.

    `limit`: of the share of the demand left unserved; None: that of the combination in force. The best combination
    keeps every value in force that makes nothing worse.
    """
    tried = {space.start: evaluate([space.start])[0]}
    bound = tried[space.start].unserved if limit is None else limit
    reserved = len(space.sizes) + 1  # for `_simplified`
    random = Random(seed)  # noqa: S311 - not used for secrets
    for batch in _batches(space, tried, max(1, most - reserved), bound, random):
        tried.update(zip(batch, evaluate(batch), strict=True))
    best = _simplified(space, tried, evaluate, most, bound)
    return Search([Tried(*each) for each in tried.items()], best, bound)


def _simplified(space: Space, tried: dict[Point, Score], evaluate: Evaluate, most: int, limit: float) -> Tried:
    """The best combination, with each value put back that makes nothing worse. Adds what it tries to `tried`."""
    best = choice([Tried(*each) for each in tried.items()], limit)
    for axis, place in enumerate(space.start):
        point = (*best.point[:axis], place, *best.point[axis + 1 :])
        if point not in tried and len(tried) < most:
            tried[point] = evaluate([point])[0]
        score = tried.get(point)
        if score is None or score.instance_hours > best.score.instance_hours:
            continue
        if score.unserved <= max(limit, best.score.unserved):
            best = Tried(point, score)
    return best


def choice(tried: Iterable[Tried], limit: float) -> Tried:
    """The combination of least cost that keeps the limit; if none does, the one nearest to it."""
    return min(tried, key=lambda each: _rank(each, limit))


def front(tried: Sequence[Tried]) -> Sequence[Tried]:
    """The best combinations by cost: no other costs less without leaving more of the demand unserved.

    `tried`: the combination in force first. Of equals, the one with the fewest differences from it is taken.
    """

    def difference(point: Point) -> int:
        return sum(one != other for one, other in zip(point, tried[0].point, strict=True))

    best: list[Tried] = []
    for each in sorted(tried, key=lambda each: (each.score, difference(each.point))):
        if not best or each.score.unserved < best[-1].score.unserved:
            best.append(each)
    return best


def _rank(tried: Tried, limit: float) -> tuple[float, ...]:
    cost, unserved, changes = tried.score
    return (0.0, cost, unserved, changes, *tried.point) if unserved <= limit else (1.0, unserved, cost, changes)


def _batches(
    space: Space, tried: Mapping[Point, Score], most: int, limit: float, random: Random
) -> Iterator[Sequence[Point]]:
    """What to try next. The caller adds each batch to `tried`.

    Of many combinations: first those with one changed value, then random ones, then neighbours of the best.
    """
    if prod(space.sizes) <= most:
        yield from _in_batches([point for point in product(*map(range, space.sizes)) if point != space.start])
        return
    alone = list(_one_changed(space))
    if len(alone) > most // 3:
        alone = random.sample(alone, most // 3)
    yield from _in_batches(alone[: most - 1])
    everywhere = len(alone) + 1 + most // 8
    while (left := most - len(tried)) > 0:
        batch: dict[Point, None] = {}
        best = sorted((Tried(*each) for each in tried.items()), key=lambda each: _rank(each, limit))[:_BEST]
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
        for place in range(size):
            if place != space.start[axis]:
                yield (*space.start[:axis], place, *space.start[axis + 1 :])


def _untried(space: Space, best: Sequence[Tried], known: Iterable[Point], random: Random) -> Point:
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
