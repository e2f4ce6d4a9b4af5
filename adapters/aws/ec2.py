"""Launch times and addresses, which only EC2 knows. The adapter asks once for each instance.

Sources: EC2 API Reference, DescribeInstances (a filter takes up to 200 values and, unlike InstanceIds, does not fail
for an instance that EC2 does not know yet) and DescribeInstanceTypes (up to 100 types).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from adapters.aws.raw import Raw, read_in_batches
from autoscaler.target import Call, Milli, TargetError

if TYPE_CHECKING:
    from adapters.aws.api import AwsApi

_IDS_A_CALL: Final = 200
_TYPES_A_CALL: Final = 100


@dataclass(frozen=True, slots=True)
class Ec2Instance:
    """One EC2 instance."""

    launched: datetime | None = None
    identities: frozenset[str] = frozenset()
    """Its addresses and names, without its id."""
    private_addresses: tuple[str, ...] = ()
    """Its private IPv4 addresses, the primary one first."""
    requests: Mapping[str, Milli] = field(default_factory=dict)
    """`cpu`: its virtual processors."""


@dataclass(frozen=True, slots=True)
class InstanceType:
    """The weight of an instance type in groups that are sized by it."""

    vcpus: int
    memory_mib: int


class Ec2Instances:
    """EC2's answers by instance id and by instance type."""

    def __init__(self, api: "AwsApi") -> None:
        self._api = api
        self._ec2: dict[str, Ec2Instance] = {}
        self._types: dict[str, InstanceType] = {}

    def __getitem__(self, instance_id: str) -> Ec2Instance:
        """Return the instance; without times and names where EC2 does not know it yet."""
        return self._ec2.get(instance_id, Ec2Instance())

    def type(self, name: str) -> InstanceType | None:
        """Return the type, or None when EC2 has not described it."""
        return self._types.get(name)

    def learn(self, settled: Collection[str], changing: Collection[str], call: Call) -> Mapping[str, TargetError]:
        """Ask for unknown instances, and again for `changing` ones: an instance gets addresses while it starts.

        Instances in neither set are forgotten. Return the error of each instance that could not be read.
        """
        wanted = {*settled, *changing}
        self._ec2 = {one: machine for one, machine in self._ec2.items() if one in wanted}
        unknown = sorted(wanted - self._ec2.keys() | set(changing))
        found, failed = read_in_batches(
            unknown,
            _IDS_A_CALL,
            lambda ids: self._describe(ids, call),
            "InstanceId",
            "describe_instances",
            _machine,
        )
        self._ec2 |= found
        return failed

    def learn_types(self, names: Iterable[str], call: Call) -> Mapping[str, TargetError]:
        """Ask for unknown types. Return the error of each type that could not be read."""
        unknown = sorted(set(names) - self._types.keys())
        found, failed = read_in_batches(
            unknown,
            _TYPES_A_CALL,
            lambda types: self._api.pages(
                "ec2", "describe_instance_types", "InstanceTypes", call, {"InstanceTypes": list(types)}
            ),
            "InstanceType",
            "describe_instance_types",
            lambda one: InstanceType(one["VCpuInfo"]["DefaultVCpus"], one["MemoryInfo"]["SizeInMiB"]),
        )
        self._types |= found
        return failed

    def _describe(self, ids: Sequence[str], call: Call) -> Iterator[Raw]:
        chosen = {"Filters": [{"Name": "instance-id", "Values": list(ids)}], "MaxResults": 1000}
        for reservation in self._api.pages("ec2", "describe_instances", "Reservations", call, chosen):
            yield from reservation.get("Instances", ())


def _machine(one: Raw) -> Ec2Instance:
    launched: datetime | None = one.get("LaunchTime")
    cpu = one.get("CpuOptions") or {}
    vcpus = cpu.get("CoreCount", 0) * cpu.get("ThreadsPerCore", 0)
    return Ec2Instance(
        launched.astimezone(UTC) if launched is not None else None,
        frozenset(name for name in _names(one) if name),
        tuple(dict.fromkeys(name for name in _private(one) if name)),
        {"cpu": vcpus * 1000} if vcpus else {},
    )


def _private(one: Raw) -> Iterator[str | None]:
    yield one.get("PrivateIpAddress")
    for interface in one.get("NetworkInterfaces") or ():
        yield from (address.get("PrivateIpAddress") for address in interface.get("PrivateIpAddresses") or ())


def _names(one: Raw) -> Iterator[str | None]:
    yield from _private(one)
    yield from (one.get(key) for key in ("PrivateDnsName", "PublicIpAddress", "PublicDnsName"))
    yield (one.get("PrivateDnsName") or "").partition(".")[0]  # the host name on the machine
    for interface in one.get("NetworkInterfaces") or ():
        yield from (address.get("Ipv6Address") for address in interface.get("Ipv6Addresses") or ())
