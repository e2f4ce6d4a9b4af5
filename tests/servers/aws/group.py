"""An Auto Scaling group in which operations take time and can fail."""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar, Final

from moto.autoscaling.models import ASG_NAME_TAG, FakeAutoScalingGroup, InstanceState, LifecycleHook
from moto.ec2.models.instances import Instance

from tests.servers.aws.world import World

_COUNTING: Final = ("Pending", "Pending:Wait", "Pending:Proceed", "InService")
_LAUNCHING: Final = "autoscaling:EC2_INSTANCE_LAUNCHING"
_TERMINATING: Final = "autoscaling:EC2_INSTANCE_TERMINATING"
_INTO_WARM_POOL: Final = " into warm pool"
"""A part of the description of a launch. Source: the samples of AWS for warm pools (ec2-auto-scaling-warm-pools)."""
_NUMBERS: Final = itertools.count(1)


@dataclass(slots=True)
class Activity:
    """API, Activity."""

    auto_scaling_group_name: str
    description: str
    cause: str
    start_time: datetime
    activity_id: str
    status_code: str = "InProgress"
    status_message: str | None = None
    end_time: datetime | None = None
    progress: int = 50

    def end(self, now: datetime, status: str = "Successful", message: str | None = None) -> None:
        self.end_time, self.status_code, self.status_message, self.progress = now, status, message, 100


@dataclass(slots=True)
class Refresh:
    """API, InstanceRefresh."""

    instance_refresh_id: str
    auto_scaling_group_name: str
    start_time: datetime
    status: str = "InProgress"
    percentage_complete: int = 0
    end_time: datetime | None = None


class Member(InstanceState):
    """An instance of the group, with the beginning of its state and its weight."""

    def __init__(self, instance: Instance, group: "Group", state: str, activity: Activity, now: datetime) -> None:
        super().__init__(instance, state, protected_from_scale_in=group.new_instances_protected_from_scale_in)
        self.since = now
        self.activity = activity
        self.actions: dict[str, datetime] = {}
        """Lifecycle hook -> when its action ends without a further heartbeat."""
        self.units = group.units(instance.instance_type)
        # API, Instance: WeightedCapacity is there where the group's instance types have weights.
        self.weighted_capacity = str(self.units) if group.weights() else None

    def become(self, state: str, now: datetime) -> None:
        self.lifecycle_state, self.since = state, now


class Group(FakeAutoScalingGroup):
    """A group that reaches its desired capacity with time: `settle` is called around every request."""

    world: ClassVar[World]

    def __init__(self, *args: Any, **options: Any) -> None:
        self.activities: list[Activity] = []
        self.refreshes: list[Refresh] = []
        self.warm: list[Member] = []
        self.history: list[tuple[datetime, int]] = []
        self.instance_states = []
        self.desired_capacity_type: str | None = None
        self.default_instance_warmup: int | None = None
        self.next_try: datetime | None = None
        self.shrinking = False
        self.status: str | None = None
        """API, AutoScalingGroup: only while it is being deleted."""
        super().__init__(*args, **options)

    def set_desired_capacity(self, new_capacity: int | None) -> None:
        """Set only the number: instances follow."""
        self.desired_capacity = self.min_size if new_capacity is None else new_capacity
        # UG, as-instance-termination: a new size below the capacity is a scale-in. An overage of weights is none.
        self.shrinking = self.shrinking or self.capacity > (self.desired_capacity or 0)

    def desired_as_of(self, at: datetime) -> int:
        """Return the desired capacity that a read of this age shows."""
        older = [size for when, size in self.history if when <= at]
        return older[-1] if older else self.history[0][1]

    def weights(self) -> dict[str, int]:
        """Units by instance type. UG, ec2-auto-scaling-mixed-instances-groups-instance-weighting."""
        given = [one for one in self._overrides() if one.get("WeightedCapacity")]
        return {one["InstanceType"]: int(one["WeightedCapacity"]) for one in given}

    def units(self, instance_type: str) -> int:
        """API, CreateAutoScalingGroup: DesiredCapacityType is units, vcpu or memory-mib."""
        if self.desired_capacity_type in (None, "units"):
            return self.weights().get(instance_type, 1)
        found = self.ec2_backend.describe_instance_types([instance_type])[0]
        if self.desired_capacity_type == "vcpu":
            return int(found["VCpuInfo"]["DefaultVCpus"])
        return int(found["MemoryInfo"]["SizeInMiB"])

    @property
    def capacity(self) -> int:
        """Return the units that exist or start."""
        return sum(one.units for one in self._members(_COUNTING))

    @property
    def warm_pool_size(self) -> int | None:
        """API, AutoScalingGroup."""
        return len(self.warm) if self.warm_pool else None

    def settle(self) -> None:
        """Apply the changes that are due."""
        now = self.world.now
        if not self.history or self.history[-1][1] != self.desired_capacity:
            self.history.append((now, int(self.desired_capacity or 0)))
        for refresh in self.refreshes:
            if (
                refresh.status == "InProgress"
                and (now - refresh.start_time).total_seconds() >= self.world.refresh_seconds
            ):
                refresh.status, refresh.percentage_complete, refresh.end_time = "Successful", 100, now
        self._launch(now)
        self._shrink(now)
        self._rebalance(now)
        for one in (*self.instance_states, *self.warm):
            assert isinstance(one, Member)
            self._proceed(one, now)
        self._fill_warm_pool(now)

    def end(self, one: Member, now: datetime, cause: str) -> Activity:
        """Begin to terminate an instance."""
        one.activity = self._begin(f"Terminating EC2 instance: {one.instance_id}", cause, now)
        one.become("Terminating", now)
        return one.activity

    def replace_at_risk(self) -> None:
        """UG, ec2-auto-scaling-capacity-rebalancing: another instance is launched while that at risk still serves."""
        self.instance_states.append(self._start("Pending", self.world.now))

    def complete(self, instance_id: str, hook: str, result: str) -> bool:
        """UG, completing-lifecycle-hooks: CONTINUE, or ABANDON, which ends a starting instance. False: it waits not."""
        one = self._waiting(instance_id, hook)
        if one is None:
            return False
        self._end_action(one, hook, result, self.world.now)
        return True

    def record_heartbeat(self, instance_id: str, hook: str) -> bool:
        """API, RecordLifecycleActionHeartbeat: the timeout begins anew. False: it waits not."""
        one = self._waiting(instance_id, hook)
        if one is None:
            return False
        timeout = self._hooks(one.lifecycle_state)[hook].heartbeat_timeout
        # API, LifecycleHook: GlobalTimeout, 48 hours or 100 times the heartbeat timeout, whichever is smaller
        longest = one.since + timedelta(seconds=min(172_800, 100 * timeout))
        one.actions[hook] = min(self.world.now + timedelta(seconds=timeout), longest)
        return True

    def in_cooldown(self) -> bool:
        """UG, ec2-auto-scaling-scaling-cooldowns: it starts when the last instance was launched or terminated."""
        now = self.world.now
        if any(one.end_time is None for one in self.activities):
            return True
        ends = [one.end_time for one in self.activities if one.end_time and one.status_code == "Successful"]
        return bool(ends) and now < max(ends) + timedelta(seconds=self.default_cooldown)

    def _overrides(self) -> list[dict[str, Any]]:
        return list((self.mixed_instances_policy or {}).get("LaunchTemplate", {}).get("Overrides", []))

    def _type(self, number: int) -> str:
        """The types of a mixed group take turns. UG, ec2-auto-scaling-mixed-instances-groups."""
        types = [one["InstanceType"] for one in self._overrides() if "InstanceType" in one]
        for one in self._overrides():
            types += one.get("InstanceRequirements", {}).get("AllowedInstanceTypes", [])
        return str(types[number % len(types)]) if types else self.instance_type

    def _members(self, states: Iterable[str]) -> list[Member]:
        return [one for one in self.instance_states if isinstance(one, Member) and one.lifecycle_state in states]

    def _launch(self, now: datetime) -> None:
        """Until the desired capacity is fulfilled, even if that exceeds it. API, LaunchTemplateOverrides."""
        while self.capacity < (self.desired_capacity or 0) and "Launch" not in self._suspended_processes:
            if self.world.launch_failure is not None and not self._fail(self.world.launch_failure, now, ""):
                return
            if self.world.launch_failure is not None:
                continue
            self.next_try = None
            ready = [one for one in self.warm if one.lifecycle_state != "Warmed:Pending"]
            if ready:  # UG, ec2-auto-scaling-warm-pools: scaling out takes from the pool first
                self.warm.remove(ready[0])
                ready[0].become("Pending", now)
                self.instance_states.append(ready[0])
            else:
                self.instance_states.append(self._start("Pending", now))

    def _in_zones(self) -> dict[str, list[Member]]:
        """Return the members that count, by zone."""
        found: dict[str, list[Member]] = {zone: [] for zone in self.availability_zones}
        for one in self._members(_COUNTING):
            found.setdefault(str(one.availability_zone), []).append(one)
        return found

    def _zone(self) -> str:
        """The zone with the fewest. UG, ec2-auto-scaling-availability-zone-balanced."""
        return min(self._in_zones().items(), key=lambda zone: len(zone[1]))[0]

    def _rebalance(self, now: datetime) -> None:
        """UG, rebalancing activities: new instances are launched before others are ended."""
        while "AZRebalance" not in self._suspended_processes and not self.shrinking:
            by_size = sorted(self._in_zones().values(), key=len)
            if not by_size or len(by_size[-1]) - len(by_size[0]) < 2:
                return
            self.instance_states.append(self._start("Pending", now))
            self.end(by_size[-1][0], now, "instances were launched to balance the zones")

    def _fail(self, why: str, now: datetime, where: str) -> bool:
        """One launch that fails, when it is time. UG, ts-as-instancelaunchfailure."""
        if self.next_try is not None and now < self.next_try:
            return False
        due = self.next_try or now
        message = f"{why} Launching EC2 instance failed."
        description = f"Launching a new EC2 instance{where}.  Status Reason: {message}"
        begun = self._begin(description, "a difference in capacity", due)
        begun.end(due, "Failed", message)
        self.next_try = due + timedelta(seconds=self.world.retry_seconds)
        return True

    def _start(self, state: str, now: datetime) -> Member:
        tags = {**self.get_propagated_tags(), ASG_NAME_TAG: self.name}
        template = {"LaunchTemplateId": self.ec2_launch_template.id} if self.ec2_launch_template else None
        (instance,) = self.ec2_backend.run_instances(
            self.image_id,
            1,
            None,
            self.security_groups,
            instance_type=self._type(len(self.instance_states) + len(self.warm)),
            tags={"instance": tags},
            placement=self._zone(),
            launch_config=self.launch_config,
            launch_template=template,
            is_instance_type_default=False,
        ).instances
        instance.autoscaling_group = self  # type: ignore[attr-defined] # as moto itself does
        where = _INTO_WARM_POOL if state.startswith("Warmed") else ""
        activity = self._begin(f"Launching a new EC2 instance{where}: {instance.id}", "a difference in capacity", now)
        self.world.on_launch(instance.id)
        return Member(instance, self, state, activity, now)

    def _shrink(self, now: datetime) -> None:
        """The oldest first, never one that is protected. UG, ec2-auto-scaling-instance-protection."""
        if "Terminate" in self._suspended_processes or not self.shrinking:
            return
        excess = [one for one in self._members(_COUNTING) if self._can_spare(one)]
        for one in excess:
            if self._can_spare(one) and not one.protected_from_scale_in:
                self.end(one, now, "a difference in capacity")
        self.shrinking = any(self._can_spare(one) for one in excess)

    def _can_spare(self, one: Member) -> bool:
        return one.lifecycle_state in _COUNTING and self.capacity - one.units >= (self.desired_capacity or 0)

    def _proceed(self, one: Member, now: datetime) -> None:
        """UG, ec2-auto-scaling-lifecycle: the states one after another."""
        waited = (now - one.since).total_seconds()
        match one.lifecycle_state:
            case "Pending" if waited >= self.world.launch_seconds:
                self._enter_hook(one, _LAUNCHING, now)
            case "Terminating" if waited >= self.world.terminate_seconds:
                self._enter_hook(one, _TERMINATING, now)
            case "Pending:Wait" | "Terminating:Wait":
                hooks = self._hooks(one.lifecycle_state)
                for name in [name for name, until in one.actions.items() if name not in hooks or until <= now]:
                    self._end_action(one, name, hooks[name].default_result if name in hooks else "CONTINUE", now)
            case "Warmed:Pending" if waited >= self.world.launch_seconds:
                one.become("Warmed:Stopped", now)
                one.activity.end(now)

    def _enter_hook(self, one: Member, transition: str, now: datetime) -> None:
        """UG, lifecycle-hooks-overview: with a hook the instance waits, Pending:Wait or Terminating:Wait."""
        hooks = self._hooks(transition)
        if not hooks:
            self._arrive(one, now)
        else:
            one.become(f"{one.lifecycle_state}:Wait", now)
            one.actions = {name: now + timedelta(seconds=hook.heartbeat_timeout) for name, hook in hooks.items()}
            one.activity.status_code = "MidLifecycleAction"

    def _end_action(self, one: Member, hook: str, result: str, now: datetime) -> None:
        """UG, lifecycle-hooks-overview: the wait ends with its last action; ABANDON ends the others, too."""
        one.actions.pop(hook, None)
        if one not in self.instance_states or (one.actions and result != "ABANDON"):
            return
        one.actions = {}
        if result == "ABANDON" and one.lifecycle_state == "Pending:Wait":
            one.activity.end(now, "Failed", "Lifecycle action was completed with ABANDON result")
            self.end(one, now, "an abandoned lifecycle action")
        else:
            self._arrive(one, now)

    def _arrive(self, one: Member, now: datetime) -> None:
        one.activity.end(now)
        if one.lifecycle_state.startswith("Pending"):
            one.become("InService", now)
            return
        self.instance_states.remove(one)
        self.ec2_backend.terminate_instances([one.instance_id])
        self.world.on_end(one.instance_id)

    def _hooks(self, state: str) -> dict[str, LifecycleHook]:
        """By name, of a transition or of the state in which it waits."""
        transition = {"Pending:Wait": _LAUNCHING, "Terminating:Wait": _TERMINATING}.get(state, state)
        hooks = self.autoscaling_backend.lifecycle_hooks.values()
        own = (one for one in hooks if one.auto_scaling_group_name == self.name)
        return {one.name: one for one in own if one.lifecycle_transition == transition}

    def _waiting(self, instance_id: str, hook: str) -> Member | None:
        """The instance that waits on this hook."""
        waiting = self._members(("Pending:Wait", "Terminating:Wait"))
        return next((one for one in waiting if one.instance_id == instance_id and hook in one.actions), None)

    def _fill_warm_pool(self, now: datetime) -> None:
        """UG, ec2-auto-scaling-warm-pools: up to the maximum size, or the prepared capacity, less what is desired."""
        if self.warm_pool is None:
            return
        prepared = self.warm_pool.max_group_prepared_capacity
        most = int(self.max_size or 0) if prepared is None else int(prepared)
        for _ in range(len(self.warm), max(self.warm_pool.min_size, most - int(self.desired_capacity or 0))):
            if self.world.launch_failure is None:
                self.warm.append(self._start("Warmed:Pending", now))
            elif not self._fail(self.world.launch_failure, now, _INTO_WARM_POOL):
                return

    def _begin(self, description: str, cause: str, at: datetime) -> Activity:
        activity = Activity(self.name, description, f"At {at:%FT%TZ} {cause}.", at, f"activity-{next(_NUMBERS)}")
        self.activities.insert(0, activity)  # API, DescribeScalingActivities: the newest first
        return activity
