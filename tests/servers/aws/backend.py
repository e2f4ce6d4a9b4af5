"""The Auto Scaling API for these groups: its refusals, its pages, and the operations that moto lacks."""

import copy
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, TypeVar, cast

import moto.autoscaling.urls
from moto.autoscaling.exceptions import AutoscalingClientError, ValidationError
from moto.autoscaling.models import AutoScalingBackend
from moto.autoscaling.responses import AutoScalingResponse
from moto.core.common_types import TYPE_RESPONSE
from moto.core.responses import ActionResult, EmptyResult

from tests.servers.aws.group import Activity, Group, Member, Refresh

_T = TypeVar("_T")


class Backend(AutoScalingBackend):
    """Groups by name."""

    _url_module = moto.autoscaling.urls  # moto would expect it beside this file

    def group(self, name: str) -> Group:
        """API, CommonErrors: ValidationError for a group that does not exist."""
        if name not in self.autoscaling_groups:
            raise ValidationError(f"AutoScalingGroup name not found - AutoScalingGroup '{name}' not found")
        return cast("Group", self.autoscaling_groups[name])

    def settle(self, name: str | None) -> None:
        """Apply the changes that are due in a group, or in all groups."""
        for each in [name] if name else list(self.autoscaling_groups):
            if each in self.autoscaling_groups:
                self.group(each).settle()

    def resize(self, name: str, size: int, *, honor_cooldown: bool) -> None:
        """API, SetDesiredCapacity: within the limits; with HonorCooldown not during one."""
        group = self.group(name)
        for limit, outside, words in (
            (group.max_size, size > int(group.max_size or 0), "above max"),
            (group.min_size, size < int(group.min_size or 0), "below min"),
        ):
            if outside:
                raise ValidationError(
                    f"New SetDesiredCapacity value {size} is {words} value {limit} for the AutoScalingGroup."
                )
        if honor_cooldown and group.in_cooldown():
            raise AutoscalingClientError(
                "ScalingActivityInProgress",
                f"Scaling activity is in progress for group {name} and blocks this action",
            )
        group.set_desired_capacity(size)

    def terminate(self, instance_id: str, *, decrement: bool) -> Activity:
        """API, TerminateInstanceInAutoScalingGroup; not of a warm pool's, not below MinSize with decrement."""
        for name in self.autoscaling_groups:
            group = self.group(name)
            for one in group.instance_states:
                if one.instance_id == instance_id and one.lifecycle_state != "Standby":
                    return self._terminate(group, cast("Member", one), decrement=decrement)
        raise ValidationError(f"Instance Id not found - No managed instance found for instance ID: {instance_id}")

    def _terminate(self, group: Group, one: Member, *, decrement: bool) -> Activity:
        left = int(group.desired_capacity or 0) - one.units
        if decrement and left < int(group.min_size or 0):
            raise ValidationError(
                f"Currently, desiredSize equals minSize ({group.min_size}). Terminating instance without replacement "
                "will violate group's min size constraint. Either set shouldDecrementDesiredCapacity flag to false or "
                "lower group's min size."
            )
        if one.lifecycle_state.startswith("Terminating"):
            raise ValidationError(f"Instance {one.instance_id} is not in a state that can be terminated")
        if decrement:
            group.set_desired_capacity(left)
        return group.end(one, group.world.now, "instance was taken out of service in response to a user request")


class Responses(AutoScalingResponse):
    """Dispatches by the operation's name in snake case, as moto does."""

    @property
    def cloud(self) -> Backend:
        return cast("Backend", self.autoscaling_backend)

    def call_action(self) -> TYPE_RESPONSE:
        """Apply due changes before a request, and the changes that it causes after it."""
        name = self._get_param("AutoScalingGroupName")
        self.cloud.settle(name)
        answer = cast("TYPE_RESPONSE", super().call_action())
        self.cloud.settle(name)
        return answer

    def create_auto_scaling_group(self) -> ActionResult:
        """API, CreateAutoScalingGroup: with DesiredCapacityType and DefaultInstanceWarmup."""
        answer = super().create_auto_scaling_group()
        self.cloud.group(self._name()).desired_capacity_type = self._get_param("DesiredCapacityType")
        self._set_warmup()
        return answer

    def update_auto_scaling_group(self) -> ActionResult:
        """API, UpdateAutoScalingGroup: with DefaultInstanceWarmup."""
        answer = super().update_auto_scaling_group()
        self._set_warmup()
        return answer

    def _set_warmup(self) -> None:
        """API, CreateAutoScalingGroup: DefaultInstanceWarmup in seconds, and -1 removes it."""
        seconds = self._get_int_param("DefaultInstanceWarmup")
        if seconds is not None:
            self.cloud.group(self._name()).default_instance_warmup = None if seconds == -1 else seconds

    def describe_auto_scaling_groups(self) -> ActionResult:
        """API, DescribeAutoScalingGroups: without MaxRecords up to 50 names. Reads may lag writes."""
        names: list[str] = self._get_param("AutoScalingGroupNames", [])
        most = self._get_int_param("MaxRecords", 50)
        if len(names) > most or most > 100:
            raise ValidationError(
                f"{len(names)} names and MaxRecords {most}: at most 50, or with MaxRecords 100, names"
            )
        found = self.cloud.describe_auto_scaling_groups(names, self._get_param("Filters", []))
        page, token = self._page(found, 50)
        return ActionResult({"AutoScalingGroups": [_lagging(cast("Group", one)) for one in page], "NextToken": token})

    def delete_auto_scaling_group(self) -> ActionResult:
        """API, DeleteAutoScalingGroup: with ForceDelete without waiting for its instances."""
        group = self.cloud.group(self._name())
        for one in (*group.instance_states, *group.warm):
            group.ec2_backend.terminate_instances([one.instance_id])
            group.world.on_end(one.instance_id)
        del self.cloud.autoscaling_groups[group.name]
        return EmptyResult()

    def set_desired_capacity(self) -> ActionResult:
        honor = self._get_bool_param("HonorCooldown", False)
        self.cloud.resize(self._name(), int(self._get_int_param("DesiredCapacity") or 0), honor_cooldown=honor)
        return EmptyResult()

    def terminate_instance_in_auto_scaling_group(self) -> ActionResult:
        decrement = self._get_bool_param("ShouldDecrementDesiredCapacity", False)
        return ActionResult({"Activity": self.cloud.terminate(self._get_param("InstanceId"), decrement=decrement)})

    def enter_standby(self) -> ActionResult:
        """API, EnterStandby: with decrement not below MinSize."""
        group = self.cloud.group(self._name())
        gone = len(self._get_param("InstanceIds", []))
        if self._get_bool_param("ShouldDecrementDesiredCapacity") and (
            int(group.desired_capacity or 0) - gone < int(group.min_size or 0)
        ):
            raise ValidationError(
                f"AutoScalingGroup {group.name} has min-size={group.min_size}; standby would go below"
            )
        return super().enter_standby()

    def complete_lifecycle_action(self) -> ActionResult:
        """API, CompleteLifecycleAction."""
        instance, result = self._get_param("InstanceId"), self._get_param("LifecycleActionResult")
        return self._acted(instance, self.cloud.group(self._name()).complete(instance, self._hook(), result))

    def record_lifecycle_action_heartbeat(self) -> ActionResult:
        """API, RecordLifecycleActionHeartbeat."""
        instance = self._get_param("InstanceId")
        return self._acted(instance, self.cloud.group(self._name()).record_heartbeat(instance, self._hook()))

    def _acted(self, instance: str, acted: bool) -> ActionResult:
        if not acted:
            raise ValidationError(f"No active Lifecycle Action found with instance ID {instance}")
        return EmptyResult()

    def _hook(self) -> str:
        return str(self._get_param("LifecycleHookName"))

    def describe_scaling_activities(self) -> ActionResult:
        """API, DescribeScalingActivities: of one group or of all, a hundred a page."""
        name = self._get_param("AutoScalingGroupName")
        groups = [self.cloud.group(each) for each in ([name] if name else self.cloud.autoscaling_groups)]
        found = [one for group in groups for one in group.activities]
        found.sort(key=lambda one: one.start_time, reverse=True)
        page, token = self._page(found, 100)
        return ActionResult({"Activities": page, "NextToken": token})

    def start_instance_refresh(self) -> ActionResult:
        """API, StartInstanceRefresh: one at a time."""
        group = self.cloud.group(self._name())
        if any(one.status == "InProgress" for one in group.refreshes):
            raise AutoscalingClientError(
                "InstanceRefreshInProgress", "An Instance Refresh is already in progress and blocks the execution"
            )
        refresh = Refresh(f"refresh-{group.name}-{len(group.refreshes)}", group.name, group.world.now)
        group.refreshes.insert(0, refresh)
        return ActionResult({"InstanceRefreshId": refresh.instance_refresh_id})

    def cancel_instance_refresh(self) -> ActionResult:
        """API, CancelInstanceRefresh."""
        group = self.cloud.group(self._name())
        for one in group.refreshes:
            if one.status == "InProgress":
                one.status, one.end_time = "Cancelled", group.world.now
                return ActionResult({"InstanceRefreshId": one.instance_refresh_id})
        raise AutoscalingClientError(
            "ActiveInstanceRefreshNotFound", "No in progress or pending Instance Refresh found"
        )

    def describe_instance_refreshes(self) -> ActionResult:
        """API, DescribeInstanceRefreshes: of one group a call."""
        page, token = self._page(self.cloud.group(self._name()).refreshes, 50)
        return ActionResult({"InstanceRefreshes": page, "NextToken": token})

    def describe_policies(self) -> ActionResult:
        """API, DescribePolicies: 50 a page unless told, at most 100."""
        found = self.cloud.describe_policies(self._get_param("AutoScalingGroupName"))
        page, token = self._page(found, 50)
        return ActionResult({"ScalingPolicies": page, "NextToken": token})

    def describe_scheduled_actions(self) -> ActionResult:
        """API, DescribeScheduledActions: of one group or of all."""
        name = self._get_param("AutoScalingGroupName")
        found = [
            one for one in self.cloud.scheduled_actions.values() if not name or one.auto_scaling_group_name == name
        ]
        page, token = self._page(found, 50)
        return ActionResult({"ScheduledUpdateGroupActions": page, "NextToken": token})

    def describe_warm_pool(self) -> ActionResult:
        """API, DescribeWarmPool."""
        group = self.cloud.group(self._name())
        page, token = self._page(group.warm, 50)
        return ActionResult({"WarmPoolConfiguration": group.warm_pool, "Instances": page, "NextToken": token})

    def _name(self) -> str:
        return str(self._get_param("AutoScalingGroupName"))

    def _page(self, found: Sequence[_T], default: int) -> tuple[Sequence[_T], str | None]:
        start = int(self._get_param("NextToken") or 0)
        end = start + self._get_int_param("MaxRecords", default)
        return found[start:end], str(end) if end < len(found) else None


def _lagging(group: Group) -> Any:
    """Return the group as a stale read shows it."""
    view = copy.copy(group)
    view.desired_capacity = group.desired_as_of(group.world.now - timedelta(seconds=group.world.lag_seconds))
    return view
