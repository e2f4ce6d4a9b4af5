"""A described group as the adapter contract's types."""

from datetime import timedelta
from typing import Final

from adapters.aws import templates
from adapters.aws.ec2 import Ec2Instances
from adapters.aws.raw import Raw, unavailable_if_malformed
from adapters.aws_asg.lifecycle import COUNTING, LifecycleStage, stage_of
from autoscaler.target import (
    HoldReason,
    Instance,
    Limits,
    Phase,
    TargetError,
    TargetNotFound,
    TargetNotScalable,
    TargetUnavailable,
)

UNITS: Final = "units"
_PROTECTING: Final = (LifecycleStage.SERVING, LifecycleStage.RENEWING)
_NOT_UNITS: Final = ("vcpu", "memory-mib")


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


def scalable(group: Raw) -> Raw | TargetError:
    """Return the group, or why it cannot be scaled."""
    name = group["AutoScalingGroupName"]
    try:
        with unavailable_if_malformed(f"group {name}"):
            for one in group["Instances"]:
                _ = one["InstanceId"], stage_of(one["LifecycleState"])
            _ = by_types(group)
    except TargetError as error:
        return error
    if group.get("Status"):  # present only while the group is being deleted
        return TargetNotScalable(f"Auto Scaling group {name} cannot be scaled ({group['Status']}); name another")
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


def protected(group: Raw, ec2: Ec2Instances) -> int:
    """Return the units that no scale-in ends.

    Source: User Guide, "Use instance scale-in protection": it starts when the instance is in service.
    """
    return sum(
        weight(group, one, ec2)
        for one in group["Instances"]
        if stage_of(one["LifecycleState"]) in _PROTECTING and one.get("ProtectedFromScaleIn")
    )


def all_protected(group: Raw, size: int, ec2: Ec2Instances) -> HoldReason | None:
    """Return why a group of this size cannot shrink: AWS would lower its desired capacity and end no instance.

    Source: User Guide, "Use instance scale-in protection", considerations.
    """
    if not 0 < size <= protected(group, ec2):
        return None
    return HoldReason(
        "AllProtected",
        f"all instances of group {group['AutoScalingGroupName']} are protected from scale-in; scale-in waits until one "
        "is not",
    )


def by_types(group: Raw) -> frozenset[str]:
    """Return the instance types whose size determines an instance's weight."""
    if group.get("DesiredCapacityType", UNITS) not in _NOT_UNITS:
        return frozenset()
    return frozenset(one["InstanceType"] for one in group["Instances"] if not one.get("WeightedCapacity"))


def weight(group: Raw, one: Raw, ec2: Ec2Instances) -> int:
    """Return an instance's units of DesiredCapacity. Raises TargetUnavailable when EC2 does not describe its type."""
    if one.get("WeightedCapacity"):
        return int(one["WeightedCapacity"])
    kind = group.get("DesiredCapacityType", UNITS)
    if kind not in _NOT_UNITS:
        return 1
    found = ec2.type(one["InstanceType"])
    if found is None:
        raise TargetUnavailable(
            f"group {group['AutoScalingGroupName']} is sized in {kind}, and EC2 does not describe the instance type "
            f"{one['InstanceType']}"
        )
    return found.vcpus if kind == "vcpu" else found.memory_mib


def instances(group: Raw, ec2: Ec2Instances) -> tuple[Instance, ...]:
    """Return the instances that count towards the group's capacity."""
    return tuple(
        _instance(group, one, ec2)
        for one in group["Instances"]
        if stage_of(one["LifecycleState"]) is not LifecycleStage.OUTSIDE
    )


def staying(group: Raw) -> frozenset[str]:
    """Return the instances that count, according to AWS."""
    return frozenset(one["InstanceId"] for one in group["Instances"] if stage_of(one["LifecycleState"]) in COUNTING)


def _instance(group: Raw, one: Raw, ec2: Ec2Instances) -> Instance:
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
        weight=weight(group, one, ec2),
        detail="" if serves else f"{one['LifecycleState']}, {one['HealthStatus']}",
    )
