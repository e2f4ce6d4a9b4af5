"""What a course of sizes is worth, against one demand curve for all candidates."""

from datetime import timedelta
from math import nan

import pytest

from autoscaler.whatif.compare.measures import measures
from autoscaler.whatif.replay.course import UNKNOWN
from tests.decide.build import NOW
from tests.replaced import replace
from tests.whatif.courses import WEB, course, curve, seconds


def test_supply_that_meets_demand_exactly_is_best() -> None:
    found = measures(course([2, 2, 4, 4]), curve([2, 2, 4, 4]))

    assert (found.accuracy_under, found.accuracy_over, found.timeshare_under, found.timeshare_over) == (0, 0, 0, 0)
    assert found.instability == 0
    assert found.compared_seconds == 60


def test_under_provisioning_is_set_against_demand() -> None:
    """Half of 4 missing for half of the time is a quarter."""
    found = measures(course([2, 2, 4, 4]), curve([4, 4, 4, 4]))

    assert found.accuracy_under == 0.25
    assert found.timeshare_under == 0.5
    assert found.accuracy_over == found.timeshare_over == 0


def test_over_provisioning_is_set_against_demand_too() -> None:
    """6 where 2 are needed is 200 % too much, for a quarter of the time."""
    found = measures(course([6, 2, 2, 2]), curve([2, 2, 2, 2]))

    assert found.accuracy_over == 0.5
    assert found.timeshare_over == 0.25


def test_a_fraction_of_a_replica_needs_a_whole_one() -> None:
    assert measures(course([3, 3]), curve([2.1, 2.9])).timeshare_over == 0
    assert measures(course([2, 2]), curve([2.1, 2.9])).timeshare_under == 1


def test_where_nothing_is_needed_what_is_there_is_too_much() -> None:
    """Set against a demand of zero it would be without bound."""
    assert measures(course([2, 2]), curve([0, 0])).accuracy_over == 2


def test_instability_is_the_time_in_which_supply_does_not_move_as_demand_does() -> None:
    demand = curve([2, 3, 4, 4, 3])

    assert measures(course([2, 3, 4, 4, 3]), demand).instability == 0
    assert measures(course([4, 4, 4, 4, 4]), demand).instability == pytest.approx(3 / 5)
    assert measures(course([4, 3, 2, 2, 3]), demand).instability == pytest.approx(3 / 5)
    assert measures(course([2, 3, 4, 5, 4]), demand).instability == pytest.approx(1 / 5)


def test_a_gap_counts_in_nothing() -> None:
    """An hour without a cycle is not an hour at the last size, and no change of demand between both its ends."""
    times = [0, 15, 3615, 3630]
    found = measures(course([2, 2, 8, 8], times), curve([2, 2, 6, 6], times))

    assert found.covered_seconds == found.compared_seconds == 60
    assert found.instance_hours == pytest.approx((2 + 2 + 8 + 8) * 15 / 3600)
    assert found.timeshare_over == 0.5
    assert found.instability == 0


def test_unknown_demand_counts_in_no_comparison() -> None:
    """Nor may it be read as zero."""
    demand = curve([2, 2, 2, 2])
    demand.needed[1] = demand.needed[2] = nan

    found = measures(course([2, 9, 9, 2]), demand)

    assert found.compared_seconds == 30
    assert found.timeshare_over == 0
    assert found.covered_seconds == 60


def test_while_no_metric_has_a_value_nobody_knows_whether_one_is_above_target() -> None:
    """An outage of Prometheus is not a time below target."""
    demand = curve([3, 2, 2, 2])
    demand.needed[1] = demand.needed[2] = nan

    found = measures(course([2, 2, 2, 2]), demand)

    assert (found.above_target_seconds, found.compared_seconds, found.covered_seconds) == (15, 30, 60)


def test_what_is_left_unserved_is_depth_times_time() -> None:
    """2 of 4 missing for one cycle and 1 of 5 for another, of 19 in all; too much elsewhere makes up for none."""
    found = measures(course([2, 4, 9, 6]), curve([4, 5, 4, 6]))

    assert found.unserved == pytest.approx(3 / 19)


def test_a_little_above_target_is_a_little_unserved() -> None:
    """Also within the tolerance, and for a fraction of a replica: a target of 10 % more is no other 0."""
    demand = replace(curve([2.2, 2.2]), tolerance=0.1)
    found = measures(course([2, 2]), demand)

    assert found.unserved == pytest.approx(0.2 / 2.2)
    assert found.above_target_seconds == 0


def test_where_nothing_is_needed_nothing_is_left_unserved() -> None:
    assert measures(course([2, 2]), curve([0, 0])).unserved == 0
    assert measures(course([UNKNOWN]), curve([2])).unserved is None


def test_an_unknown_size_counts_in_nothing() -> None:
    found = measures(course([2, UNKNOWN, 2, 2]), curve([2, 2, 2, 2]))

    assert found.covered_seconds == found.compared_seconds == 45
    assert found.instance_hours == pytest.approx(6 * 15 / 3600)


def test_with_nothing_to_compare_there_is_no_elasticity() -> None:
    found = measures(course([UNKNOWN, UNKNOWN]), curve([2, 2]))

    assert found.accuracy_under is found.timeshare_over is found.instability is found.worst_overload is None
    assert found.covered_seconds == 0


def test_what_is_ready_is_the_supply_and_the_size_is_what_is_paid_for() -> None:
    """Instances that start cost from the first second and serve nobody yet."""
    found = measures(course([4, 4], ready=[2, 4]), curve([4, 4]))

    assert found.timeshare_under == 0.5
    assert found.instance_hours == pytest.approx(4 * 30 / 3600)


def test_what_leaves_is_paid_for_until_it_is_gone_and_serves_nobody() -> None:
    """2 leave, and take 20 s: they cost that long, and are in no size and no supply."""
    made, demand = course([4, 2, 2, 2]), curve([2] * 4)
    at_once, later = measures(made, demand), measures(made, demand, seconds(20))

    assert at_once.leaving_instance_hours == 0
    assert later.leaving_instance_hours == pytest.approx(2 * 20 / 3600)
    assert later.instance_hours == pytest.approx((4 + 2 + 2 + 2) * 15 / 3600 + later.leaving_instance_hours)
    same = {"instance_hours": at_once.instance_hours, "leaving_instance_hours": 0}
    assert later.model_copy(update=same) == at_once


def leaving_seconds(
    sizes: list[int], needed: list[float], termination: float, times: list[float] | None = None
) -> float:
    found = measures(course(sizes, times), curve(needed, times), seconds(termination))
    return found.leaving_instance_hours * 3600


def test_what_leaves_is_paid_for_whatever_the_size_does_next() -> None:
    """It is on its way out: a new size starts others. And each change has its own time."""
    assert leaving_seconds([4, 3, 5, 5], [4] * 4, 30) == pytest.approx(30)
    assert leaving_seconds([4, 3, 2, 2], [2] * 4, 20) == pytest.approx(40)


def test_what_leaves_costs_no_longer_than_the_time_that_counts() -> None:
    """Neither in a gap, nor after the end; nor is it known what left during a gap."""
    assert leaving_seconds([4, 2], [2, 2], 3600) == pytest.approx(2 * 15)
    times = [0.0, 15, 3615, 3630]
    assert leaving_seconds([4, 2, 2, 2], [2] * 4, 3610, times) == pytest.approx(50)
    assert leaving_seconds([4, 4, 2, 2], [2] * 4, 60, times) == 0
    assert leaving_seconds([4, UNKNOWN, 2, 2], [2] * 4, 60) == 0


def test_what_left_before_a_part_of_the_time_costs_in_it() -> None:
    """A history is searched in two parts: what the first leaves behind is paid for in the second."""
    demand = curve([2] * 4)
    later = demand.between(NOW + seconds(30), NOW + seconds(60))

    assert measures(course([4, 2, 2, 2]), later, seconds(20)).leaving_instance_hours == pytest.approx(2 * 5 / 3600)


def test_where_readiness_is_not_known_the_size_is_the_supply() -> None:
    assert measures(course([4, 4], ready=[UNKNOWN, UNKNOWN]), curve([4, 4])).timeshare_under == 0


def test_time_above_target_at_the_maximum_and_the_worst_overload() -> None:
    """By the demand, whatever the candidate's own target is."""
    demand = replace(curve([2.6, 25, 8, 2.2]), tolerance=0.1)
    found = measures(course([2, 10, 10, 2], maximum=10), demand)

    assert (found.above_target_seconds, found.at_maximum_seconds, found.worst_overload) == (30, 30, 2.5)


def test_an_unknown_bound_is_never_reached() -> None:
    assert measures(course([2, 2], maximum=UNKNOWN), curve([2, 2])).at_maximum_seconds == 0


def test_changes_and_those_that_take_back_the_last_one() -> None:
    found = measures(course([2, 4, 6, 5, 5, 6]), curve([2] * 6))

    assert (found.changes, found.changes_of_direction) == (4, 2)


def test_a_candidate_that_decides_less_often_keeps_its_size_between() -> None:
    """It is measured over the same time as the others, or it would seem cheaper."""
    made = course([2, 4], times=[0, 60])
    made.scaler = replace(WEB, sync_period=timedelta(seconds=60))

    found = measures(made, curve([2] * 8))

    assert found.covered_seconds == 120
    assert found.instance_hours == pytest.approx((2 * 60 + 4 * 60) / 3600)


def test_a_candidate_without_a_cycle_for_long_has_no_size() -> None:
    """The daemon's own decisions may be missing where the past is known from elsewhere."""
    assert measures(course([2, 2], times=[0, 15]), curve([2] * 20)).covered_seconds == 15 * 4


def test_a_clock_set_back_counts_no_time_twice() -> None:
    times = [0, 30, 15, 45]

    assert measures(course([2, 2, 9, 2], times), curve([2, 2, 2, 2], times)).covered_seconds == 60


def test_a_part_of_the_time_is_measured_alone() -> None:
    """A choice that was made on one part is tried on another."""
    demand = curve([2, 2, 4, 4])
    made = course([2, 2, 2, 4])

    late = measures(made, demand.between(NOW + seconds(30), NOW + seconds(60)))

    assert late.covered_seconds == 30
    assert late.timeshare_under == 0.5
    assert late.changes == 1
    assert measures(made, demand.between(NOW, NOW + seconds(30))).changes == 0


def test_the_first_moment_of_a_part_is_compared_with_the_one_before_it() -> None:
    demand = curve([2, 4, 4, 4]).between(NOW + seconds(15), NOW + seconds(60))

    assert measures(course([4, 4, 4, 4]), demand).instability == pytest.approx(1 / 3)


def test_saturated_time_is_told_and_can_be_left_out() -> None:
    demand = curve([2, 2, 2, 2])
    demand.saturated[1] = 1
    made = course([2, 2, 2, 2])

    assert measures(made, demand).saturated_seconds == 15
    assert measures(made, demand.unsaturated()).covered_seconds == 45
