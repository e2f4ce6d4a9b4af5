"""Scale-ins with named victims."""

import copy
from typing import Any

import pytest

from adapters.aws.api import AwsApi
from adapters.aws.writes import Writes
from autoscaler.errors import StateError, TargetUnavailable
from autoscaler.model import Conflict, Held, Unchanged, Written
from tests.adapters.aws_asg.conftest import Cloud, Connect, LiveAdapter, mixed
from tests.servers.aws.server import REGION
from tests.servers.faults import Fault

pytestmark = pytest.mark.slow
ZONES = [f"{REGION}{zone}" for zone in "abc"]
_END = "TerminateInstanceInAutoScalingGroup"


def test_named_victims_are_terminated_with_decrement_and_no_size_is_set(cloud: Cloud, connection: LiveAdapter) -> None:
    """Setting the size too would terminate as many other instances."""
    cloud.create("named", 4)
    ids = cloud.ids("named")
    state = connection.state("named")
    ranked = (ids[2], ids[1], ids[0], ids[3])
    assert connection.scale("named", state, 2, victims=ranked) == Written(2)
    assert set(cloud.ids("named")) == {ids[0], ids[3]}
    assert cloud.desired("named") == 2
    assert cloud.server.count("SetDesiredCapacity") == 0
    assert cloud.server.count(_END) == 2


def test_protected_instances_are_never_terminated(cloud: Cloud, connection: LiveAdapter) -> None:
    """TerminateInstance would terminate it, against the operator's setting. The next in rank is terminated instead."""
    cloud.create("kept", 3)
    ids = cloud.ids("kept")
    cloud.protect("kept", ids[:1])
    assert connection.scale("kept", connection.state("kept"), 1, victims=tuple(ids)) == Written(1)
    assert cloud.ids("kept") == ids[:1]


def test_a_daemon_that_lost_the_target_between_two_victims_terminates_no_second_one(
    cloud: Cloud, connection: LiveAdapter
) -> None:
    """Another daemon may have decided differently by then. The outcome counts the instance that was terminated."""
    cloud.create("lost", 4)
    ids = cloud.ids("lost")
    state = connection.state("lost")
    outcome = connection.scale("lost", state, 2, victims=tuple(ids), is_current=lambda: cloud.server.count(_END) == 0)
    assert (outcome, cloud.server.count(_END)) == (Written(3), 1)
    assert cloud.desired("lost") == 3


def test_victims_that_cannot_be_ended_are_a_hold(cloud: Cloud, connection: LiveAdapter) -> None:
    """When all that were named protected themselves, nothing is written."""
    cloud.create("few", 2)
    state, (first, _) = connection.state("few"), cloud.ids("few")
    cloud.protect("few", [first])
    outcome = connection.scale("few", state, 1, victims=(first,))
    assert isinstance(outcome, Held)
    assert outcome.hold.reason == "NoVictim"
    assert cloud.desired("few") == 2


def test_victims_leave_the_zones_balanced(cloud: Cloud, connection: LiveAdapter) -> None:
    """Otherwise AWS launches an instance in the zone that lost two, and ends one that should stay."""
    cloud.create("zones", 6, AvailabilityZones=ZONES)
    (a, b), (c, d), (e, f) = _by_zone(cloud, "zones").values()
    assert connection.scale("zones", connection.state("zones"), 3, victims=(a, b, c, d, e, f)) == Written(3)
    cloud.world.advance(60)
    assert _by_zone(cloud, "zones") == {ZONES[0]: [b], ZONES[1]: [d], ZONES[2]: [f]}


def test_without_rebalancing_the_ranking_alone_counts(cloud: Cloud, connection: LiveAdapter) -> None:
    """With AZRebalance suspended, AWS leaves the zones as they are."""
    cloud.create("ranked", 6, AvailabilityZones=ZONES)
    cloud.autoscaling.suspend_processes(AutoScalingGroupName="ranked", ScalingProcesses=["AZRebalance"])
    (a, b), (c, _), _ = _by_zone(cloud, "ranked").values()
    assert connection.scale("ranked", connection.state("ranked"), 3, victims=(a, b, c)) == Written(3)
    assert not {a, b, c} & set(cloud.ids("ranked"))


def test_a_zone_whose_instances_are_protected_keeps_them(cloud: Cloud, connection: LiveAdapter) -> None:
    """The next largest zone gives one, as in AWS's own scale-in."""
    cloud.create("zones", 5, AvailabilityZones=ZONES[:2])
    (a, b, c), (d, e) = _by_zone(cloud, "zones").values()
    cloud.protect("zones", [a, b, c])
    assert connection.scale("zones", connection.state("zones"), 4, victims=(a, b, d, e)) == Written(4)
    assert d not in cloud.ids("zones")


def test_one_decision_never_terminates_a_victim_twice(cloud: Cloud, connect: Connect, connection: LiveAdapter) -> None:
    """This holds while reads lag, and after a restart."""
    cloud.create("once", 4)
    cloud.world.advance(600)
    state, ids = connection.state("once"), cloud.ids("once")
    cloud.world.lag_seconds = 20
    assert connection.scale("once", state, 3, change="one", victims=tuple(ids)) == Written(3)
    for again in (connection, connect(endpointUrl=cloud.server.url)):
        again.scale("once", state, 3, change="one", victims=tuple(ids))
    cloud.world.lag_seconds = 0
    assert cloud.ids("once") == ids[1:]
    assert cloud.server.count(_END) == 1


def test_an_instance_that_was_ended_is_not_ended_again_while_reads_lag(cloud: Cloud, connection: LiveAdapter) -> None:
    """A read still shows it in service. A second termination would reduce the size by two for one instance."""
    cloud.create("stale", 4)
    state, ids = connection.state("stale"), cloud.ids("stale")
    assert connection.scale("stale", state, 3, victims=tuple(ids)) == Written(3)
    members = cloud.server.groups()["stale"].instance_states
    members.append(copy.copy(members[0]))
    members[-1].instance_id = ids[0]
    seen = connection.state("stale")
    assert connection.scale("stale", seen, 2, victims=tuple(ids)) == Written(2)
    ended = [one.parameters["InstanceId"] for one in cloud.server.requests if one.action.endswith(_END)]
    assert ended == ids[:2]


def test_a_termination_without_an_answer_is_not_retried(cloud: Cloud, connection: LiveAdapter) -> None:
    """AWS may have performed it, and a retry might terminate a second instance."""
    cloud.create("lost", 3)
    state, ids = connection.state("lost"), cloud.ids("lost")
    cloud.server.faults.faults.append(Fault(_END, 500, "lost", times=1))
    outcome = connection.scale("lost", state, 2, change="one", victims=tuple(ids))
    assert isinstance(outcome, TargetUnavailable)
    assert "unknown" in str(outcome)
    again = connection.scale("lost", state, 2, change="one", victims=tuple(ids))
    assert isinstance(again, Unchanged | Conflict)
    assert cloud.server.count(_END) == 1


def test_a_successor_ends_no_second_instance_while_the_first_may_be_leaving(
    cloud: Cloud, connect: Connect, connection: LiveAdapter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The daemon is killed before AWS's answer while reads still show the instance: nothing more is terminated."""
    cloud.create("twice", 4)
    cloud.world.advance(600)
    state, ids = connection.state("twice"), cloud.ids("twice")
    ask = AwsApi.ask

    def killed(self: AwsApi, service: str, operation: str, *rest: Any, **more: Any) -> Any:
        if operation.startswith("terminate"):
            raise KeyboardInterrupt
        return ask(self, service, operation, *rest, **more)

    with monkeypatch.context() as patched:
        patched.setattr(AwsApi, "ask", killed)
        with pytest.raises(KeyboardInterrupt):
            connection.scale("twice", state, 3, change="one", victims=tuple(ids))
    successor = connect(endpointUrl=cloud.server.url)
    seen = successor.state("twice")
    assert seen.replicas == 4
    held = successor.scale("twice", seen, 3, change="two", victims=tuple(ids))
    assert isinstance(held, Held)
    assert held.hold.reason == "TerminationUnconfirmed"
    assert cloud.server.count(_END) == 0
    cloud.world.advance(61)
    assert successor.scale("twice", seen, 3, change="three", victims=tuple(ids)) == Written(3)
    assert cloud.ids("twice") == ids[1:]


def test_a_partial_scale_in_is_written_at_the_size_reached(cloud: Cloud, connection: LiveAdapter) -> None:
    """The cooldown counts the instances that were terminated; the next cycle continues."""
    cloud.create("half", 4)
    state, ids = connection.state("half"), cloud.ids("half")
    _refuse_the_second(cloud)
    assert connection.scale("half", state, 1, victims=tuple(ids)) == Written(3)
    assert cloud.desired("half") == 3
    assert connection.state("half").replicas == 3
    assert connection.logger.events == ["aws_victims_left"]


def test_a_state_that_fails_after_the_first_termination_keeps_it(
    cloud: Cloud, connection: LiveAdapter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One instance is gone: it counts as a scale event and in a removal budget."""
    cloud.create("full", 4)
    state, ids = connection.state("full"), cloud.ids("full")
    ending = Writes.ending

    def full(self: Writes, name: str, change: str, victim: str, size: int) -> None:
        if size < 4:
            raise StateError("the disk is full")
        ending(self, name, change, victim, size)

    monkeypatch.setattr(Writes, "ending", full)
    assert connection.scale("full", state, 2, victims=tuple(ids)) == Written(3)
    assert cloud.desired("full") == 3


def test_a_group_that_is_busy_is_held(cloud: Cloud, connection: LiveAdapter) -> None:
    """ScalingActivityInProgress is a hold, not a failure."""
    cloud.create("moment", 2)
    state, ids = connection.state("moment"), cloud.ids("moment")
    cloud.server.refuse(_END, "ScalingActivityInProgress", "in progress")
    assert isinstance(connection.scale("moment", state, 1, victims=tuple(ids)), Held)
    assert connection.state("moment").replicas == 2


def test_the_victims_weights_stay_within_the_scale_in(cloud: Cloud, connection: LiveAdapter) -> None:
    """An instance of weight 4 is not terminated for 3 units."""
    cloud.create(
        "heavy",
        6,
        MixedInstancesPolicy=mixed(
            {"InstanceType": "m5.large", "WeightedCapacity": "1"},
            {"InstanceType": "m5.2xlarge", "WeightedCapacity": "4"},
        ),
    )
    state = connection.state("heavy")
    weights = {one.name: one.weight for one in state.instances}
    ranked = tuple(sorted(weights, key=lambda name: -weights[name]))
    outcome = connection.scale("heavy", state, 3, victims=ranked)
    assert isinstance(outcome, Written)
    gone = [weights[name] for name in weights if name not in cloud.ids("heavy")]
    assert set(gone) == {1}
    assert outcome.size == 6 - sum(gone) == cloud.desired("heavy")


def _by_zone(cloud: Cloud, name: str) -> dict[str, list[str]]:
    """The ids of the group's instances by zone."""
    found: dict[str, list[str]] = {}
    for one in cloud.describe(name)["Instances"]:
        if one["LifecycleState"] == "InService":
            found.setdefault(one["AvailabilityZone"], []).append(one["InstanceId"])
    return found


def _refuse_the_second(cloud: Cloud) -> None:
    """Allow one termination, then refuse."""
    cloud.server.faults.faults.append(Fault(_END, first=lambda: None, times=1))
    cloud.server.refuse(_END, "ValidationError", "no more")
