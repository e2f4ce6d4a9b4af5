"""Allocation when the units do not suffice for all."""

from collections.abc import Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st

from autoscaler.limits.allocation import SizeRequest, allocate

sizes = st.integers(0, 30)
ways = st.lists(st.tuples(sizes, sizes).map(sorted).filter(lambda way: way[0] != way[1]), min_size=1, max_size=6)


def out(*pairs: tuple[int, int]) -> list[SizeRequest]:
    return [SizeRequest(f"s{place}", small, large) for place, (small, large) in enumerate(pairs)]


def inwards(*pairs: tuple[int, int]) -> list[SizeRequest]:
    return [SizeRequest(f"s{place}", large, small) for place, (small, large) in enumerate(pairs)]


def reached(requests: Sequence[SizeRequest], units: int) -> list[int]:
    allowed = allocate(requests, units)
    return [allowed[request.name] for request in requests]


def unit_by_unit(requests: Sequence[SizeRequest], units: int) -> Mapping[str, int]:
    """The documented rule, one unit a step."""
    now = {request.name: request.size for request in requests}
    for _ in range(units):
        waiting = [request for request in requests if now[request.name] != request.wanted]
        if not waiting:
            break
        next_one = min(
            waiting,
            key=lambda request: (
                -request.need(now[request.name]),
                -abs(request.wanted - now[request.name]),
                request.name,
            ),
        )
        now[next_one.name] = next_one.next(now[next_one.name])
    return now


@given(ways, st.integers(0, 200), st.booleans())
def test_each_unit_goes_to_the_largest_need(pairs: list[tuple[int, int]], units: int, grows: bool) -> None:
    """Also by an algorithm that compares all of them for every unit."""
    requests = out(*pairs) if grows else inwards(*pairs)
    assert allocate(requests, units) == unit_by_unit(requests, units)


def test_a_sufficient_limit_changes_nothing() -> None:
    """A limit above all requests has no effect."""
    assert reached(out((2, 6), (10, 14)), 8) == [6, 14]


def test_without_units_no_size_changes() -> None:
    """Also with a negative number of units, after a limit was lowered."""
    assert reached(out((0, 6), (10, 14)), 0) == [0, 10]
    assert reached(inwards((2, 6)), -3) == [6]


def test_a_service_at_a_third_of_its_need_precedes_one_that_lacks_a_tenth() -> None:
    """Two instances that should be six drop requests; a hundred that should be a hundred and ten hardly notice."""
    assert reached(out((2, 6), (100, 110)), 4) == [6, 100]


def test_equal_needs_are_served_alike() -> None:
    """The order in the file does not matter."""
    assert reached(out((2, 8), (2, 8), (2, 8)), 6) == [4, 4, 4]


def test_a_service_without_an_instance_comes_first() -> None:
    """It serves no requests at all."""
    assert reached(out((0, 1), (1, 50)), 1) == [1, 1]


def test_the_most_oversized_service_shrinks_first() -> None:
    """With equal sizes, the service with the smaller need has more to spare."""
    assert reached(inwards((2, 10), (90, 98)), 8) == [2, 98]
