"""The search among combinations, with made-up scores."""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaler.whatif.tune.search import Evaluate, Point, Score, Space, Tried, choice, front, search

LARGE = Space((7, 6, 8, 5, 6), (3, 2, 4, 1, 0))
SMALL = Space((3, 4), (1, 1))


def bowl(point: Point) -> Score:
    """The first axis trades cost against unserved demand; the others have a best value."""
    waste = sum((place - 3) ** 2 for place in point[1:])
    return Score(100 - 10 * point[0] + waste, point[0] / 100, sum(point))


def each(of: Callable[[Point], Score]) -> Evaluate:
    return lambda points: [of(point) for point in points]


def candidate(cost: float, unserved: float, place: int = 0) -> Tried:
    return Tried((place,), Score(cost, unserved, 0))


def test_all_combinations_of_a_small_space_are_tried() -> None:
    found = search(SMALL, each(bowl), most=15, limit=0.01, seed=1).tried
    assert len(found) == len({one.point for one in found}) == 12


def test_the_combination_in_force_is_tried_first() -> None:
    """All others are compared with it."""
    for space in (SMALL, LARGE):
        assert search(space, each(bowl), most=30, limit=0.01, seed=1).tried[0].point == space.start


def test_no_combination_is_tried_twice_and_no_more_than_allowed() -> None:
    """Each costs a replay of days."""
    found = search(LARGE, each(bowl), most=97, limit=0.02, seed=5).tried
    assert len(found) == len({one.point for one in found}) <= 97
    assert len(found) > 90


def test_the_same_seed_tries_the_same() -> None:
    runs = [search(LARGE, each(bowl), most=60, limit=0.02, seed=seed) for seed in (7, 7, 8)]
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


def test_two_hundred_tries_come_close_to_the_best_of_ten_thousand() -> None:
    """The least cost is 80: the limit allows the first axis 2."""
    best = search(LARGE, each(bowl), most=200, limit=0.02, seed=3).best
    assert best.score.unserved <= 0.02
    assert best.score.instance_hours <= 82


def test_the_choice_keeps_the_limit_at_the_least_cost() -> None:
    tried = [candidate(10, 0.3), candidate(20, 0.02, 1), candidate(25, 0.01, 2)]
    assert choice(tried, 0.02).point == (1,)


def test_the_nearest_to_the_limit_is_chosen_if_none_keeps_it() -> None:
    tried = [candidate(10, 0.3), candidate(20, 0.05, 1)]
    assert choice(tried, 0.02).point == (1,)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1))
def test_the_front_is_not_dominated_and_dominates_the_others(pairs: Sequence[tuple[int, int]]) -> None:
    tried = [candidate(cost, above, place) for place, (cost, above) in enumerate(pairs)]
    best = front(tried)
    assert [one.score.instance_hours for one in best] == sorted({one.score.instance_hours for one in best})
    for one in tried:
        no_worse = [
            other
            for other in best
            if other.score.instance_hours <= one.score.instance_hours and other.score.unserved <= one.score.unserved
        ]
        assert no_worse
        if one in best:
            assert no_worse == [one]


@pytest.mark.parametrize("most", [1, 2, 3])
def test_few_tries_are_enough_for_an_answer(most: int) -> None:
    assert 1 <= len(search(LARGE, each(bowl), most=most, limit=0.02, seed=1).tried) <= most


def test_the_limit_is_by_default_that_of_the_combination_in_force() -> None:
    found = search(LARGE, each(bowl), most=150, limit=None, seed=1)
    assert found.limit == bowl(LARGE.start).unserved
    assert found.best.score.unserved <= found.limit
    assert found.best.score.instance_hours < bowl(LARGE.start).instance_hours


def test_values_that_make_no_difference_stay_as_they_are() -> None:
    """An operator has to review the proposal."""

    def first_alone(point: Point) -> Score:
        return Score(100 - point[0], 0.0, 0)

    found = search(LARGE, each(first_alone), most=100, limit=0.02, seed=1)
    assert found.best.point == (6, *LARGE.start[1:])


def test_of_two_values_of_which_one_is_needed_one_stays() -> None:
    """Each may be put back, but not both."""

    def either(point: Point) -> Score:
        return Score(10.0 if point[0] == 6 or point[1] == 5 else 20.0, 0.0, 0)

    found = search(LARGE, each(either), most=100, limit=0.02, seed=1)
    assert found.best.score.instance_hours == 10
    assert sum(one != other for one, other in zip(found.best.point, LARGE.start, strict=True)) == 1
