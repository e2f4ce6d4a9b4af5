"""The addresses of container instances, on which tasks without a network interface of their own have ports.

Sources: ECS API Reference, DescribeContainerInstances (100 a call) and NetworkBinding; docs of the `bridge` and `host`
network modes.
"""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Final

from adapters.aws.ec2 import Ec2Instances
from adapters.aws.raw import read_in_batches
from autoscaler.target import Call, TargetError

if TYPE_CHECKING:
    from adapters.aws.api import AwsApi

_HOSTS_PER_CALL: Final = 100


class Hosts:
    """The private addresses of container instances, the machines on which tasks run. Reads each machine once."""

    def __init__(self, api: "AwsApi") -> None:
        self._api = api
        self._ec2 = Ec2Instances(api)
        self._addresses: dict[str, tuple[str, ...]] = {}

    def learn(self, cluster: str, arns: Collection[str], call: Call) -> Mapping[str, TargetError]:
        """Read the machines with these ARNs that are not known yet. Returns ARN -> why it could not be read."""
        ids, failed = read_in_batches(
            sorted(set(arns) - self._addresses.keys()),
            _HOSTS_PER_CALL,
            lambda batch: self._api.pages(
                "ecs",
                "describe_container_instances",
                "containerInstances",
                call,
                {"cluster": cluster, "containerInstances": batch},
            ),
            "containerInstanceArn",
            "describe_container_instances",
            lambda one: str(one["ec2InstanceId"]),
        )
        unread = self._ec2.learn(set(ids.values()), (), call)
        self._addresses |= {arn: self._ec2[one].private_addresses for arn, one in ids.items() if one not in unread}
        return {**failed, **{arn: unread[one] for arn, one in ids.items() if one in unread}}

    def addresses(self, arn: str) -> tuple[str, ...]:
        """Return the machine's private addresses; empty if EC2 does not know it, such as an external instance."""
        return self._addresses.get(arn, ())

    def forget(self, used: Collection[str]) -> None:
        """Forget all machines but those with the `used` ARNs."""
        self._addresses = {arn: addresses for arn, addresses in self._addresses.items() if arn in used}
