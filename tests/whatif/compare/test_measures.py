"""The measures of a course of sizes against a demand."""

from datetime import timedelta
from math import nan

import pytest

from autoscaler.whatif.compare.measures import measures
from autoscaler.whatif.replay.course import UNKNOWN
from tests.decide.build import NOW
from tests.replaced import replace
from tests.whatif.courses import WEB, course, curve, seconds


def test_supply_that_equals_demand_is_best() -> None:
    found = measures(course([2, 2, 4, 4]), curve([2, 2, 4, 4]))

    assert (found.accuracy_under, found.accuracy_over, found.timeshare_under, found.timeshare_over) == (0, 0, 0, 0)
    assert found.instability == 0
    assert found.compared_seconds == 60


def test_under_provisioning_is_relative_to_demand() -> None:
    """Half of 4 missing for half of the time is a quarter."""
    found = measures(course([2, 2, 4, 4]), curve([4, 4, 4, 4]))

    assert found.accuracy_under == 0.25
    assert found.timeshare_under == 0.5
    assert found.accuracy_over == found.timeshare_over == 0


def test_over_provisioning_is_relative_to_demand() -> None:
    """6 where 2 are needed is 200 % too much, for a quarter of the time."""
    found = measures(course([6, 2, 2, 2]), curve([2, 2, 2, 2]))

    assert found.accuracy_over == 0.5
    assert found.timeshare_over == 0.25


def test_a_fraction_of_a_replica_needs_a_whole_one() -> None:
    assert measures(course([3, 3]), curve([2.1, 2.9])).timeshare_over == 0
    assert measures(course([2, 2]), curve([2.1, 2.9])).timeshare_under == 1


def test_every_replica_is_surplus_if_none_is_needed() -> None:
    """Relative to a demand of zero it would be infinite."""
    assert measures(course([2, 2]), curve([0, 0])).accuracy_over == 2


def test_instability_is_the_time_in_which_supply_and_demand_do_not_move_alike() -> None:
    demand = curve([2, 3, 4, 4, 3])

    assert measures(course([2, 3, 4, 4, 3]), demand).instability == 0
    assert measures(course([4, 4, 4, 4, 4]), demand).instability == pytest.approx(3 / 5)
    assert measures(course([4, 3, 2, 2, 3]), demand).instability == pytest.approx(3 / 5)
    assert measures(course([2, 3, 4, 5, 4]), demand).instability == pytest.approx(1 / 5)


def test_a_gap_does_not_count() -> None:
    """An hour without a cycle is neither an hour at the last size nor a change of demand."""
    times = [0, 15, 3615, 3630]
    found = measures(course([2, 2, 8, 8], times), curve([2, 2, 6, 6], times))

    assert found.covered_seconds == found.compared_seconds == 60
    assert found.instance_hours == pytest.approx((2 + 2 + 8 + 8) * 15 / 3600)
    assert found.timeshare_over == 0.5
    assert found.instability == 0


def test_unknown_demand_does_not_count() -> None:
    """It is not zero: an outage of Prometheus is no time below target."""
    demand = curve([3, 2, 2, 2])
    demand.needed[1] = demand.needed[2] = nan

    found = measures(course([2, 9, 9, 2]), demand)

    assert (found.above_target_seconds, found.compared_seconds, found.covered_seconds) == (15, 30, 60)
    assert found.timeshare_over == 0


def test_unserved_demand_is_depth_times_time() -> None:
    """2 of 4 are missing in one cycle and 1 of 5 in another, of 19 in all; a surplus does not compensate."""
    found = measures(course([2, 4, 9, 6]), curve([4, 5, 4, 6]))

    assert found.unserved == pytest.approx(3 / 19)


def test_a_little_above_target_is_a_little_unserved() -> None:
    """Also within the tolerance, and for a fraction of a replica: a target 10 % higher must not look the same."""
    demand = replace(curve([2.2, 2.2]), tolerance=0.1)
    found = measures(course([2, 2]), demand)

    assert found.unserved == pytest.approx(0.2 / 2.2)
    assert found.above_target_seconds == 0


def test_nothing_is_left_unserved_if_nothing_is_needed() -> None:
    assert measures(course([2, 2]), curve([0, 0])).unserved == 0
    assert measures(course([UNKNOWN]), curve([2])).unserved is None


def test_an_unknown_size_does_not_count() -> None:
    found = measures(course([2, UNKNOWN, 2, 2]), curve([2, 2, 2, 2]))

    assert found.covered_seconds == found.compared_seconds == 45
    assert found.instance_hours == pytest.approx(6 * 15 / 3600)


def test_without_a_known_size_there_are_no_measures_of_elasticity() -> None:
    found = measures(course([UNKNOWN, UNKNOWN]), curve([2, 2]))

    assert found.accuracy_under is found.timeshare_over is found.instability is found.worst_overload is None
    assert found.covered_seconds == 0


def test_ready_replicas_are_the_supply_and_the_size_is_paid_for() -> None:
    """Instances that start cost from the first second and do not serve yet."""
    found = measures(course([4, 4], ready=[2, 4]), curve([4, 4]))

    assert found.timeshare_under == 0.5
    assert found.instance_hours == pytest.approx(4 * 30 / 3600)


def test_leaving_instances_are_paid_for_and_do_not_serve() -> None:
    """2 leave, and take 20 s: they are in the cost, and neither in the size nor in the supply."""
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


_GAP = [0.0, 15, 3615, 3630]


@pytest.mark.parametrize(
    ("sizes", "termination", "times", "paid"),
    [
        ([4, 3, 5, 5], 30, None, 30),  # a larger size later starts other instances
        ([4, 3, 2, 2], 20, None, 40),  # each change has its own time
        ([4, 2], 3600, None, 2 * 15),  # not after the end
        ([4, 2, 2, 2], 3610, _GAP, 50),  # not in a gap
        ([4, 4, 2, 2], 60, _GAP, 0),  # what left in a gap is unknown
        ([4, UNKNOWN, 2, 2], 60, None, 0),
    ],
)
def test_leaving_instances_are_paid_for_in_the_time_that_counts(
    sizes: list[int], termination: float, times: list[float] | None, paid: float
) -> None:
    assert leaving_seconds(sizes, [2] * len(sizes), termination, times) == pytest.approx(paid)


def test_instances_that_left_before_a_part_of_the_time_cost_in_it() -> None:
    """Parts of a history are measured by themselves."""
    demand = curve([2] * 4)
    later = demand.between(NOW + seconds(30), NOW + seconds(60))

    assert measures(course([4, 2, 2, 2]), later, seconds(20)).leaving_instance_hours == pytest.approx(2 * 5 / 3600)


def test_the_size_is_the_supply_if_readiness_is_unknown() -> None:
    assert measures(course([4, 4], ready=[UNKNOWN, UNKNOWN]), curve([4, 4])).timeshare_under == 0


def test_time_above_target_and_at_the_maximum_and_the_worst_overload() -> None:
    """By the demand; the candidate's own target does not matter."""
    demand = replace(curve([2.6, 25, 8, 2.2]), tolerance=0.1)
    found = measures(course([2, 10, 10, 2], maximum=10), demand)

    assert (found.above_target_seconds, found.at_maximum_seconds, found.worst_overload) == (30, 30, 2.5)


def test_an_unknown_bound_is_never_reached() -> None:
    assert measures(course([2, 2], maximum=UNKNOWN), curve([2, 2])).at_maximum_seconds == 0


def test_changes_and_changes_of_direction() -> None:
    found = measures(course([2, 4, 6, 5, 5, 6]), curve([2] * 6))

    assert (found.changes, found.changes_of_direction) == (4, 2)


def test_a_candidate_that_decides_less_often_keeps_its_size_between_cycles() -> None:
    """Measured over less time than the others, it would seem cheaper."""
    made = course([2, 4], times=[0, 60])
    made.scaler = replace(WEB, sync_period=timedelta(seconds=60))

    found = measures(made, curve([2] * 8))

    assert found.covered_seconds == 120
    assert found.instance_hours == pytest.approx((2 * 60 + 4 * 60) / 3600)


def test_a_candidate_without_a_cycle_for_long_has_no_size() -> None:
    """A past from Prometheus may lack the daemon's own decisions."""
    assert measures(course([2, 2], times=[0, 15]), curve([2] * 20)).covered_seconds == 15 * 4


def test_a_part_of_the_time_is_measured_alone() -> None:
    """The rest does not count."""
    demand = curve([2, 2, 4, 4])
    made = course([2, 2, 2, 4])

    late = measures(made, demand.between(NOW + seconds(30), NOW + seconds(60)))

    assert late.covered_seconds == 30
    assert late.timeshare_under == 0.5
    assert late.changes == 1
    assert measures(made, demand.between(NOW, NOW + seconds(30))).changes == 0


def test_the_first_cycle_of_a_part_is_compared_with_the_one_before_it() -> None:
    demand = curve([2, 4, 4, 4]).between(NOW + seconds(15), NOW + seconds(60))

    assert measures(course([4, 4, 4, 4]), demand).instability == pytest.approx(1 / 3)


def test_saturated_time_is_measured_and_can_be_left_out() -> None:
    demand = curve([2, 2, 2, 2])
    demand.saturated[1] = 1
    made = course([2, 2, 2, 2])

    assert measures(made, demand).saturated_seconds == 15
    assert measures(made, demand.unsaturated()).covered_seconds == 45
