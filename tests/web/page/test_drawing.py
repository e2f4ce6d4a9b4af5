"""Places of marks in the small drawings."""

import pytest

from autoscaler.web.page.drawing import WIDTH, LoadBar, SizeGauge, load_bar, size_gauge


@pytest.mark.parametrize(
    ("current", "desired", "drawn"),
    [
        (1, 1, SizeGauge(5.0, None)),
        (11, 6, SizeGauge(115.0, 60.0)),
        (40, 11, SizeGauge(115.0, 115.0)),
        (None, None, SizeGauge(None, None)),
    ],
)
def test_a_size_is_drawn_between_its_bounds(current: int | None, desired: int | None, drawn: SizeGauge) -> None:
    """Also one that is outside them, or unknown: a mark beside the drawing would be a lie."""
    assert size_gauge(current, desired, 1, 11) == drawn


def test_equal_bounds_are_drawn_in_the_middle() -> None:
    """There is no length to divide by."""
    assert size_gauge(3, 3, 3, 3) == SizeGauge(60.0, None)


def test_no_bounds_no_gauge() -> None:
    """Nothing is known before the first decision of what left the configuration."""
    assert size_gauge(3, 3, None, None) is None


@pytest.mark.parametrize(
    ("value", "bar"),
    [
        (30.0, LoadBar(40.0, 80.0, above=False)),
        (60.0, LoadBar(80.0, 80.0, above=False)),
        (600.0, LoadBar(WIDTH, 80.0, above=True)),
        (None, None),
    ],
)
def test_a_load_is_drawn_against_its_target(value: float | None, bar: LoadBar | None) -> None:
    """The target stands at the same place in every row, so that a column of bars compares."""
    assert load_bar(value, 60) == bar
