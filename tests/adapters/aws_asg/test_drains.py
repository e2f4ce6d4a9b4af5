"""Instances that wait on a terminating lifecycle hook, for their drain."""

from datetime import timedelta
from typing import Final

import pytest

from autoscaler.errors import TargetForbidden, TargetUnavailable
from autoscaler.model import AwaitingDrain, Held, TargetRef, TargetState, Written
from tests.adapters.aws_asg.conftest import Cloud, Connect, LiveAdapter

pytestmark = pytest.mark.slow
WEB: Final = TargetRef("test", "web")


@pytest.fixture
def connection(connect: Connect, cloud: Cloud) -> LiveAdapter:
    """A connection that drains the group `web`, with a group of two and its hook of 60 s."""
    cloud.world.advance(0)
    cloud.create("web", 2)
    cloud.hook("web", "leave")
    return connect({"web": None}, endpointUrl=cloud.server.url)


def waiting(state: TargetState) -> list[str]:
    return [each.instance for each in state.awaiting_drain or ()]


def states(cloud: Cloud) -> list[str]:
    return sorted(one["LifecycleState"] for one in cloud.describe("web")["Instances"])


def test_waiting_instances_are_reported_whatever_ended_them(cloud: Cloud, connection: LiveAdapter) -> None:
    """Another client sets the size. The instance waits with its private address and its hook's heartbeat."""
    assert connection.state("web").awaiting_drain == ()
    assert connection.adapter.examine(WEB) is None
    cloud.set("web", 1)
    state = connection.state("web")
    (one,) = [each for each in state.instances if each.deleting]
    (found,) = state.awaiting_drain or ()
    assert found == AwaitingDrain(one.name, found.addresses, timedelta(seconds=60))
    (address,) = found.addresses
    assert address in one.identities
    assert (state.replicas, state.status_replicas, state.hold.scale_in) == (1, 1, None)


def test_an_instance_goes_when_it_is_released(cloud: Cloud, connection: LiveAdapter) -> None:
    """The second time its action is gone, which is no error."""
    cloud.set("web", 1)
    (one,) = waiting(connection.state("web"))
    for _ in range(2):
        connection.adapter.release(WEB, one, connection.call())
        assert states(cloud) == ["InService"]


def test_heartbeats_keep_an_instance_waiting(cloud: Cloud, connection: LiveAdapter) -> None:
    """AWS continues 60 s after the last heartbeat."""
    cloud.set("web", 1)
    (one,) = waiting(connection.state("web"))
    for _ in range(3):
        cloud.world.advance(40)
        connection.adapter.extend(WEB, one, connection.call())
        assert states(cloud) == ["InService", "Terminating:Wait"]
    cloud.world.advance(61)
    assert states(cloud) == ["InService"]
    connection.adapter.extend(WEB, one, connection.call())


def test_a_group_without_a_hook_is_not_scaled_in(cloud: Cloud, connection: LiveAdapter) -> None:
    """Its instances would end without a drain. Scale-out passes, and a hook ends the hold."""
    cloud.autoscaling.delete_lifecycle_hook(AutoScalingGroupName="web", LifecycleHookName="leave")
    cloud.hook("web", "boot", transition="LAUNCHING")
    state = connection.state("web")
    assert state.hold.scale_in is not None
    assert state.hold.scale_in.reason == "DrainHookMissing"
    assert "it has no lifecycle hook of autoscaling:EC2_INSTANCE_TERMINATING" in state.hold.scale_in.message
    assert connection.adapter.examine(WEB) == state.hold.scale_in.message
    held = connection.scale("web", state, 1)
    assert isinstance(held, Held)
    assert held.hold == state.hold.scale_in
    assert connection.scale("web", state, 3) == Written(3)
    cloud.hook("web", "leave")
    state = connection.state("web")
    assert connection.scale("web", state, 2) == Written(2)
    assert connection.state("web").hold.scale_in is None


def test_a_hook_that_is_deleted_is_noticed_before_the_next_scale_in(cloud: Cloud, connection: LiveAdapter) -> None:
    """Hooks are read again just before a scale-in, and every five minutes."""
    state = connection.state("web")
    cloud.autoscaling.delete_lifecycle_hook(AutoScalingGroupName="web", LifecycleHookName="leave")
    assert connection.state("web").hold.scale_in is None
    assert isinstance(connection.scale("web", state, 1), Held)
    assert connection.state("web").hold.scale_in is not None
    assert cloud.desired("web") == 2


def test_one_of_several_hooks_must_be_named(cloud: Cloud, connection: LiveAdapter, connect: Connect) -> None:
    """Only the named one is completed; another hook keeps the instance."""
    cloud.hook("web", "logs")
    hold = connection.state("web").hold.scale_in
    assert hold is not None
    assert "it has several hooks" in hold.message
    assert "(leave, logs)" in hold.message
    named = connect({"web": "leave"}, endpointUrl=cloud.server.url)
    state = named.state("web")
    assert named.scale("web", state, 1) == Written(1)
    (one,) = waiting(named.state("web"))
    named.adapter.release(WEB, one, named.call())
    assert waiting(named.state("web")) == [one]
    cloud.autoscaling.complete_lifecycle_action(
        AutoScalingGroupName="web", LifecycleHookName="logs", InstanceId=one, LifecycleActionResult="CONTINUE"
    )
    assert states(cloud) == ["InService"]
    wrong = connect({"web": "leaves"}, endpointUrl=cloud.server.url).state("web")
    assert wrong.hold.scale_in is not None
    assert "it has no hook leaves" in wrong.hold.scale_in.message


def test_without_the_permission_to_see_hooks_scale_in_is_held(cloud: Cloud, connection: LiveAdapter) -> None:
    """Scale-out, and the group's state, need no hook. The message names the permission."""
    cloud.server.refuse("DescribeLifecycleHooks", "AccessDenied", "not authorized", 403)
    state = connection.state("web")
    assert state.hold.scale_in is not None
    assert state.hold.scale_in.reason == "DrainHookMissing"
    assert "autoscaling:DescribeLifecycleHooks" in state.hold.scale_in.message
    assert connection.scale("web", state, 3) == Written(3)
    assert isinstance(connection.scale("web", connection.state("web"), 2), TargetForbidden)


def test_while_hooks_could_not_be_read_it_is_unknown_what_waits(cloud: Cloud, connect: Connect) -> None:
    """An earlier daemon may have begun a drain: an instance that waits must not look as if it were gone."""
    cloud.create("web", 2)
    cloud.hook("web", "leave")
    cloud.set("web", 1)
    fault = cloud.server.refuse("DescribeLifecycleHooks", "Throttling", "slow down", 400)
    restarted = connect({"web": None}, endpointUrl=cloud.server.url)
    assert restarted.state("web").awaiting_drain is None
    cloud.server.faults.faults.remove(fault)
    assert connect({"web": None}, endpointUrl=cloud.server.url).state("web").awaiting_drain


def test_a_release_that_aws_refuses_is_an_error(cloud: Cloud, connection: LiveAdapter) -> None:
    """The drain tries again. AWS continues at its heartbeat."""
    cloud.set("web", 1)
    (one,) = waiting(connection.state("web"))
    fault = cloud.server.refuse("CompleteLifecycleAction", "AccessDenied", "not authorized", 403)
    with pytest.raises(TargetForbidden, match="autoscaling:CompleteLifecycleAction"):
        connection.adapter.release(WEB, one, connection.call())
    cloud.server.faults.faults.remove(fault)
    cloud.server.refuse("CompleteLifecycleAction", "InternalFailure", "no", 500)
    with pytest.raises(TargetUnavailable):
        connection.adapter.release(WEB, one, connection.call())
    assert states(cloud) == ["InService", "Terminating:Wait"]


def test_groups_without_a_drain_ask_for_no_hook(cloud: Cloud, connection: LiveAdapter) -> None:
    """Their policy needs no further permission, and their instances wait for the owner of the hook."""
    cloud.create("plain", 2)
    cloud.hook("plain", "own")
    cloud.set("plain", 1)
    assert connection.state("plain").awaiting_drain == ()
    assert connection.scale("plain", connection.state("plain"), 0) == Written(0)
    assert cloud.server.count("LifecycleHooks") == 0


def test_the_write_test_tries_lifecycle_actions_on_no_instance(cloud: Cloud, connection: LiveAdapter) -> None:
    """AWS refuses them for the instance, not for the permission. Waiting instances continue to wait."""
    cloud.set("web", 1)
    before = states(cloud)
    assert connection.adapter.try_write(WEB, connection.call()).startswith("permitted")
    assert states(cloud) == before
    for action in ("CompleteLifecycleAction", "RecordLifecycleActionHeartbeat", "DescribeLifecycleHooks"):
        fault = cloud.server.refuse(action, "AccessDenied", "not authorized", 403)
        with pytest.raises(TargetForbidden, match=f"autoscaling:{action}"):
            connection.adapter.try_write(WEB, connection.call())
        cloud.server.faults.faults.remove(fault)
