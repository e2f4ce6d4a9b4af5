"""Instance refreshes under way. AWS tells them of one group a call, so they are asked for just before a write.

A group that is known to have one is asked again in later cycles, a few groups a cycle, until it has ended.
Source: Auto Scaling API Reference, DescribeInstanceRefreshes and InstanceRefresh.Status.
"""

from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from adapters.aws_asg.raw import unavailable_if_malformed
from adapters.aws_asg.settings import OnInstanceRefresh
from autoscaler.target import Call, Hold, HoldReason

if TYPE_CHECKING:
    from adapters.aws_asg.api import AwsApi

_UNDER_WAY: Final = frozenset({"Pending", "InProgress", "Cancelling", "RollbackInProgress", "Baking"})
_GROUPS_A_CYCLE: Final = 5


class Refreshes:
    """What is known of the groups' refreshes."""

    def __init__(self, api: "AwsApi", settings: OnInstanceRefresh) -> None:
        self._api = api
        self._settings = settings
        self._known: dict[str, HoldReason] = {}
        """By group, the longest unasked first."""

    def before_write(self, group: str, call: Call, *, out: bool) -> HoldReason | None:
        """Why this write must wait. Raises TargetError: what cannot be asked is not known to be harmless."""
        wait = {OnInstanceRefresh.HOLD: True, OnInstanceRefresh.HOLD_SCALE_IN: not out, OnInstanceRefresh.IGNORE: False}
        if wait[self._settings]:
            self._ask(group, call)
        hold = self.hold(group)
        return hold.scale_out if out else hold.scale_in

    def hold(self, group: str) -> Hold:
        """By what is known."""
        reason = self._known.get(group)
        return Hold(scale_out=reason if self._settings is OnInstanceRefresh.HOLD else None, scale_in=reason)

    def look_again(self, observed: Collection[str], call: Call) -> None:
        """Ask for some of the groups that had one. Raises TargetError."""
        known = self._known.copy()  # a write that hangs may add to it at this moment
        self._known = {group: reason for group, reason in known.items() if group in observed}
        for group in list(self._known)[:_GROUPS_A_CYCLE]:
            self._ask(group, call)

    def _ask(self, group: str, call: Call) -> None:
        found = self._api.pages(
            "autoscaling", "describe_instance_refreshes", "InstanceRefreshes", call, {"AutoScalingGroupName": group}
        )
        self._known.pop(group, None)
        for one in found:
            with unavailable_if_malformed("describe_instance_refreshes"):
                if one["Status"] not in _UNDER_WAY:
                    continue
                done = f", {one['PercentageComplete']} % done" if "PercentageComplete" in one else ""
                self._known[group] = HoldReason(
                    "InstanceRefreshActive",
                    f"instance refresh {one['InstanceRefreshId']} is under way ({one['Status']}{done}); "
                    "scaling waits for its end (onInstanceRefresh)",
                )
                return
