"""The measures of a course of sizes against a demand."""

from datetime import timedelta
from math import nan

import pytest

from autoscaler.whatif.compare.measures import measures
from autoscaler.whatif.replay.course import UNKNOWN
from tests.whatif.courses import course, curve


def test_a_gap_does_not_count() -> None:
    """An hour without a cycle is neither an hour at the last size nor a change of size."""
    times = [0, 15, 3615, 3630]
    found = measures(course([2, 2, 8, 8], times), curve([2, 2, 6, 6], times))

    assert found.covered_seconds == 60
    assert found.instance_hours == pytest.approx((2 + 2 + 8 + 8) * 15 / 3600)
    assert found.changes == 0


def test_unknown_demand_does_not_count() -> None:
    """It is not zero: an outage of Prometheus is no time below target."""
    demand = curve([3, 2, 2, 2])
    demand.needed[1] = demand.needed[2] = nan

    found = measures(course([2, 9, 9, 2]), demand)

    assert (found.unserved, found.worst_overload, found.covered_seconds) == (1 / 5, 1.5, 60)


def test_unserved_demand_is_depth_times_time() -> None:
    """2 of 4 are missing in one cycle and 1 of 5 in another, of 19 in all; a surplus does not compensate."""
    found = measures(course([2, 4, 9, 6]), curve([4, 5, 4, 6]))

    assert found.unserved == pytest.approx(3 / 19)


def test_nothing_is_left_unserved_if_nothing_is_needed() -> None:
    assert measures(course([2, 2]), curve([0, 0])).unserved == 0


def test_an_unknown_size_does_not_count() -> None:
    found = measures(course([2, UNKNOWN, 2, 2]), curve([2, 2, 2, 2]))

    assert found.covered_seconds == 45
    assert found.instance_hours == pytest.approx(6 * 15 / 3600)
    assert found.changes == 0


def test_without_a_known_size_nothing_is_known_of_the_demand() -> None:
    found = measures(course([UNKNOWN, UNKNOWN]), curve([2, 2]))

    assert found.unserved is found.worst_overload is None
    assert found.covered_seconds == 0


def test_ready_replicas_are_the_supply_and_the_size_is_paid_for() -> None:
    """Instances that start cost from the first second and do not serve yet."""
    found = measures(course([4, 4], ready=[2, 4]), curve([4, 4]))

    assert found.unserved == 0.25
    assert found.instance_hours == pytest.approx(4 * 30 / 3600)


def test_the_size_is_the_supply_if_readiness_is_unknown() -> None:
    assert measures(course([4, 4], ready=[UNKNOWN, UNKNOWN]), curve([4, 4])).unserved == 0


def test_time_at_the_maximum_and_the_worst_overload() -> None:
    """By the demand; the candidate's own target does not matter."""
    found = measures(course([2, 10, 10, 2], maximum=10), curve([2.6, 25, 8, 2.2]))

    assert (found.at_maximum_seconds, found.worst_overload) == (30, 2.5)


def test_an_unknown_bound_is_never_reached() -> None:
    assert measures(course([2, 2], maximum=UNKNOWN), curve([2, 2])).at_maximum_seconds == 0


def test_each_change_of_the_size_counts() -> None:
    assert measures(course([2, 4, 6, 5, 5, 6]), curve([2] * 6)).changes == 4


def test_a_candidate_that_decides_less_often_keeps_its_size_between_cycles() -> None:
    """Measured over less time than the others, it would seem cheaper."""
    made = course([2, 4], times=[0, 60])
    made.sync_period = timedelta(seconds=60)

    found = measures(made, curve([2] * 8))

    assert found.covered_seconds == 120
    assert found.instance_hours == pytest.approx((2 * 60 + 4 * 60) / 3600)


def test_a_candidate_without_a_cycle_for_long_has_no_size() -> None:
    assert measures(course([2, 2], times=[0, 15]), curve([2] * 20)).covered_seconds == 15 * 4
