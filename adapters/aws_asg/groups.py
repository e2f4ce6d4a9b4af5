"""A described group as the contract wants it."""

from collections.abc import Collection, Mapping
from typing import Final

from adapters.aws_asg.lifecycle import COUNTING, LifecycleStage, stage_of
from adapters.aws_asg.machines import Machines
from adapters.aws_asg.raw import Raw
from autoscaler.target import HoldReason, Instance, Limits, Phase, TargetNotFound, TargetNotScalable, TargetUnavailable

UNITS: Final = "units"
_NOT_UNITS: Final = ("vcpu", "memory-mib")


def limits(group: Raw) -> Limits:
    """The group's own bounds, in its units."""
    return Limits(group["MinSize"], group["MaxSize"], "the group's MinSize and MaxSize")


def not_found(name: str, region: str) -> TargetNotFound:
    """The error for a group that is in no answer."""
    return TargetNotFound(
        f"Auto Scaling group {name} does not exist in {region}; create it, or correct the name or region"
    )


def scalable(group: Raw) -> Raw | TargetNotScalable:
    """The group, or why it cannot be scaled. Raises KeyError where it lacks what is read of every group."""
    for one in group["Instances"]:
        _ = one["InstanceId"], one["LifecycleState"]
    if group.get("Status"):  # only there while the group is being deleted
        return TargetNotScalable(
            f"Auto Scaling group {group['AutoScalingGroupName']} cannot be scaled ({group['Status']}); name another"
        )
    return group


def suspended(group: Raw, process: str) -> HoldReason | None:
    """Why the group cannot come to a new size: somebody, or AWS itself, suspended `Launch` or `Terminate`."""
    for one in group.get("SuspendedProcesses", ()):
        if one["ProcessName"] == process:
            why = f" ({one['SuspensionReason']})" if one.get("SuspensionReason") else ""
            return HoldReason(
                f"{process}Suspended",
                f"the group's process {process} is suspended{why}; scaling waits for its resumption",
            )
    return None


def by_types(group: Raw) -> frozenset[str]:
    """The instance types whose size must be known to know what an instance counts for."""
    if group.get("DesiredCapacityType", UNITS) not in _NOT_UNITS:
        return frozenset()
    return frozenset(one["InstanceType"] for one in group["Instances"] if not one.get("WeightedCapacity"))


def weight(group: Raw, one: Raw, machines: Machines) -> int:
    """Units of DesiredCapacity that an instance counts for. Raises TargetUnavailable when EC2 does not say."""
    if one.get("WeightedCapacity"):
        return int(one["WeightedCapacity"])
    kind = group.get("DesiredCapacityType", UNITS)
    if kind not in _NOT_UNITS:
        return 1
    found = machines.type(one["InstanceType"])
    if found is None:
        raise TargetUnavailable(
            f"group {group['AutoScalingGroupName']} is sized in {kind}, and EC2 does not describe the instance type "
            f"{one['InstanceType']}"
        )
    return found.vcpus if kind == "vcpu" else found.memory_mib


def instances(group: Raw, machines: Machines) -> tuple[Instance, ...]:
    """All that is in the group and not outside its capacity."""
    return tuple(
        _instance(group, one, machines)
        for one in group["Instances"]
        if stage_of(one["LifecycleState"]) is not LifecycleStage.OUTSIDE
    )


def victims(group: Raw, ranked: Collection[str], units: int, machines: Machines) -> Mapping[str, int]:
    """Of the `ranked` instances those to end, best first -> their weight, together at most `units`.

    Never one that is protected from scale-in, or that does not count any more.
    """
    eligible = {
        one["InstanceId"]: weight(group, one, machines)
        for one in group["Instances"]
        if stage_of(one["LifecycleState"]) in COUNTING and not one["ProtectedFromScaleIn"]
    }
    chosen: dict[str, int] = {}
    for name in ranked:
        if name in eligible and sum(chosen.values()) + eligible[name] <= units:
            chosen[name] = eligible[name]
    return chosen


def staying(group: Raw) -> frozenset[str]:
    """Instances that count, as far as AWS shows."""
    return frozenset(one["InstanceId"] for one in group["Instances"] if stage_of(one["LifecycleState"]) in COUNTING)


def _instance(group: Raw, one: Raw, machines: Machines) -> Instance:
    where, name = stage_of(one["LifecycleState"]), one["InstanceId"]
    healthy = one["HealthStatus"].lower() == "healthy"
    machine = machines[name]
    serves = where is LifecycleStage.SERVING and healthy
    return Instance(
        name=name,
        phase=Phase.PENDING if where is LifecycleStage.STARTING else Phase.RUNNING,
        ready=serves,
        started_at=machine.launched,
        deleting=where is LifecycleStage.LEAVING,
        identities=machine.identities | {name},
        requests=machine.requests,
        weight=weight(group, one, machines),
        detail="" if serves else f"{one['LifecycleState']}, {one['HealthStatus']}",
    )
