"""The search among combinations, with made-up evaluations."""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaler.whatif.tune.search import Candidate, Evaluate, Point, Score, Space, choice, front, search

LARGE = Space((7, 6, 8, 5, 6), (3, 2, 4, 1, 0))
SMALL = Space((3, 4), (1, 1))


def bowl(point: Point) -> Score:
    """Dearer the lower the first axis, and leaving more unserved the higher it is; the others have a best value."""
    waste = sum((place - 3) ** 2 for place in point[1:])
    return Score(100 - 10 * point[0] + waste, point[0] / 100, sum(point))


def each(of: Callable[[Point], Score]) -> Evaluate:
    return lambda points: [of(point) for point in points]


def candidate(cost: float, unserved: float, place: int = 0) -> Candidate:
    return Candidate((place,), Score(cost, unserved, 0))


def test_a_small_grid_is_tried_whole() -> None:
    """Then nothing is left to chance."""
    found = search(SMALL, each(bowl), most=15, limit=0.01, seed=1).tried
    assert len(found) == len({one.point for one in found}) == 12


def test_the_one_in_force_is_tried_first() -> None:
    """All others are set against it."""
    for space in (SMALL, LARGE):
        assert search(space, each(bowl), most=30, limit=0.01, seed=1).tried[0].point == space.start


def test_no_combination_is_tried_twice_and_no_more_than_asked_for() -> None:
    """Each costs a replay of days."""
    found = search(LARGE, each(bowl), most=97, limit=0.02, seed=5).tried
    assert len(found) == len({one.point for one in found}) <= 97
    assert len(found) > 90


def test_the_same_seed_tries_the_same() -> None:
    """So that a result can be had again."""
    runs = [search(LARGE, each(bowl), most=60, limit=0.02, seed=seed) for seed in (7, 7, 8)]
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


def test_it_comes_close_to_the_best_of_ten_thousand() -> None:
    """With two hundred tries: the least cost is 80 where the limit allows the first axis 2."""
    best = search(LARGE, each(bowl), most=200, limit=0.02, seed=3).best
    assert best.score.unserved <= 0.02
    assert best.score.cost <= 82


def test_the_choice_keeps_the_limit_at_the_least_cost() -> None:
    """The limit itself is kept."""
    tried = [candidate(10, 0.3), candidate(20, 0.02, 1), candidate(25, 0.01, 2)]
    assert choice(tried, 0.02).point == (1,)


def test_where_none_keeps_the_limit_the_nearest_is_chosen() -> None:
    """And the caller says so."""
    tried = [candidate(10, 0.3), candidate(20, 0.05, 1)]
    assert choice(tried, 0.02).point == (1,)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1))
def test_nothing_beats_what_is_in_front(pairs: Sequence[tuple[int, int]]) -> None:
    """And everything else is beaten by one of them, or its equal."""
    tried = [candidate(cost, above, place) for place, (cost, above) in enumerate(pairs)]
    best = front(tried)
    assert [one.score.cost for one in best] == sorted({one.score.cost for one in best})
    for one in tried:
        no_worse = [
            other for other in best if other.score.cost <= one.score.cost and other.score.unserved <= one.score.unserved
        ]
        assert no_worse
        if one in best:
            assert no_worse == [one]


@pytest.mark.parametrize("most", [1, 2, 3])
def test_few_tries_are_enough_for_an_answer(most: int) -> None:
    """At least the one in force."""
    assert 1 <= len(search(LARGE, each(bowl), most=most, limit=0.02, seed=1).tried) <= most


def test_without_a_limit_it_is_what_the_one_in_force_comes_to() -> None:
    """Cheaper, and leaving no more unserved than now."""
    found = search(LARGE, each(bowl), most=150, limit=None, seed=1)
    assert found.limit == bowl(LARGE.start).unserved
    assert found.best.score.unserved <= found.limit
    assert found.best.score.cost < bowl(LARGE.start).cost


def test_values_that_make_no_difference_stay_as_they_are() -> None:
    """What is proposed should be as little as can be: somebody has to review it."""

    def first_alone(point: Point) -> Score:
        return Score(100 - point[0], 0.0, 0)

    found = search(LARGE, each(first_alone), most=100, limit=0.02, seed=1)
    assert found.best.point == (6, *LARGE.start[1:])


def test_values_that_make_a_difference_together_alone_are_not_lost() -> None:
    """Each of two may be put back, but not both."""

    def either(point: Point) -> Score:
        return Score(10.0 if point[0] == 6 or point[1] == 5 else 20.0, 0.0, 0)

    found = search(LARGE, each(either), most=100, limit=0.02, seed=1)
    assert found.best.score.cost == 10
    assert sum(one != other for one, other in zip(found.best.point, LARGE.start, strict=True)) == 1
