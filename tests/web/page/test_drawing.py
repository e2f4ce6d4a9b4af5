"""The small drawings of the list: where their marks are."""

from datetime import timedelta

import pytest

from autoscaler.record import SizePoint
from autoscaler.web.page.drawing import WIDTH, LoadBar, SizeGauge, Sparkline, load_bar, size_gauge, sparkline
from tests.decisions import NOW

SINCE = NOW - timedelta(hours=1)


def minutes(before: int) -> timedelta:
    return timedelta(minutes=before)


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
    """A size outside the bounds is drawn at the edge; an unknown one is not drawn."""
    assert size_gauge(current, desired, 1, 11) == drawn


def test_equal_bounds_are_drawn_in_the_middle() -> None:
    """There is no length to divide by."""
    assert size_gauge(3, 3, 3, 3) == SizeGauge(60.0, None)


def test_without_bounds_there_is_no_gauge() -> None:
    """An autoscaler that left the configuration before its first decision has no known bounds."""
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
    """The target has the same position in every row, so that bars compare."""
    assert load_bar(value, 60) == bar


def test_sizes_are_drawn_as_steps() -> None:
    """A size holds until the next; a slope would show sizes that did not exist."""
    points = [SizePoint(SINCE - minutes(9), 2), SizePoint(NOW - minutes(30), 4), SizePoint(NOW - minutes(15), 3)]

    assert sparkline(points, 3, SINCE, NOW) == Sparkline("M0 14H60V2H90V8H120", 2, 4)


def test_a_size_that_never_changed_is_a_line_in_the_middle() -> None:
    """Nothing changed in the hour, so only the current size is known."""
    assert sparkline([], 3, SINCE, NOW) == Sparkline("M0 8H120", 3, 3)


def test_a_size_that_could_not_be_read_is_a_gap() -> None:
    """It is neither zero nor the previous size."""
    points = [SizePoint(SINCE, 2), SizePoint(NOW - minutes(30), None), SizePoint(NOW - minutes(15), 4)]

    assert sparkline(points, 4, SINCE, NOW) == Sparkline("M0 14H60M90 2H120", 2, 4)


def test_without_a_size_there_is_no_line() -> None:
    """This holds before the first decision, and for a target that could never be read."""
    assert sparkline([], None, SINCE, NOW) is None
    assert sparkline([SizePoint(SINCE, None)], None, SINCE, NOW) is None
