"""The arithmetic of `make bench-reaction`."""

import pytest

from bench.reaction.parts import parts, ratios, table

SLOW = parts((100, 107, 122, 130, 131, 146))
QUICK = parts((100, 101, 116, 120, 120.5, 126))


def test_the_parts_of_a_reaction_add_up_to_its_sum() -> None:
    """A second that no part has would be told to no reader."""
    assert SLOW == {"scrape": 7, "range": 15, "cycle": 8, "back end": 1, "start": 15, "sum": 46}


def test_a_moment_that_was_recorded_before_the_former_adds_nothing() -> None:
    """A worker may start before the daemon has logged its decision."""
    assert parts((100, 107, 122, 130, 129, 146)) == SLOW | {"back end": 0, "start": 16}


def test_a_missing_moment_is_an_error() -> None:
    with pytest.raises(ValueError, match="6 moments are needed, not 5"):
        parts((100, 107, 122, 130, 131))


def test_the_table_has_the_median_and_the_largest_of_each_part() -> None:
    head, row = table({"Swarm": [SLOW, QUICK, QUICK]})
    assert " ".join(head.split()) == "seconds, median (largest) scrape range cycle back end start sum"
    assert " ".join(row.split()) == "Swarm 1.0 (7.0) 15.0 (15.0) 4.0 (8.0) 0.5 (1.0) 5.5 (15.0) 26.0 (46.0)"


def test_a_ratio_compares_medians_and_none_with_nothing() -> None:
    """A part that takes no time in one arm has no ratio."""
    nothing = parts((100, 101, 101, 105, 106, 112))
    line = ratios({"a": [SLOW], "b": [nothing]}, "a", "b")
    assert " ".join(line.split()) == "a / b 7.00 - 2.00 1.00 2.50 3.83"
