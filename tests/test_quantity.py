"""Formatting of numbers for programs and readers."""

from datetime import timedelta

import pytest

from autoscaler.errors import QuantityError
from autoscaler.quantity import (
    format_age,
    format_decimal,
    format_duration,
    format_quantity,
    parse_duration,
    parse_exact,
    parse_quantity,
)
from tests.ages import AGES


@pytest.mark.parametrize(
    ("milli", "text"),
    [
        (8334, "8.33"),
        (8335, "8.34"),
        (37_500, "37.5"),
        (63_000, "63"),
        (100, "0.1"),
        (5, "0.005"),
        (0, "0"),
        (-8334, "-8.33"),
    ],
)
def test_a_quantity_for_reading_has_two_decimals_at_most(milli: int, text: str) -> None:
    """An average of 25 over 3 instances is 8.33 to an operator. `8334m` is for programs."""
    assert format_decimal(milli) == text


def test_a_quantity_for_programs_is_what_kubectl_writes() -> None:
    assert [format_quantity(milli) for milli in (8334, 63_000)] == ["8334m", "63"]


def test_an_invalid_quantity_or_duration_names_the_expected_form() -> None:
    with pytest.raises(QuantityError, match=r"^\'3x\' is not a valid quantity; expected a quantity such as 2, 0\.5"):
        parse_quantity("3x")
    with pytest.raises(QuantityError, match=r"^'soon' is not a valid duration; write numbers with units"):
        parse_duration("soon")


@pytest.mark.parametrize("text", ["1" * 5000, f"0.{'1' * 5000}", 10**5000, -(10**5000)], ids=range(4))
def test_thousands_of_digits_are_not_a_quantity(text: str | int) -> None:
    """Python raises its own error for more than 4,300 digits."""
    with pytest.raises(QuantityError, match="is not a valid quantity"):
        parse_exact(text)


def test_a_long_duration_keeps_its_milliseconds() -> None:
    """A float has too few digits for them: the text would be read back as another duration."""
    assert format_duration(parse_duration("109999991w990ms")) == "769999937d990ms"
    assert format_duration(timedelta(microseconds=1_499_600)) == "1s500ms"
    assert format_duration(parse_duration("1d2h3m4s5ms")) == "1d2h3m4s5ms"


@pytest.mark.parametrize(("seconds", "text"), AGES)
def test_ages_have_kubectls_notation(seconds: float, text: str) -> None:
    """At most two units, and only significant digits."""
    assert format_age(timedelta(seconds=seconds)) == text
