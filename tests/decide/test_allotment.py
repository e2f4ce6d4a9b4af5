"""Who goes how far when there is not enough for all."""

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaler.decide.allotment import Want, allot

sizes = st.integers(0, 30)
ways = st.lists(st.tuples(sizes, sizes).map(sorted).filter(lambda way: way[0] != way[1]), min_size=1, max_size=6)


def out(*pairs: tuple[int, int]) -> list[Want]:
    return [Want(f"s{place}", small, large) for place, (small, large) in enumerate(pairs)]


def inwards(*pairs: tuple[int, int]) -> list[Want]:
    return [Want(f"s{place}", large, small) for place, (small, large) in enumerate(pairs)]


def reached(wants: Sequence[Want], units: int) -> list[int]:
    allowed = allot(wants, units)
    return [allowed[want.name] for want in wants]


def unit_by_unit(wants: Sequence[Want], units: int) -> Mapping[str, int]:
    """The rule as it is written, a unit a step."""
    now = {want.name: want.size for want in wants}
    for _ in range(units):
        waiting = [want for want in wants if now[want.name] != want.wanted]
        if not waiting:
            break
        next_one = min(
            waiting,
            key=lambda want: (-want.need(now[want.name]), -abs(want.wanted - now[want.name]), want.name),
        )
        now[next_one.name] = next_one.next(now[next_one.name])
    return now


@given(ways, st.integers(0, 200), st.booleans())
def test_each_unit_goes_to_whoever_needs_it_most(pairs: list[tuple[int, int]], units: int, grows: bool) -> None:
    """The quick way to it, for sizes in the millions, comes to the same as a step for each unit."""
    wants = out(*pairs) if grows else inwards(*pairs)
    assert allot(wants, units) == unit_by_unit(wants, units)


def test_enough_for_all_changes_nothing() -> None:
    """A limit that does not bind is not felt."""
    assert reached(out((2, 6), (10, 14)), 8) == [6, 14]


def test_nothing_left_moves_nobody() -> None:
    """And less than nothing, after a limit was lowered, neither."""
    assert reached(out((0, 6), (10, 14)), 0) == [0, 10]
    assert reached(inwards((2, 6)), -3) == [6]


def test_a_service_at_a_third_of_its_need_comes_before_one_that_lacks_a_tenth() -> None:
    """Two instances that should be six drop requests; a hundred that should be a hundred and ten hardly notice."""
    assert reached(out((2, 6), (100, 110)), 4) == [6, 100]


def test_equal_needs_are_served_alike() -> None:
    """Nobody is better off for standing first in the file."""
    assert reached(out((2, 8), (2, 8), (2, 8)), 6) == [4, 4, 4]


def test_a_service_without_an_instance_comes_first() -> None:
    """It serves nobody at all."""
    assert reached(out((0, 1), (1, 50)), 1) == [1, 1]


def test_what_is_most_too_large_shrinks_first() -> None:
    """Of the same number of instances the smaller service has more to spare, measured by what it needs."""
    assert reached(inwards((2, 10), (90, 98)), 8) == [2, 98]


@pytest.mark.parametrize("grows", [True, False])
def test_sizes_in_the_billions_take_no_time(grows: bool) -> None:
    """A load beyond all sizes asks for maxReplicas, and that may be any number."""
    largest = 2**31 - 1
    wants = [Want(f"s{k}", 0, largest) if grows else Want(f"s{k}", largest, 0) for k in range(500)]
    moved = [abs(size - want.size) for want, size in zip(wants, reached(wants, 2**36 + 7), strict=True)]
    assert (sum(moved), max(moved) - min(moved)) == (2**36 + 7, 1)
