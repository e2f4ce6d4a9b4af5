"""promtool's notation of values."""

import math

import pytest

from autoscaler.scenarios.notation import Values


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("5", [5, 5, 5]),
        ("1 2 3", [1, 2, 3, 3]),
        ("0+10x3", [0, 10, 20, 30, 30]),
        ("100-5x2 7", [100, 95, 90, 7]),
        ("7x2 1", [7, 7, 7, 1]),
        ("1 _ 3", [1, None, 3]),
        ("1 _x2 3", [1, None, None, 3]),
        ("1 stale", [1, None, None]),
        ("-2+1.5x1", [-2, -0.5]),
        ("1e-3x1 .5", [0.001, 0.001, 0.5]),
        ("_x0 4", [4]),
        ("+Inf -Inf", [float("inf"), float("-inf")]),
    ],
)
def test_values_are_those_of_promtool_and_the_last_one_stays(text: str, meaning: list[float | None]) -> None:
    values = Values(text)
    assert [values(index) for index in range(len(meaning))] == meaning


def test_nan_is_a_value() -> None:
    found = Values("NaN")(0)
    assert found is not None
    assert math.isnan(found)


def test_a_billion_values_are_not_written_out() -> None:
    """A short text must not take gigabytes."""
    assert Values("0+1x999999999999 5")(999_999_999_999) == 999_999_999_999


@pytest.mark.parametrize(
    "text", ["", "  ", "x", "5x", "1+2", "1++2x3", "{{schema:1}}", "_x", "1,2", "0x10x2", "1x-3", "\u0661", "_x0"]
)
def test_another_notation_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="as promtool does: 5, 0"):
        Values(text)
