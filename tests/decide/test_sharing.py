"""What a connection's autoscalers may do together: a removal budget, and what their sizes may sum to."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaler.decide import share
from autoscaler.errors import TargetDeferred, TargetNotFound, TargetNotWritten, TargetUnavailable
from autoscaler.model import (
    WITHOUT_LIMITS,
    Condition,
    ConditionType,
    Conflict,
    Decision,
    EventType,
    Held,
    HoldReason,
    Outcome,
    Proposed,
    Reason,
    Unchanged,
    Written,
)
from tests.decide.build import NOW
from tests.decide.fleet import UNDER_WAY, Fleet, limits
from tests.replaced import replace

MINUTE = timedelta(seconds=60)
GONE = TargetUnavailable("no answer within 5s; the next cycle tries again")
NAMES = ("a", "b", "c", "d")

outcomes: st.SearchStrategy[Outcome | None] = st.sampled_from(
    [
        None,
        None,
        None,
        GONE,
        TargetDeferred("no time"),
        TargetNotWritten("throttled"),
        Conflict("it changed"),
        Held(HoldReason("Rollout", "wait")),
    ]
)
cycles = st.lists(
    st.tuples(
        st.dictionaries(st.sampled_from(NAMES), st.integers(0, 20), min_size=1),
        st.dictionaries(st.sampled_from(NAMES), outcomes.filter(lambda outcome: outcome is not None)),
        st.booleans(),
        st.integers(1, 40),
    ),
    max_size=8,
)


def sizes(made: Mapping[str, Decision]) -> dict[str, int | None]:
    """What is to be written; None: nothing is."""
    return {name: None if one.change is None else one.change.size for name, one in made.items()}


def limited(made: Decision) -> Condition:
    return next(each for each in made.conditions if each.type is ConditionType.SCALING_LIMITED)


def run(fleet: Fleet, schedule: Any) -> Any:
    """Each cycle of a schedule: what was there before, and what was decided.

    All shards read at the same moment what is left, and then use it one after another.
    """
    for loads, failures, arrives, after in schedule:
        fleet.now += timedelta(seconds=after)
        standings = [fleet.standing(shard) for shard in range(fleet.shards)]
        for shard, standing in enumerate(standings):
            mine = {name: load for name, load in loads.items() if fleet.shard_of[name] == shard}
            before = dict(fleet.sizes)
            yield before, fleet.cycle(mine, failures, arrives=arrives, shard=shard, standing=standing)


@given(cycles, st.integers(1, 8), st.integers(1, 90), st.sampled_from([1, 2, 3]))
def test_no_more_leaves_within_a_period_than_the_budget_has(
    schedule: Any, instances: int, seconds: int, shards: int
) -> None:
    """Whatever is wanted, and whatever comes of the writes: also when their answers are lost."""
    fleet = Fleet(limits(instances, seconds), dict.fromkeys(NAMES, 20), shards)
    for _ in run(fleet, schedule):
        period = timedelta(seconds=seconds)
        assert fleet.within(period, fleet.left) <= instances
        assert fleet.within(period, [(at, units) for (_, at), units in fleet.counted.items()]) <= instances


@given(cycles, st.integers(1, 60), st.integers(0, 5), st.sampled_from([1, 2, 3]), st.integers(0, 15))
def test_sizes_never_grow_beyond_the_sum_that_is_allowed(
    schedule: Any, total: int, minimum: int, shards: int, begin: int
) -> None:
    """Unless the minimums or the sizes that are there already are beyond it by themselves."""
    fleet = Fleet(limits(total=total), dict.fromkeys(NAMES, begin), shards, minimum)
    for before, _ in run(fleet, schedule):
        unavoidable = sum(max(size, minimum) for size in before.values())
        assert sum(fleet.sizes.values()) <= max(total, unavoidable)


@given(cycles, st.integers(1, 8), st.integers(1, 60), st.integers(0, 5))
def test_a_limit_only_ever_prevents_a_change(schedule: Any, instances: int, total: int, minimum: int) -> None:
    """What it leaves lies between the present size and the one that the autoscaler alone wants, within its bounds."""
    fleet = Fleet(limits(instances, total=total), dict.fromkeys(NAMES, 10), minimum=minimum)
    for loads, failures, arrives, after in schedule:
        fleet.now += timedelta(seconds=after)
        alone = {name: fleet._decide(name, load) for name, load in loads.items()}
        for name, made in fleet.cycle(loads, failures, arrives=arrives).items():
            wanted, current = alone[name].desired, made.current
            assert wanted is not None
            assert current is not None
            assert made.desired is not None
            assert min(current, wanted) <= made.desired <= max(current, wanted)
            assert made.change is None or minimum <= made.change.size <= 100
            if current < minimum:
                assert made.desired >= min(minimum, wanted)


@given(cycles)
def test_an_autoscaler_alone_with_enough_decides_as_without_limits(schedule: Any) -> None:
    """A limit that does not bind is not felt: the same decision, field by field."""
    fleet = Fleet(limits(10_000, total=10_000), {"a": 10})
    for loads, failures, arrives, after in schedule:
        fleet.now += timedelta(seconds=after)
        alone = fleet._decide("a", loads.get("a", 3))
        assert share([alone], fleet.histories, fleet.standing(), fleet.now).decisions == [alone]
        fleet.cycle({"a": loads.get("a", 3)}, failures, arrives=arrives)


def test_without_limits_every_decision_stays_as_it_is() -> None:
    """They are off unless they are configured."""
    fleet = Fleet(limits(), {"a": 10, "b": 10})
    made = [fleet._decide("a", 2), fleet._decide("b", 90)]
    assert share(made, fleet.histories, WITHOUT_LIMITS, NOW) == (made, None, None)


def test_a_scale_in_that_wants_more_takes_what_is_left() -> None:
    """And the rest when the period has gone by."""
    fleet = Fleet(limits(5), {"a": 20})
    assert sizes(fleet.cycle({"a": 12})) == {"a": 15}
    assert fleet.shared.removals_left == 0
    assert sizes(fleet.cycle({"a": 12}, after=59)) == {"a": None}
    assert sizes(fleet.cycle({"a": 12}, after=1)) == {"a": 12}
    assert fleet.shared.removals_left == 2


def test_the_budget_is_spent_where_most_is_too_much() -> None:
    """Ten times what is needed wastes more than a tenth too much of anything."""
    fleet = Fleet(limits(8), {"idle": 10, "large": 44})
    assert sizes(fleet.cycle({"idle": 1, "large": 40})) == {"idle": 2, "large": None}


def test_room_goes_to_whoever_is_most_overloaded() -> None:
    """Two instances with the load of six come before a hundred with the load of a hundred and ten."""
    fleet = Fleet(limits(total=56), {"small": 2, "large": 50})
    assert sizes(fleet.cycle({"small": 6, "large": 55})) == {"small": 6, "large": None}
    assert fleet.shared.total == 52


def test_the_minimum_is_never_withheld() -> None:
    """Somebody wrote it to be there whatever happens; the others get less room."""
    fleet = Fleet(limits(total=10), {"new": 0, "busy": 7}, minimum=4)
    fleet.sizes["new"] = fleet.known["new"] = 1
    assert sizes(fleet.cycle({"new": 1, "busy": 20})) == {"new": 4, "busy": None}
    assert sum(fleet.sizes.values()) == 11


def test_what_a_minimum_is_about_to_take_is_kept_free_for_it() -> None:
    """It is held just now; when it goes up, the sum would else be exceeded."""
    fleet = Fleet(limits(total=10), {"new": 0, "busy": 5}, minimum=4)
    fleet.sizes["new"] = fleet.known["new"] = 1
    fleet.cycle({"new": 1}, {"new": Held(HoldReason("Rollout", "wait"))})
    assert sizes(fleet.cycle({"busy": 20}, after=15)) == {"busy": 6}


def test_sizes_beyond_the_sum_stay_and_may_shrink() -> None:
    """It prevents growth; it takes nothing away."""
    fleet = Fleet(limits(total=10), {"a": 12, "b": 8})
    assert sizes(fleet.cycle({"a": 12, "b": 9})) == {"a": None, "b": None}
    assert sizes(fleet.cycle({"a": 3, "b": 9}, after=15)) == {"a": 3, "b": None}
    assert sizes(fleet.cycle({"a": 3, "b": 9}, after=15)) == {"a": None, "b": None}
    assert sizes(fleet.cycle({"a": 1, "b": 9}, after=15)) == {"a": 1, "b": None}
    assert sizes(fleet.cycle({"a": 1, "b": 9}, after=15)) == {"a": None, "b": 9}


def test_a_target_that_cannot_be_read_counts_with_its_last_known_size() -> None:
    """Its instances are still there, as far as anybody knows: an outage of the back end is no room."""
    fleet = Fleet(limits(total=20), {"a": 12, "b": 2})
    fleet.cycle({"a": 14, "b": 2})
    assert sizes(fleet.cycle({"a": GONE, "b": 9}, after=15)) == {"a": None, "b": 6}


def test_one_that_is_not_in_this_cycle_counts_too() -> None:
    """Another sync period makes no other connection."""
    fleet = Fleet(limits(5, total=20), {"a": 12, "b": 2})
    assert sizes(fleet.cycle({"a": 9})) == {"a": 9}
    assert sizes(fleet.cycle({"b": 30})) == {"b": 11}
    assert sizes(fleet.cycle({"b": 1}, after=15)) == {"b": 9}


def test_growth_that_may_still_arrive_counts() -> None:
    """A request without an answer may be carried out late."""
    fleet = Fleet(limits(total=20), {"a": 5, "b": 5})
    fleet.cycle({"a": 12, "b": 5}, {"a": GONE}, arrives=False)
    assert sizes(fleet.cycle({"a": 5, "b": 20}, after=15)) == {"a": None, "b": 8}


def test_what_was_not_written_is_given_back() -> None:
    """It is still there, and the next cycle may want it of somebody else."""
    throttled = TargetNotWritten("throttled")
    for outcome in (
        Conflict("it changed"),
        Held(HoldReason("Rollout", "")),
        TargetNotFound("gone"),
        Unchanged(),
        throttled,
    ):
        fleet = Fleet(limits(5), {"a": 20, "b": 20})
        fleet.cycle({"a": 10, "b": 20}, {"a": outcome})
        assert sizes(fleet.cycle({"a": 20, "b": 10}, after=15)) == {"a": None, "b": 15}, outcome


def test_what_may_have_been_written_stays_counted() -> None:
    """It may arrive later: then these instances leave within the same period."""
    fleet = Fleet(limits(5), {"a": 20, "b": 20})
    fleet.cycle({"a": 10, "b": 20}, {"a": GONE}, arrives=False)
    assert sizes(fleet.cycle({"a": 20, "b": 10}, after=15)) == {"a": None, "b": None}


def test_a_scale_in_that_is_tried_again_is_not_counted_twice() -> None:
    """Sizes are absolute: if both requests arrive no more leaves than by one of them."""
    fleet = Fleet(limits(5), {"a": 20})
    fleet.cycle({"a": 10}, {"a": GONE}, arrives=False)
    assert sizes(fleet.cycle({"a": 10}, {"a": Conflict("it changed")}, after=15)) == {"a": 15}
    assert sizes(fleet.cycle({"a": 10}, after=15)) == {"a": 15}
    assert sizes(fleet.cycle({"a": 10}, after=15)) == {"a": None}
    assert sizes(fleet.cycle({"a": 10}, after=44)) == {"a": None}  # a minute after the last of the three requests
    assert sizes(fleet.cycle({"a": 10}, after=1)) == {"a": 10}


def test_a_dry_run_takes_nothing_and_is_cut_as_if_it_did() -> None:
    """It shows what would happen, and costs those that scale nothing."""
    fleet = Fleet(limits(6, total=40), {"dry": 20, "live": 20})
    fleet.scalers["dry"] = replace(fleet.scalers["dry"], dry_run=True)
    made = fleet.cycle({"dry": 10, "live": 10}, {"dry": Proposed(17)})
    assert sizes(made) == {"dry": 17, "live": 14}
    assert fleet.shared.removals_left == 0
    assert fleet.counted == {("live", NOW): 6}
    fleet.sizes["dry"] = 17
    assert sizes(fleet.cycle({"dry": 37, "live": 34}, {"dry": Proposed(30)}, after=60)) == {"dry": 21, "live": 23}


@pytest.mark.parametrize(("target", "wanted"), [(10, 30), (28, 30), (2, 30), (35, 30)])
def test_a_shadow_has_the_room_that_it_would_have_in_its_targets_place(target: int, wanted: int) -> None:
    """Its target may have been made smaller or larger by somebody else; the shadow is at 25, the live one at 10."""
    fleet = Fleet(limits(total=40), {"dry": 10, "live": 10})
    fleet.scalers["dry"] = replace(fleet.scalers["dry"], dry_run=True)
    fleet.cycle({"dry": 25, "live": 10}, {"dry": Proposed(25)})
    fleet.sizes["dry"] = target
    made = fleet.cycle({"dry": 35, "live": 10}, {"dry": Proposed(wanted)}, after=60)
    assert sizes(made) == {"dry": wanted, "live": None}
    assert (made["dry"].current, made["dry"].shadow, made["dry"].status.current) == (target, 25, target)


def test_a_scale_in_of_a_shadow_is_cut_by_the_budget_from_its_own_size() -> None:
    fleet = Fleet(limits(6), {"dry": 10, "live": 10})
    fleet.scalers["dry"] = replace(fleet.scalers["dry"], dry_run=True)
    fleet.cycle({"dry": 25}, {"dry": Proposed(25)})
    assert sizes(fleet.cycle({"dry": 5}, {"dry": Proposed(19)}, after=60)) == {"dry": 19}
    assert fleet.counted == {}


def test_shards_use_what_is_left_in_the_order_in_which_they_come() -> None:
    """No shard has a part that the others cannot use."""
    fleet = Fleet(limits(5), {"a": 20, "b": 20}, shards=2)
    assert sizes(fleet.cycle({"a": 16}, shard=0)) == {"a": 16}
    assert sizes(fleet.cycle({"b": 10}, shard=1)) == {"b": 19}
    fleet = Fleet(limits(total=40), {"a": 30, "b": 5}, shards=2)
    assert sizes(fleet.cycle({"b": 20}, shard=1)) == {"b": 10}


def test_who_comes_too_late_writes_nothing_and_tries_again() -> None:
    """Two shards have read that there is enough; the first to intend has it."""
    fleet = Fleet(limits(5, total=40), {"a": 20, "b": 20}, shards=2)
    standing = fleet.standing(1)
    assert sizes(fleet.cycle({"a": 16}, shard=0)) == {"a": 16}
    assert fleet.cycle({"b": 16}, shard=1, standing=standing) == {}
    assert sizes(fleet.cycle({"b": 16}, shard=1)) == {"b": 19}
    standing = fleet.standing(1)
    assert sizes(fleet.cycle({"a": 20}, shard=0, after=60)) == {"a": 20}
    assert fleet.cycle({"b": 24}, shard=1, standing=standing) == {}
    assert sizes(fleet.cycle({"b": 24}, shard=1)) == {"b": 20}


def test_a_decision_that_cannot_be_sent_uses_nothing() -> None:
    """An earlier write to its target hangs: what that may come to is counted, and no more."""
    fleet = Fleet(limits(6), {"a": 20, "b": 20})
    fleet.cycle({"a": 18, "b": 20}, {"a": GONE}, arrives=False)
    made = fleet.cycle({"a": 10, "b": 10}, after=15, busy=["a"])
    assert (made["a"].outcome, made["b"].outcome) == (UNDER_WAY, Written(16))
    assert fleet.shared.removals_left == 0
    fleet = Fleet(limits(total=40), {"a": 10, "b": 10})
    fleet.cycle({"a": 20, "b": 10}, {"a": GONE}, arrives=False)
    made = fleet.cycle({"a": 90, "b": 30}, after=15, busy=["a"])
    assert (made["a"].outcome, made["b"].outcome) == (UNDER_WAY, Written(20))


def test_a_removal_budget_that_holds_says_so() -> None:
    """The condition of a rate that is limited, with a reason of its own; each step and its numbers."""
    fleet = Fleet(limits(5), {"a": 20})
    made = fleet.cycle({"a": 12})["a"]
    why = "fleet's removalBudget is 5 instances in 1m, of which 5 were left"
    assert [(step.reason, step.before, step.after) for step in made.trace[-2:]] == [
        (Reason.REMOVAL_BUDGET_LIMIT, 12, 15),
        (Reason.RESCALE, 20, 15),
    ]
    assert made.trace[-2].detail == why
    assert (limited(made).status, limited(made).reason) == (True, "RemovalBudgetLimit")
    assert limited(made).message == f"more would leave than the connection's removal budget allows: {why}"
    assert [(event.type, event.reason, event.message) for event in made.events] == [
        (EventType.NORMAL, "RemovalBudgetLimit", f"New size: 15 instead of 12; reason: {why}"),
        (EventType.NORMAL, "SuccessfulRescale", "New size: 15; reason: All metrics below target"),
    ]
    assert made.scale_downs[-1].change == 5
    held = fleet.cycle({"a": 12}, after=15)["a"]
    assert (held.desired, held.change, held.status.desired) == (15, None, 15)
    assert held.trace[-1].detail == (
        "fleet's removalBudget is 5 instances in 1m, of which 0 were left; more from 2026-01-01T12:01:00+00:00"
    )
    assert held.events == ()
    assert limited(held).last_transition == NOW


def test_a_sum_that_holds_is_a_warning() -> None:
    """A service does not get what its load asks for until somebody acts."""
    fleet = Fleet(limits(total=30), {"a": 20, "b": 10}, shards=2)
    made = fleet.cycle({"a": 24}, shard=0)["a"]
    why = "fleet's maxTotal is 30, of which 30 are in use"
    assert (made.desired, made.change) == (20, None)
    assert made.trace[-1].detail == why
    assert (limited(made).status, limited(made).reason) == (True, "MaxTotalLimit")
    assert [(event.type, event.reason) for event in made.events] == [(EventType.WARNING, "MaxTotalLimit")]


def test_its_word_ends_with_it_where_no_other_stage_speaks() -> None:
    """Above the maximum no rate is asked: the condition of an earlier cycle would stand for ever."""
    fleet = Fleet(limits(5), {"a": 20})
    fleet.scalers["a"] = replace(fleet.scalers["a"], max_replicas=14)
    assert limited(fleet.cycle({"a": 12})["a"]).reason == "RemovalBudgetLimit"
    made = fleet.cycle({"a": 12}, after=60)["a"]
    assert made.outcome == Written(14)
    assert (limited(made).status, limited(made).reason) == (False, "DesiredWithinRange")


def test_a_scale_to_zero_that_is_cut_is_none() -> None:
    """The condition says that the autoscaler may leave zero again by itself: only of a size of zero."""
    fleet = Fleet(limits(5), {"a": 7}, minimum=0)
    made = fleet.cycle({"a": 0})["a"]
    assert (made.outcome, made.scaled_to_zero) == (Written(2), False)
    made = fleet.cycle({"a": 0}, after=60)["a"]
    assert (made.outcome, made.scaled_to_zero) == (Written(0), True)
