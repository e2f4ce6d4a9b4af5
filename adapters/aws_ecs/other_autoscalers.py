"""Another autoscaler of the same services: Application Auto Scaling, as far as it is registered for them.

Sources: Application Auto Scaling API Reference, DescribeScalableTargets and SuspendedState.
"""

from typing import TYPE_CHECKING, Final

from adapters.aws.errors import do_each
from adapters.aws.lists import List, Lists
from adapters.aws.raw import Raw, unavailable_if_malformed
from autoscaler.target import Call, Clock

if TYPE_CHECKING:
    from adapters.aws.api import AwsApi

_REGISTERED: Final = List(
    "application-autoscaling",
    "describe_scalable_targets",
    "ScalableTargets",
    {"ServiceNamespace": "ecs", "MaxResults": 50},
)
_SUSPENDED: Final = ("DynamicScalingInSuspended", "DynamicScalingOutSuspended", "ScheduledScalingSuspended")
_WARNING: Final = (
    "Application Auto Scaling also changes this service's size; deregister the service there, suspend its scaling, or "
    "remove this autoscaler"
)


class OtherAutoscalers:
    """The registered services of the last complete reading."""

    def __init__(self, api: "AwsApi", clock: Clock) -> None:
        self._lists = Lists(api, (_REGISTERED,), clock)
        self._found = set[str]()

    def warnings(self, name: str) -> tuple[str, ...]:
        """Return a sentence if the service CLUSTER/SERVICE is registered and any of its scaling is not suspended."""
        return (_WARNING,) if name in self._found else ()

    def read_next_pages(self, call: Call) -> None:
        """Read the next pages. Raises TargetError, also for an entry that is left out."""
        entries = self._lists.read_next_pages(call)
        if entries is None:
            return
        found = set[str]()

        def read(one: Raw) -> None:
            with unavailable_if_malformed(_REGISTERED.operation):
                if not all((one.get("SuspendedState") or {}).get(each) for each in _SUSPENDED):
                    found.add(one["ResourceId"].removeprefix("service/"))

        self._found = found
        do_each(read, entries)
