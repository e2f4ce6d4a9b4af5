"""The write test: requests for which AWS needs every permission of a write, and after which no group has changed.

A size above the group's MaxSize is answered with AccessDenied without the permission and with a ValidationError with
it. AWS tests permissions in the same way (Application Auto Scaling User Guide, "Permissions validation": "attempting to
create a DB instance with invalid parameters"), and refuses such a size ("New SetDesiredCapacity value 3 is above max
value 2", kubernetes/autoscaler#943). So it is with lifecycle actions, for an instance that does not exist. This adapter
has not been tested on AWS itself.
"""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from adapters.aws.errors import OutcomeUnknown, require_permissions
from adapters.aws.raw import Raw, unavailable_if_malformed
from adapters.aws_asg.hooks import ACTIONS, Hooks
from adapters.aws_asg.refreshes import Refreshes
from autoscaler.target import Call, TargetNotFound, TargetRefused, TargetUnavailable

if TYPE_CHECKING:
    from adapters.aws.api import AwsApi

_ABOVE_MAX: Final = 1_000_000
"""So far above MaxSize that no change of MaxSize since it was read makes the size a valid one."""
_LISTS: Final = ("describe_policies", "describe_scaling_activities", "describe_scheduled_actions")
"""Lists that the adapter reads from time to time; `observe` goes on without them."""
_UNTESTED: Final = (
    "not tested: autoscaling:TerminateInstanceInAutoScalingGroup, which an autoscaler with `victims` needs"
)
_NO_INSTANCE: Final = "i-00000000000000000"


def try_write(api: "AwsApi", refreshes: Refreshes, hooks: Hooks, group: Raw, call: Call) -> str:
    """Return AWS's answer in words. Raises TargetForbidden, which names every missing permission, or TargetError."""
    with unavailable_if_malformed("describe_auto_scaling_groups"):
        name, size = group["AutoScalingGroupName"], group["MaxSize"] + _ABOVE_MAX
    one = {"AutoScalingGroupName": name, "MaxRecords": 1}
    asked: list[Callable[[], object]] = [
        *[partial(api.ask, "autoscaling", operation, call, one) for operation in _LISTS],
        partial(refreshes.before_write, name, call, out=False),
        partial(_set_above_max, api, name, size, call),
        partial(hooks.before_scale_in, name, call),
    ]
    if hooks.serves(name):
        asked += [partial(_act_on_no_instance, api, operation, name, call) for operation in ACTIONS]
    require_permissions(asked)
    return f"permitted: AWS refused the size {size} only because it is above MaxSize; {_UNTESTED}"


def _act_on_no_instance(api: "AwsApi", operation: str, name: str, call: Call) -> None:
    """Return if AWS refuses it because no such instance waits. Raises TargetError."""
    wanted = {"AutoScalingGroupName": name, "LifecycleHookName": "autoscaler-check", "InstanceId": _NO_INSTANCE}
    with suppress(TargetNotFound, TargetRefused):
        api.ask("autoscaling", operation, call, {**wanted, **ACTIONS[operation]}, write=True)


def _set_above_max(api: "AwsApi", name: str, size: int, call: Call) -> None:
    """Return if AWS refuses the size for its value. Raises TargetError."""
    wanted = {"AutoScalingGroupName": name, "DesiredCapacity": size, "HonorCooldown": False}
    try:
        api.ask("autoscaling", "set_desired_capacity", call, wanted, write=True)
    except TargetRefused:
        return
    except OutcomeUnknown:
        raise TargetUnavailable(
            f"group {name}: no usable answer to the size {size}; AWS cannot have set it, because it is above MaxSize"
        ) from None
    raise TargetUnavailable(
        f"group {name}: the size {size} was accepted, although it is above MaxSize; set the desired capacity back at "
        "once. Is AWS behind `endpointUrl`?"
    )
