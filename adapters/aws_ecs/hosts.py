"""The addresses of container instances, on which tasks without a network interface of their own have ports.

Sources: ECS API Reference, DescribeContainerInstances (100 a call) and NetworkBinding; docs of the `bridge` and `host`
network modes.
"""

from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from adapters.aws.ec2 import Ec2Instances
from adapters.aws.raw import unavailable_if_malformed
from autoscaler.target import Call

if TYPE_CHECKING:
    from adapters.aws.api import AwsApi

_HOSTS_A_CALL: Final = 100


class Hosts:
    """The container instances by ARN. Each is asked for once."""

    def __init__(self, api: "AwsApi") -> None:
        self._api = api
        self._ec2 = Ec2Instances(api)
        self._ids: dict[str, str] = {}
        """ARN -> id of the EC2 instance."""

    def learn(self, cluster: str, arns: Collection[str], call: Call) -> None:
        """Ask for unknown ones. Raises TargetError."""
        unknown = sorted(set(arns) - self._ids.keys())
        for start in range(0, len(unknown), _HOSTS_A_CALL):
            wanted = {"cluster": cluster, "containerInstances": unknown[start : start + _HOSTS_A_CALL]}
            answer = self._api.ask("ecs", "describe_container_instances", call, wanted)
            with unavailable_if_malformed("describe_container_instances"):
                for one in answer["containerInstances"]:
                    self._ids[one["containerInstanceArn"]] = one["ec2InstanceId"]
        failed = self._ec2.learn(set(self._ids.values()), (), call)
        for arn in arns:
            if (error := failed.get(self._ids.get(arn, ""))) is not None:
                raise error

    def addresses(self, arn: str) -> tuple[str, ...]:
        """Return its private addresses; none: EC2 does not know it, as with an external instance."""
        return self._ec2[self._ids.get(arn, "")].private_addresses

    def forget(self, used: Collection[str]) -> None:
        """Forget those that are not among the `used` ones."""
        self._ids = {arn: instance for arn, instance in self._ids.items() if arn in used}
