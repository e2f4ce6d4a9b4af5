"""A grant brings a limited number of new names in an hour: each leaves rows in the state for thirty days."""

from autoscaler.config.new_names import NewNames

HOUR = 3600.0


def test_names_beyond_the_limit_wait_until_an_hour_has_passed_for_another() -> None:
    names = NewNames()
    admit = names.admitting((), 0)
    assert [admit("shop", 2, name) for name in ("a", "b", "c")] == [True, True, False]
    assert admit("pay", 2, "c")
    assert names.due(HOUR - 1) == set()
    assert names.due(HOUR) == {"c"}
    later = names.admitting({"a", "b"}, HOUR)
    assert [later("shop", 2, name) for name in ("a", "b", "c")] == [True, True, True]
    assert names.due(2 * HOUR) == set()


def test_known_names_and_those_that_come_back_within_the_hour_count_once() -> None:
    """Two names that take turns, or a change that is tried again, leave no further rows."""
    names = NewNames()
    assert names.admitting({"old"}, 0)("shop", 1, "old")
    for second in range(10):
        assert names.admitting((), second)("shop", 1, "new")
    assert not names.admitting((), 10)("shop", 1, "another")


def test_counted_names_are_forgotten_after_an_hour() -> None:
    names = NewNames()
    for hour in range(5):
        admit = names.admitting((), hour * HOUR)
        assert all(admit("shop", 100, f"{hour}-{number}") for number in range(100))
    assert len(names._came["shop"]) == 100
