"""Details of Auto Scaling groups that are easy to get wrong, one for each test."""

from typing import Any

import boto3
import pytest
from botocore.loaders import JSONFileLoader

from adapters.aws_asg.lifecycle import is_known
from autoscaler.errors import TargetRefused
from autoscaler.model import Held, Hold, Phase, Unchanged, Written
from tests.adapters.aws_asg.conftest import Cloud, Connect, LiveAdapter

pytestmark = pytest.mark.slow


def test_the_base_is_desired_capacity_never_the_running_count(cloud: Cloud, connection: LiveAdapter) -> None:
    """While four of five instances start, a decision from the running count would remove the four."""
    cloud.create("base", 1)
    cloud.world.launch_seconds = 60
    cloud.set("base", 5)
    state = connection.state("base")
    running = [one for one in state.instances if one.phase is Phase.RUNNING]
    assert (state.replicas, state.status_replicas, len(running)) == (5, 5, 1)


@pytest.mark.parametrize(("process", "held", "other"), [("Launch", 3, 1), ("Terminate", 1, 3)])
def test_a_suspended_process_holds_only_its_own_direction(
    cloud: Cloud, connection: LiveAdapter, process: str, held: int, other: int
) -> None:
    """AWS accepts the new size, changes nothing, and makes the whole change when the process is resumed."""
    cloud.create("suspended", 2)
    cloud.autoscaling.suspend_processes(AutoScalingGroupName="suspended", ScalingProcesses=[process])
    state = connection.state("suspended")
    reasons = {size: hold and hold.reason for size, hold in ((3, state.hold.scale_out), (1, state.hold.scale_in))}
    assert reasons == {held: f"{process}Suspended", other: None}
    assert isinstance(connection.scale("suspended", state, held), Held)
    assert connection.scale("suspended", state, other) == Written(other)


def test_an_instance_refresh_holds_scale_in_and_lets_scale_out_pass(cloud: Cloud, connection: LiveAdapter) -> None:
    """A refresh may last for hours, in which load must be met. A scale-in could terminate new instances."""
    cloud.create("refresh", 2)
    state = connection.state("refresh")
    cloud.autoscaling.start_instance_refresh(AutoScalingGroupName="refresh")
    outcome = connection.scale("refresh", state, 1)
    assert isinstance(outcome, Held)
    assert outcome.hold.reason == "InstanceRefreshActive"
    assert connection.state("refresh").hold == Hold(scale_in=outcome.hold)
    assert connection.scale("refresh", state, 3) == Written(3)


def test_a_refresh_that_has_ended_holds_no_more(cloud: Cloud, connection: LiveAdapter) -> None:
    """A known refresh is read again."""
    cloud.create("ended", 2)
    cloud.autoscaling.start_instance_refresh(AutoScalingGroupName="ended")
    connection.scale("ended", connection.state("ended"), 1)
    assert connection.state("ended").hold.scale_in is not None
    cloud.world.refresh_seconds = 0
    state = connection.state("ended")
    assert state.hold == Hold()
    assert connection.scale("ended", state, 1) == Written(1)


@pytest.mark.parametrize(
    ("setting", "size", "held"),
    [("hold", 3, True), ("hold", 1, True), ("holdScaleIn", 3, False), ("ignore", 1, False), ("ignore", 3, False)],
)
def test_a_setting_decides_what_a_refresh_holds(
    cloud: Cloud, connect: Connect, setting: str, size: int, *, held: bool
) -> None:
    """Hold stops both directions; ignore stops neither."""
    connection = connect(endpointUrl=cloud.server.url, onInstanceRefresh=setting)
    cloud.create("chosen", 2)
    cloud.autoscaling.start_instance_refresh(AutoScalingGroupName="chosen")
    assert isinstance(connection.scale("chosen", connection.state("chosen"), size), Held) is held


def test_the_groups_own_min_and_max_are_its_limits(cloud: Cloud, connection: LiveAdapter) -> None:
    """They narrow the autoscaler's bounds, and the message names the group."""
    cloud.create("limits", 3, least=2, most=4)
    limits = connection.state("limits").limits
    assert (limits.minimum, limits.maximum, limits.source) == (2, 4, "the group's MinSize and MaxSize")


def test_a_size_outside_the_limits_is_refused_with_aws_own_words(cloud: Cloud, connection: LiveAdapter) -> None:
    """The bounds may have changed since the observation."""
    cloud.create("narrow", 2, most=4)
    state = connection.state("narrow")
    cloud.autoscaling.update_auto_scaling_group(AutoScalingGroupName="narrow", MaxSize=3)
    refused = connection.scale("narrow", state, 4)
    assert isinstance(refused, TargetRefused)
    assert "above max value 3" in str(refused)
    assert cloud.desired("narrow") == 2


def test_all_of_lifecycle_state_has_a_meaning() -> None:
    """The table has every state of the API's enumeration."""
    client: Any = boto3.client("autoscaling", region_name="eu-west-1", aws_access_key_id="a", aws_secret_access_key="b")
    assert all(map(is_known, client.meta.service_model.shape_for("LifecycleState").enum))


def test_an_unknown_lifecycle_state_is_not_ready_and_logged_once(cloud: Cloud, connection: LiveAdapter) -> None:
    """AWS adds states; an unknown one must not count as ready."""
    cloud.create("future", 1)
    name = _put(cloud, "future", "Teleporting")
    for _ in range(2):
        (one,) = [one for one in connection.state("future").instances if one.name == name]
        assert (one.ready, one.deleting) == (False, False)
    lines = connection.logger.of("aws_lifecycle_state_unknown")
    assert [keys["state"] for keys in lines] == ["Teleporting"]


def test_pending_is_not_ready_until_the_launch_hook_lets_it_in(cloud: Cloud, connection: LiveAdapter) -> None:
    """Pending, Pending:Wait and InService are three reads of one launch."""
    cloud.create("hooked", 0)
    cloud.hook("hooked", "warm-up", 3600, "LAUNCHING")
    cloud.world.advance(0)
    cloud.world.launch_seconds = 30
    cloud.set("hooked", 1)
    seen = []
    for passed in (0, 30):
        cloud.world.advance(passed)
        (one,) = connection.state("hooked").instances
        seen.append((one.phase, one.ready, one.detail))
    assert seen == [(Phase.PENDING, False, "Pending, Healthy"), (Phase.PENDING, False, "Pending:Wait, Healthy")]
    cloud.autoscaling.complete_lifecycle_action(
        LifecycleHookName="warm-up",
        AutoScalingGroupName="hooked",
        InstanceId=one.name,
        LifecycleActionResult="CONTINUE",
    )
    (one,) = connection.state("hooked").instances
    assert (one.phase, one.ready, one.detail) == (Phase.RUNNING, True, "")


def test_more_instances_than_desired_are_all_counted(cloud: Cloud, connection: LiveAdapter) -> None:
    """Capacity Rebalancing launches the replacement of a Spot instance before the one at risk is ended."""
    cloud.create("spot", 4, CapacityRebalance=True)
    cloud.server.groups()["spot"].replace_at_risk()
    state = connection.state("spot")
    assert (state.replicas, state.status_replicas, len(state.instances)) == (4, 5, 5)


def test_terminating_is_deleting_and_counts_no_more(cloud: Cloud, connection: LiveAdapter) -> None:
    """Its samples are ignored, like those of a terminating pod."""
    cloud.create("leaving", 2)
    cloud.world.terminate_seconds = 3600
    cloud.set("leaving", 1)
    state = connection.state("leaving")
    assert sorted(one.deleting for one in state.instances) == [False, True]
    assert (state.replicas, state.status_replicas) == (1, 1)


def test_an_unhealthy_instance_is_not_ready(cloud: Cloud, connection: LiveAdapter) -> None:
    """The instance is in service and about to be replaced."""
    cloud.create("sick", 1)
    cloud.autoscaling.set_instance_health(InstanceId=cloud.ids("sick")[0], HealthStatus="Unhealthy")
    (one,) = connection.state("sick").instances
    assert (one.phase, one.ready) == (Phase.RUNNING, False)


def test_standby_is_outside(cloud: Cloud, connection: LiveAdapter) -> None:
    """It is in the group's list and not in its capacity."""
    cloud.create("aside", 2)
    aside = cloud.ids("aside")[0]
    cloud.autoscaling.enter_standby(
        AutoScalingGroupName="aside", InstanceIds=[aside], ShouldDecrementDesiredCapacity=True
    )
    assert aside in cloud.ids("aside")
    state = connection.state("aside")
    assert aside not in {one.name for one in state.instances}
    assert (state.replicas, state.status_replicas) == (1, 1)


def test_the_warm_pool_is_outside(cloud: Cloud, connection: LiveAdapter) -> None:
    """Stopped instances of the warm pool do not count; a scale-out takes them from the pool."""
    cloud.create("warm", 1, most=3)
    cloud.autoscaling.put_warm_pool(AutoScalingGroupName="warm", MinSize=1)
    pool = cloud.autoscaling.describe_warm_pool(AutoScalingGroupName="warm")["Instances"]
    assert {one["LifecycleState"] for one in pool} == {"Warmed:Stopped"}
    state = connection.state("warm")
    assert (state.replicas, state.status_replicas, len(state.instances)) == (1, 1, 1)
    assert connection.scale("warm", state, 2) == Written(2)
    assert {one.name for one in connection.state("warm").instances} & {one["InstanceId"] for one in pool}


def test_warmed_instances_that_are_listed_in_the_group_are_outside(cloud: Cloud, connection: LiveAdapter) -> None:
    """This holds in whichever list AWS shows them."""
    cloud.create("listed", 1)
    name = _put(cloud, "listed", "Warmed:Running")
    assert name not in {one.name for one in connection.state("listed").instances}


def test_reads_lag_writes_and_the_size_just_written_is_held_until_seen(cloud: Cloud, connection: LiveAdapter) -> None:
    """Otherwise the cycle after a scale-out would decide from the old size and repeat it."""
    cloud.create("lag", 1)
    cloud.world.advance(600)
    state = connection.state("lag")
    cloud.world.lag_seconds = 20
    assert connection.scale("lag", state, 3) == Written(3)
    assert cloud.desired("lag") == 1
    state = connection.state("lag")
    assert state.replicas == 3
    assert connection.scale("lag", state, 3) == Unchanged()
    cloud.world.advance(30)
    assert connection.state("lag").replicas == 3
    cloud.world.lag_seconds = 0
    cloud.set("lag", 1)  # once the new size was seen, the old one is another client's change
    assert connection.state("lag").replicas == 1


def test_reads_lag_writes_and_a_third_value_is_an_outside_change(cloud: Cloud, connection: LiveAdapter) -> None:
    """It is neither the old size nor the written one."""
    cloud.create("third", 1)
    assert connection.scale("third", connection.state("third"), 3) == Written(3)
    cloud.set("third", 7)
    assert connection.state("third").replicas == 7


def test_honoring_the_cooldown_is_held_and_by_default_it_is_not_honored(
    cloud: Cloud, connect: Connect, connection: LiveAdapter
) -> None:
    """HPA has its own windows; honorCooldown adds AWS's."""
    cloud.create("cool", 1, DefaultCooldown=300)
    cloud.world.advance(600)
    honoring = connect(endpointUrl=cloud.server.url, honorCooldown=True)
    assert honoring.scale("cool", honoring.state("cool"), 2) == Written(2)
    outcome = honoring.scale("cool", honoring.state("cool"), 3)
    assert isinstance(outcome, Held)
    assert outcome.hold.reason == "ScalingActivityInProgress"
    assert cloud.desired("cool") == 2
    assert honoring.state("cool").replicas == 2
    assert connection.scale("cool", connection.state("cool"), 3) == Written(3)


def _put(cloud: Cloud, group: str, state: str) -> str:
    """Put a group's one instance into a state that no API call sets, and return its id."""
    (one,) = cloud.server.groups()[group].instance_states
    one.lifecycle_state = state
    return str(one.instance_id)


def test_a_further_shard_reads_no_service_model_again(
    cloud: Cloud, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """boto3 reads megabytes for each session; a daemon that takes twelve shards over has no time for that."""
    cloud.create("read", 1)
    connect(endpointUrl=cloud.server.url).state("read")
    read: list[str] = []
    load = JSONFileLoader.load_file

    def counted(loader: JSONFileLoader, path: str) -> Any:
        read.append(path)
        return load(loader, path)

    monkeypatch.setattr(JSONFileLoader, "load_file", counted)
    assert connect(endpointUrl=cloud.server.url).state("read").replicas == 1
    assert read == []
