"""The limits of a connection: its removal budget, and the sum of all sizes."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from autoscaler.errors import TargetDeferred, TargetNotFound, TargetNotWritten, TargetUnavailable
from autoscaler.limits.connection_limits import apply_limits
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
from tests.limits.fleet import UNDER_WAY, Fleet, limits
from tests.replaced import replace

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
    """Return the sizes to write, None where no write follows."""
    return {name: None if one.change is None else one.change.size for name, one in made.items()}


def limited(made: Decision) -> Condition:
    return next(each for each in made.conditions if each.type is ConditionType.SCALING_LIMITED)


def run(fleet: Fleet, schedule: Any) -> Any:
    """Run a schedule and return the sizes before each cycle, and its decisions.

    The size before a cycle is what the limits count, if that is more: a write without an answer may not have arrived.
    All shards read what is left at the same moment, and then use it one after another.
    """
    for loads, failures, arrives, after in schedule:
        fleet.now += timedelta(seconds=after)
        standings = [fleet.standing(shard) for shard in range(fleet.shards)]
        for shard, standing in enumerate(standings):
            mine = {name: load for name, load in loads.items() if fleet.shard_of[name] == shard}
            before = {name: max(size, fleet.known[name]) for name, size in fleet.sizes.items()}
            yield before, fleet.cycle(mine, failures, arrives=arrives, shard=shard, standing=standing)


@given(cycles, st.integers(1, 8), st.integers(1, 90), st.sampled_from([1, 2, 3]))
def test_no_period_removes_more_than_the_budget(schedule: Any, instances: int, seconds: int, shards: int) -> None:
    """Whatever autoscalers want and whatever the outcomes are, including lost answers."""
    fleet = Fleet(limits(instances, seconds), dict.fromkeys(NAMES, 20), shards)
    for _ in run(fleet, schedule):
        period = timedelta(seconds=seconds)
        assert fleet.within(period, fleet.left) <= instances
        assert fleet.within(period, [(at, units) for (_, at), units in fleet.counted.items()]) <= instances


@given(cycles, st.integers(1, 60), st.integers(0, 5), st.sampled_from([1, 2, 3]), st.integers(0, 15))
def test_sizes_never_grow_beyond_the_total(schedule: Any, total: int, minimum: int, shards: int, begin: int) -> None:
    """Except when minimums or existing sizes already exceed the sum."""
    fleet = Fleet(limits(total=total), dict.fromkeys(NAMES, begin), shards, minimum)
    for before, _ in run(fleet, schedule):
        unavoidable = sum(max(size, minimum) for size in before.values())
        assert sum(fleet.sizes.values()) <= max(total, unavoidable)


@given(cycles, st.integers(1, 8), st.integers(1, 60), st.integers(0, 5))
def test_a_limit_only_prevents_changes(schedule: Any, instances: int, total: int, minimum: int) -> None:
    """The limited size lies between the current size and the one that the autoscaler wants, within its bounds."""
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
def test_an_autoscaler_within_its_limits_decides_as_without(schedule: Any) -> None:
    """A limit that does not bind has no effect: the decision is the same, field by field."""
    fleet = Fleet(limits(10_000, total=10_000), {"a": 10})
    for loads, failures, arrives, after in schedule:
        fleet.now += timedelta(seconds=after)
        alone = fleet._decide("a", loads.get("a", 3))
        assert apply_limits([alone], fleet.histories, fleet.standing(), fleet.now).decisions == [alone]
        fleet.cycle({"a": loads.get("a", 3)}, failures, arrives=arrives)


def test_without_limits_every_decision_stays_as_it_is() -> None:
    """Limits are off unless configured."""
    fleet = Fleet(limits(), {"a": 10, "b": 10})
    made = [fleet._decide("a", 2), fleet._decide("b", 90)]
    assert apply_limits(made, fleet.histories, WITHOUT_LIMITS, NOW) == (made, None, None)


def test_a_larger_scale_in_takes_what_is_left() -> None:
    """The rest follows after the period."""
    fleet = Fleet(limits(5), {"a": 20})
    assert sizes(fleet.cycle({"a": 12})) == {"a": 15}
    assert fleet.limited_decisions.removals_left == 0
    assert sizes(fleet.cycle({"a": 12}, after=59)) == {"a": None}
    assert sizes(fleet.cycle({"a": 12}, after=1)) == {"a": 12}
    assert fleet.limited_decisions.removals_left == 2


def test_the_minimum_is_never_withheld() -> None:
    """The value of minReplicas takes precedence over maxTotal; the other autoscalers get less room."""
    fleet = Fleet(limits(total=10), {"new": 0, "busy": 7}, minimum=4)
    fleet.sizes["new"] = fleet.known["new"] = 1
    assert sizes(fleet.cycle({"new": 1, "busy": 20})) == {"new": 4, "busy": None}
    assert sum(fleet.sizes.values()) == 11


def test_a_dry_run_proposes_its_minimum_too() -> None:
    fleet = Fleet(limits(total=10), {"dry": 0, "busy": 9}, minimum=4)
    fleet.scalers["dry"] = replace(fleet.scalers["dry"], dry_run=True)
    fleet.sizes["dry"] = fleet.known["dry"] = 1
    assert sizes(fleet.cycle({"dry": 1, "busy": 9}, {"dry": Proposed(4)})) == {"dry": 4, "busy": None}


def test_a_limited_change_without_a_behavior_keeps_no_scale_event() -> None:
    """Only the policies of a behavior count them."""
    fleet = Fleet(limits(total=12), {"a": 10})
    fleet.scalers["a"] = replace(fleet.scalers["a"], behavior=None)
    made = fleet.cycle({"a": 15})
    assert (sizes(made), made["a"].remembered.scale_ups) == ({"a": 12}, ())


def test_room_is_reserved_for_a_minimum() -> None:
    """The scale-out to the minimum is held. Without the reservation, the sum would be exceeded once it proceeds."""
    fleet = Fleet(limits(total=10), {"new": 0, "busy": 5}, minimum=4)
    fleet.sizes["new"] = fleet.known["new"] = 1
    fleet.cycle({"new": 1}, {"new": Held(HoldReason("Rollout", "wait"))})
    assert sizes(fleet.cycle({"busy": 20}, after=15)) == {"busy": 6}


def test_sizes_beyond_the_total_stay_and_may_shrink() -> None:
    """The limit prevents growth and forces no scale-in."""
    fleet = Fleet(limits(total=10), {"a": 12, "b": 8})
    assert sizes(fleet.cycle({"a": 12, "b": 9})) == {"a": None, "b": None}
    assert sizes(fleet.cycle({"a": 3, "b": 9}, after=15)) == {"a": 3, "b": None}
    assert sizes(fleet.cycle({"a": 3, "b": 9}, after=15)) == {"a": None, "b": None}
    assert sizes(fleet.cycle({"a": 1, "b": 9}, after=15)) == {"a": 1, "b": None}
    assert sizes(fleet.cycle({"a": 1, "b": 9}, after=15)) == {"a": None, "b": 9}


def test_a_target_that_cannot_be_read_counts_with_its_last_known_size() -> None:
    """Its instances still exist as far as the daemon knows, so an outage of the back end frees no room."""
    fleet = Fleet(limits(total=20), {"a": 12, "b": 2})
    fleet.cycle({"a": 14, "b": 2})
    assert sizes(fleet.cycle({"a": GONE, "b": 9}, after=15)) == {"a": None, "b": 6}


def test_growth_that_may_still_arrive_counts() -> None:
    """The back end may apply a request that it did not answer."""
    fleet = Fleet(limits(total=20), {"a": 5, "b": 5})
    fleet.cycle({"a": 12, "b": 5}, {"a": GONE}, arrives=False)
    assert sizes(fleet.cycle({"a": 5, "b": 20}, after=15)) == {"a": None, "b": 8}


def test_instances_not_removed_return_to_the_budget() -> None:
    """The instance still exists, and the next cycle may remove a different one."""
    throttled = TargetNotWritten("throttled")
    for outcome in (
        Conflict("it changed"),
        Held(HoldReason("Rollout", "")),
        TargetNotFound("gone"),
        Unchanged(),
        Written(20),  # the back end's own minimum
        throttled,
    ):
        fleet = Fleet(limits(5), {"a": 20, "b": 20})
        fleet.cycle({"a": 10, "b": 20}, {"a": outcome})
        assert sizes(fleet.cycle({"a": 20, "b": 10}, after=15)) == {"a": None, "b": 15}, outcome


def test_a_retried_scale_in_counts_once() -> None:
    """Sizes are absolute, so both requests together remove no more than one of them."""
    fleet = Fleet(limits(5), {"a": 20})
    fleet.cycle({"a": 10}, {"a": GONE}, arrives=False)
    assert sizes(fleet.cycle({"a": 10}, {"a": Conflict("it changed")}, after=15)) == {"a": 15}
    assert sizes(fleet.cycle({"a": 10}, after=15)) == {"a": 15}
    assert sizes(fleet.cycle({"a": 10}, after=15)) == {"a": None}
    assert sizes(fleet.cycle({"a": 10}, after=44)) == {"a": None}  # a minute after the last of the three requests
    assert sizes(fleet.cycle({"a": 10}, after=1)) == {"a": 10}


def test_a_dry_run_uses_nothing_and_is_limited_like_a_live_one() -> None:
    """A dry run shows what would happen, and uses nothing that live autoscalers need."""
    fleet = Fleet(limits(6, total=40), {"dry": 20, "live": 20})
    fleet.scalers["dry"] = replace(fleet.scalers["dry"], dry_run=True)
    made = fleet.cycle({"dry": 10, "live": 10}, {"dry": Proposed(17)})
    assert sizes(made) == {"dry": 17, "live": 14}
    assert fleet.limited_decisions.removals_left == 0
    assert fleet.counted == {("live", NOW): 6}
    fleet.sizes["dry"] = 17
    assert sizes(fleet.cycle({"dry": 37, "live": 34}, {"dry": Proposed(30)}, after=60)) == {"dry": 21, "live": 23}


def test_a_dry_run_counts_its_real_size_in_the_total() -> None:
    """Its decisions are not written, so it decides from that size again, and has the same room again."""
    fleet = Fleet(limits(total=40), {"dry": 10, "live": 10})
    fleet.scalers["dry"] = replace(fleet.scalers["dry"], dry_run=True)
    for after in (0, 60):
        made = fleet.cycle({"dry": 25, "live": 10}, {"dry": Proposed(25)}, after=after)
        assert sizes(made) == {"dry": 25, "live": None}
        assert made["dry"].current == 10
        assert fleet.limited_decisions.total == 20


def test_a_late_shard_writes_nothing_and_retries() -> None:
    """Two shards read that enough is left. The first to record its intent gets it."""
    fleet = Fleet(limits(5, total=40), {"a": 20, "b": 20}, shards=2)
    standing = fleet.standing(1)
    assert sizes(fleet.cycle({"a": 16}, shard=0)) == {"a": 16}
    assert fleet.cycle({"b": 16}, shard=1, standing=standing) == {}
    assert sizes(fleet.cycle({"b": 16}, shard=1)) == {"b": 19}
    standing = fleet.standing(1)
    assert sizes(fleet.cycle({"a": 20}, shard=0, after=60)) == {"a": 20}
    assert fleet.cycle({"b": 24}, shard=1, standing=standing) == {}
    assert sizes(fleet.cycle({"b": 24}, shard=1)) == {"b": 20}


def test_a_decision_that_cannot_be_written_uses_nothing() -> None:
    """An earlier write to its target hangs, and only what that write can come to is counted."""
    fleet = Fleet(limits(6), {"a": 20, "b": 20})
    fleet.cycle({"a": 18, "b": 20}, {"a": GONE}, arrives=False)
    made = fleet.cycle({"a": 10, "b": 10}, after=15, busy=["a"])
    assert (made["a"].outcome, made["b"].outcome) == (UNDER_WAY, Written(16))
    assert fleet.limited_decisions.removals_left == 0
    fleet = Fleet(limits(total=40), {"a": 10, "b": 10})
    fleet.cycle({"a": 20, "b": 10}, {"a": GONE}, arrives=False)
    made = fleet.cycle({"a": 90, "b": 30}, after=15, busy=["a"])
    assert (made["a"].outcome, made["b"].outcome) == (UNDER_WAY, Written(20))


def test_a_binding_removal_budget_sets_its_condition() -> None:
    """ScalingLimited has a reason of its own, and each step has its numbers."""
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
    assert made.remembered.scale_downs[-1].change == 5
    held = fleet.cycle({"a": 12}, after=15)["a"]
    assert (held.desired, held.change, held.remembered.status.desired) == (15, None, 15)
    assert held.trace[-1].detail == (
        "fleet's removalBudget is 5 instances in 1m, of which 0 were left; more from 2026-01-01T12:01:00+00:00"
    )
    assert held.events == ()
    assert limited(held).last_transition == NOW


def test_a_binding_total_is_a_warning() -> None:
    """A service does not get what its load asks for until an operator acts."""
    fleet = Fleet(limits(total=30), {"a": 20, "b": 10}, shards=2)
    made = fleet.cycle({"a": 24}, shard=0)["a"]
    why = "fleet's maxTotal is 30, of which 30 are in use"
    assert (made.desired, made.change) == (20, None)
    assert made.trace[-1].detail == why
    assert (limited(made).status, limited(made).reason) == (True, "MaxTotalLimit")
    assert [(event.type, event.reason) for event in made.events] == [(EventType.WARNING, "MaxTotalLimit")]


def test_a_limits_condition_ends_with_the_limit() -> None:
    """Above the maximum no rate is checked, so the condition of an earlier cycle would otherwise stay."""
    fleet = Fleet(limits(5), {"a": 20})
    fleet.scalers["a"] = replace(fleet.scalers["a"], max_replicas=14)
    assert limited(fleet.cycle({"a": 12})["a"]).reason == "RemovalBudgetLimit"
    made = fleet.cycle({"a": 12}, after=60)["a"]
    assert made.outcome == Written(14)
    assert (limited(made).status, limited(made).reason) == (False, "DesiredWithinRange")


def test_a_limited_scale_to_zero_is_not_recorded_as_zero() -> None:
    """The condition lets the autoscaler leave zero again, which applies to a size of 0 only."""
    fleet = Fleet(limits(5), {"a": 7}, minimum=0)
    made = fleet.cycle({"a": 0})["a"]
    assert (made.outcome, made.remembered.scaled_to_zero) == (Written(2), False)
    made = fleet.cycle({"a": 0}, after=60)["a"]
    assert (made.outcome, made.remembered.scaled_to_zero) == (Written(0), True)
