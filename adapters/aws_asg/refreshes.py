"""Instance refreshes in progress. AWS lists them for one group a request, so the adapter asks just before a write.

In later cycles it asks again, a few groups a cycle, about the groups with a known refresh until it has ended.
Source: Auto Scaling API Reference, DescribeInstanceRefreshes and InstanceRefresh.Status.
"""

from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from adapters.aws.raw import unavailable_if_malformed
from adapters.aws_asg.settings import OnInstanceRefresh
from autoscaler.target import Call, Hold, HoldReason

if TYPE_CHECKING:
    from adapters.aws.api import AwsApi

_UNDER_WAY: Final = frozenset({"Pending", "InProgress", "Cancelling", "RollbackInProgress", "Baking"})
_GROUPS_A_CYCLE: Final = 5


class Refreshes:
    """The known instance refreshes of the groups."""

    def __init__(self, api: "AwsApi", settings: OnInstanceRefresh) -> None:
        self._api = api
        self._settings = settings
        self._known: dict[str, HoldReason] = {}
        """By group; the group that was asked about longest ago comes first."""

    def before_write(self, group: str, call: Call, *, out: bool) -> HoldReason | None:
        """Return why this write must wait, or None. Raises TargetError: an unknown refresh could be disturbed."""
        wait = {OnInstanceRefresh.HOLD: True, OnInstanceRefresh.HOLD_SCALE_IN: not out, OnInstanceRefresh.IGNORE: False}
        if wait[self._settings]:
            self._ask(group, call)
        hold = self.hold(group)
        return hold.scale_out if out else hold.scale_in

    def hold(self, group: str) -> Hold:
        """Return the hold of a known refresh."""
        reason = self._known.get(group)
        return Hold(scale_out=reason if self._settings is OnInstanceRefresh.HOLD else None, scale_in=reason)

    def read_again(self, observed: Collection[str], call: Call) -> None:
        """Ask again about some of the groups that had a refresh. Raises TargetError."""
        known = self._known.copy()  # a slow write in another thread may add to it
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
