"""The lifecycle hooks on which instances wait before they end, of the groups whose instances are drained.

AWS lists the hooks of one group a request, so the adapter asks at first, just before a scale-in, and a few groups a
cycle in turn. Sources: Auto Scaling API Reference, DescribeLifecycleHooks, CompleteLifecycleAction and
RecordLifecycleActionHeartbeat; User Guide, "Amazon EC2 Auto Scaling lifecycle hooks".
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from adapters.aws.ec2 import Ec2Instances
from adapters.aws.errors import do_each
from adapters.aws.raw import Raw, unavailable_if_malformed
from autoscaler.target import AwaitingDrain, Call, Clock, HoldReason, TargetError, TargetNotFound, TargetUnavailable

if TYPE_CHECKING:
    from adapters.aws.api import AwsApi

_TERMINATING: Final = "autoscaling:EC2_INSTANCE_TERMINATING"
COMPLETE: Final = "complete_lifecycle_action"
HEARTBEAT: Final = "record_lifecycle_action_heartbeat"
ACTIONS: Final[Mapping[str, Mapping[str, str]]] = {HEARTBEAT: {}, COMPLETE: {"LifecycleActionResult": "CONTINUE"}}
"""The operations on the lifecycle action of an instance, with their own parameters."""
_WAITING: Final = "Terminating:Wait"
_DEFAULT_HEARTBEAT_SECONDS: Final = 3600
"""Source: PutLifecycleHook, HeartbeatTimeout."""
_AGAIN_SECONDS: Final = 300.0
"""How often the hooks of a group are read again."""
_FAILED_AGAIN_SECONDS: Final = 15.0
_GROUPS_PER_CYCLE: Final = 20


@dataclass(frozen=True, slots=True)
class Hook:
    """A hook of a group for instances that terminate."""

    name: str
    heartbeat: timedelta
    """How long an instance waits after the beginning or the last heartbeat."""


class Hooks:
    """The terminating hooks of the groups with a drain."""

    def __init__(self, api: "AwsApi", drains: Mapping[str, str | None], clock: Clock) -> None:
        """`drains`: group -> the hook that the configuration names; None: the only one."""
        self._api = api
        self._drains: Final = drains
        self._clock = clock
        self._known: dict[str, tuple[Hook, ...]] = {}
        self._errors: dict[str, TargetError] = {}
        """Group -> why its hooks could not be read at first."""
        self._due: dict[str, float] = {}
        """Group -> when its hooks are read again, on the monotonic clock."""

    def serves(self, group: str) -> bool:
        """Return whether the group's instances are drained."""
        return group in self._drains

    def read(self, groups: Collection[str], leaving: Collection[str], call: Call) -> None:
        """Ask about some groups whose hooks are unknown or were read long ago, those with `leaving` instances first.

        Raises TargetError after all of them were asked about.
        """
        now = self._clock.monotonic()
        due = [name for name in self._drains.keys() & groups if self._due.get(name, now) <= now]
        due.sort(key=lambda name: (name not in leaving, self._due.get(name, 0.0)))
        do_each(lambda name: self._ask(name, call), due[:_GROUPS_PER_CYCLE])

    def before_scale_in(self, group: str, call: Call) -> HoldReason | None:
        """Return why a scale-in must wait, or None. Raises TargetError: its instances could end without a drain."""
        if group not in self._drains:
            return None
        self._ask(group, call)
        return self.hold(group)

    def hold(self, group: str) -> HoldReason | None:
        """Return why a scale-in would end instances without their drain, or None; also while that is not known."""
        if group not in self._due or self._hook(group) is not None:
            return None
        return HoldReason("DrainHookMissing", f"group {group}: {self._problem(group)}; scale-in waits")

    def waiting(self, group: Raw, ec2: Ec2Instances) -> tuple[AwaitingDrain, ...] | None:
        """Return the group's instances that wait on the hook; None: its hooks have not been read yet."""
        if self.serves(group["AutoScalingGroupName"]) and group["AutoScalingGroupName"] not in self._known:
            return None
        hook = self._hook(group["AutoScalingGroupName"])
        if hook is None:
            return ()
        return tuple(
            AwaitingDrain(one["InstanceId"], ec2[one["InstanceId"]].private_addresses, hook.heartbeat)
            for one in group["Instances"]
            if one["LifecycleState"] == _WAITING
        )

    def release(self, group: str, instance: str, call: Call) -> None:
        """Complete the instance's lifecycle action. Raises TargetError."""
        self._tell(COMPLETE, group, instance, call)

    def extend(self, group: str, instance: str, call: Call) -> None:
        """Record a heartbeat. Raises TargetError."""
        self._tell(HEARTBEAT, group, instance, call)

    def _tell(self, operation: str, group: str, instance: str, call: Call) -> None:
        hook = self._hook(group)
        if hook is None:
            raise TargetUnavailable(f"group {group}: {self._problem(group)}")
        wanted = {"AutoScalingGroupName": group, "LifecycleHookName": hook.name, "InstanceId": instance}
        try:
            # not as a write, because to repeat it does no harm
            self._api.ask("autoscaling", operation, call, {**wanted, **ACTIONS[operation]})
        except TargetNotFound:
            return  # the action has ended

    def _hook(self, group: str) -> Hook | None:
        named, found = self._drains.get(group), self._known.get(group)
        if found is None:
            return None
        if named is None:
            return found[0] if len(found) == 1 else None
        return next((each for each in found if each.name == named), None)

    def _problem(self, group: str) -> str:
        found, named = self._known.get(group), self._drains[group]
        if found is None:
            return f"its lifecycle hooks cannot be read: {self._errors.get(group, 'they were not asked for')}"
        if named is not None:
            return f"it has no hook {named} for instances that terminate; create it, or correct `hook` of its drain"
        if not found:
            return f"it has no lifecycle hook of {_TERMINATING}, on which instances wait for their drain; create one"
        names = ", ".join(each.name for each in found)
        return f"it has several hooks of {_TERMINATING} ({names}); name one as `hook` of its drain"

    def _ask(self, group: str, call: Call) -> None:
        self._due[group] = self._clock.monotonic() + _FAILED_AGAIN_SECONDS
        try:
            answer = self._api.ask("autoscaling", "describe_lifecycle_hooks", call, {"AutoScalingGroupName": group})
            with unavailable_if_malformed("describe_lifecycle_hooks"):
                self._known[group] = tuple(map(_hook, filter(_is_terminating, answer["LifecycleHooks"])))
        except TargetError as error:
            self._errors[group] = error
            raise
        self._due[group] = self._clock.monotonic() + _AGAIN_SECONDS


def _is_terminating(one: Raw) -> bool:
    return bool(one["LifecycleTransition"] == _TERMINATING)


def _hook(one: Raw) -> Hook:
    seconds = one.get("HeartbeatTimeout") or _DEFAULT_HEARTBEAT_SECONDS
    return Hook(one["LifecycleHookName"], timedelta(seconds=seconds))
