"""A described group as the adapter contract's types."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from adapters.aws import templates
from adapters.aws.ec2 import Ec2Instances
from adapters.aws.raw import Raw, read_in_batches, unavailable_if_malformed
from adapters.aws_asg.lifecycle import COUNTING, LifecycleStage, stage_of
from autoscaler.target import (
    Call,
    HoldReason,
    Instance,
    Limits,
    Phase,
    TargetError,
    TargetNotFound,
    TargetNotScalable,
)

if TYPE_CHECKING:
    from adapters.aws.api import AwsApi

_NAMES_PER_CALL: Final = 100
_PROTECTING: Final = (LifecycleStage.SERVING, LifecycleStage.RENEWING)
_UNITS: Final = "units"


def limits(group: Raw) -> Limits:
    """Return the group's own bounds, in its units."""
    return Limits(group["MinSize"], group["MaxSize"], "the group's MinSize and MaxSize")


def warm_up(group: Raw) -> timedelta:
    """Return the group's default instance warmup; 0: it has none.

    Sources: Auto Scaling API Reference, DefaultInstanceWarmup of CreateAutoScalingGroup: seconds after the instance
    enters InService, default None, and -1 removes it.
    """
    return timedelta(seconds=max(0, group.get("DefaultInstanceWarmup") or 0))


def reset_by(group: Raw) -> str:
    """Return which template sets the size at its next deployment, and the remedy; empty: no tag names one."""
    return templates.reset_by(
        {one["Key"]: one.get("Value") or "" for one in group.get("Tags") or ()},
        cloudformation="write `AutoScalingScheduledAction: {IgnoreUnmodifiedGroupSizeProperties: true}` into the "
        "group's UpdatePolicy",
        terraform="desired_capacity",
    )


def not_found(name: str, region: str) -> TargetNotFound:
    """Return the error for a group that AWS does not list."""
    return TargetNotFound(
        f"Auto Scaling group {name} does not exist in {region}; create it, or correct the name or region"
    )


def described(api: "AwsApi", names: Sequence[str], call: Call) -> tuple[Mapping[str, Raw], Mapping[str, TargetError]]:
    """Return the description of each group that can be scaled, and the errors of the others."""

    def ask(batch: Sequence[str]) -> Iterator[Raw]:
        # Without MaxRecords AWS accepts fifty names.
        wanted = {"AutoScalingGroupNames": batch, "MaxRecords": _NAMES_PER_CALL}
        return api.pages("autoscaling", "describe_auto_scaling_groups", "AutoScalingGroups", call, wanted)

    what = "describe_auto_scaling_groups"
    found, failed = read_in_batches(names, _NAMES_PER_CALL, ask, "AutoScalingGroupName", what, _scalable)
    return found, {name: failed.get(name) or not_found(name, api.region) for name in names if name not in found}


def _scalable(group: Raw) -> Raw:
    """Return the group. Raises TargetError if it cannot be scaled."""
    name = group["AutoScalingGroupName"]
    with unavailable_if_malformed(f"group {name}"):
        for one in group["Instances"]:
            _ = one["InstanceId"], stage_of(one["LifecycleState"])
    if group.get("Status"):  # present only while the group is being deleted
        raise TargetNotScalable(f"Auto Scaling group {name} cannot be scaled ({group['Status']}); name another")
    kind = group.get("DesiredCapacityType") or _UNITS
    if kind != _UNITS:
        raise TargetNotScalable(
            f"Auto Scaling group {name} cannot be scaled, because it is sized in {kind}; set its DesiredCapacityType "
            "to units and its sizes to numbers of instances"
        )
    return group


def suspended_processes(group: Raw) -> frozenset[str]:
    """Return the names of the group's processes that an operator or AWS suspended."""
    return frozenset(one["ProcessName"] for one in group.get("SuspendedProcesses", ()))


def suspended(group: Raw, process: str) -> HoldReason | None:
    """Return why the group cannot reach a new size: an operator or AWS suspended `Launch` or `Terminate`."""
    for one in group.get("SuspendedProcesses", ()):
        if one["ProcessName"] == process:
            why = f" ({one['SuspensionReason']})" if one.get("SuspensionReason") else ""
            return HoldReason(
                f"{process}Suspended",
                f"the group's process {process} is suspended{why}; scaling waits for its resumption",
            )
    return None


def protected(group: Raw) -> int:
    """Return the units that no scale-in ends.

    Source: User Guide, "Use instance scale-in protection": it starts when the instance is in service.
    """
    return sum(
        weight(one)
        for one in group["Instances"]
        if stage_of(one["LifecycleState"]) in _PROTECTING and one.get("ProtectedFromScaleIn")
    )


def all_protected(group: Raw, size: int) -> HoldReason | None:
    """Return why a group of this size cannot shrink: AWS would lower its desired capacity and end no instance.

    Source: User Guide, "Use instance scale-in protection", considerations.
    """
    if not 0 < size <= protected(group):
        return None
    return HoldReason(
        "AllProtected",
        f"all instances of group {group['AutoScalingGroupName']} are protected from scale-in; scale-in waits until one "
        "is not",
    )


def weight(one: Raw) -> int:
    """Return an instance's units of DesiredCapacity: 1 in a group without weights."""
    return int(one.get("WeightedCapacity") or 1)


def instances(group: Raw, ec2: Ec2Instances) -> tuple[Instance, ...]:
    """Return the instances that count towards the group's capacity."""
    return tuple(
        _instance(one, ec2)
        for one in group["Instances"]
        if stage_of(one["LifecycleState"]) is not LifecycleStage.OUTSIDE
    )


def staying(group: Raw) -> frozenset[str]:
    """Return the instances that count, according to AWS."""
    return frozenset(one["InstanceId"] for one in group["Instances"] if stage_of(one["LifecycleState"]) in COUNTING)


def _instance(one: Raw, ec2: Ec2Instances) -> Instance:
    where, name = stage_of(one["LifecycleState"]), one["InstanceId"]
    healthy = one["HealthStatus"].lower() == "healthy"
    machine = ec2[name]
    serves = where is LifecycleStage.SERVING and healthy
    return Instance(
        name=name,
        phase=Phase.PENDING if where is LifecycleStage.STARTING else Phase.RUNNING,
        ready=serves,
        started_at=machine.launched,
        deleting=where is LifecycleStage.LEAVING,
        identities=machine.identities | {name},
        requests=machine.requests,
        weight=weight(one),
        detail="" if serves else f"{one['LifecycleState']}, {one['HealthStatus']}",
    )
