"""Launch times and addresses, which only EC2 knows. The adapter asks once for each instance.

Source: EC2 API Reference, DescribeInstances: a filter takes up to 200 values and, unlike InstanceIds, does not fail for
an instance that EC2 does not know yet.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from adapters.aws.raw import Raw, read_in_batches
from autoscaler.target import Call, Milli, TargetError

if TYPE_CHECKING:
    from adapters.aws.api import AwsApi

_IDS_PER_CALL: Final = 200


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


class Ec2Instances:
    """EC2's answers by instance id."""

    def __init__(self, api: "AwsApi") -> None:
        self._api = api
        self._ec2: dict[str, Ec2Instance] = {}

    def __getitem__(self, instance_id: str) -> Ec2Instance:
        """Return the instance; without times and names where EC2 does not know it yet."""
        return self._ec2.get(instance_id, Ec2Instance())

    def learn(self, settled: Collection[str], changing: Collection[str], call: Call) -> Mapping[str, TargetError]:
        """Ask for unknown instances, and again for `changing` ones: an instance gets addresses while it starts.

        Instances in neither set are forgotten. Return the error of each instance that could not be read.
        """
        wanted = {*settled, *changing}
        self._ec2 = {one: machine for one, machine in self._ec2.items() if one in wanted}
        unknown = sorted(wanted - self._ec2.keys() | set(changing))
        found, failed = read_in_batches(
            unknown,
            _IDS_PER_CALL,
            lambda ids: self._describe(ids, call),
            "InstanceId",
            "describe_instances",
            _machine,
        )
        self._ec2 |= found
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
