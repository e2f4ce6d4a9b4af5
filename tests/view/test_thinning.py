"""Which points of a long series are drawn."""

from hypothesis import given
from hypothesis import strategies as st

from autoscaler.view.thinning import thinned_places


def test_a_short_series_is_drawn_completely() -> None:
    assert list(thinned_places([1, 2, None], [], 3)) == [0, 1, 2]


def test_a_peak_of_one_point_is_drawn() -> None:
    """Drawing every tenth point would omit it."""
    values = [1.0] * 1000
    values[333], values[666] = 9.0, 0.0

    found = thinned_places(values, [0, 999], 100)

    assert {0, 333, 666, 999} <= set(found)
    assert len(found) <= 100


def test_of_too_many_changes_an_even_selection_is_drawn() -> None:
    found = thinned_places([None] * 1000, range(1000), 11)

    assert list(found) == [0, 99, 199, 299, 399, 499, 599, 699, 799, 899, 999]


@given(
    st.lists(st.none() | st.floats(0, 100), min_size=1, max_size=200),
    st.integers(1, 60),
    st.data(),
)
def test_points_are_in_order_and_at_most_the_requested_number(
    values: list[float | None], most: int, data: st.DataObject
) -> None:
    turns = sorted(data.draw(st.sets(st.integers(0, len(values) - 1))))

    found = list(thinned_places(values, turns, most))

    assert len(found) <= max(most, 1)
    assert found == sorted(set(found))
    if len(turns) < most:
        assert set(turns) <= set(found)
