"""Instance refreshes in progress. AWS lists them for one group a request, so the adapter asks just before a write.

In later cycles it asks again, a few groups a cycle, about the groups with a known refresh until it has ended.
Source: Auto Scaling API Reference, DescribeInstanceRefreshes and InstanceRefresh.Status.
"""

from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from adapters.aws.errors import do_each
from adapters.aws.raw import Raw, unavailable_if_malformed
from adapters.aws_asg.settings import OnInstanceRefresh
from autoscaler.target import Call, Hold, HoldReason, TargetError

if TYPE_CHECKING:
    from adapters.aws.api import AwsApi

_UNDER_WAY: Final = frozenset({"Pending", "InProgress", "Cancelling", "RollbackInProgress", "Baking"})
_GROUPS_PER_CYCLE: Final = 5


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
        """Ask again about some of the groups that had a refresh.

        Raises TargetError after all of them were asked about.
        """
        known = self._known.copy()  # a slow write in another thread may add to it
        self._known = {group: reason for group, reason in known.items() if group in observed}

        def ask(group: str) -> None:
            try:
                self._ask(group, call)
            except TargetError:
                self._known[group] = self._known.pop(group)  # in the next cycle the others are asked about first
                raise

        do_each(ask, list(self._known)[:_GROUPS_PER_CYCLE])

    def _ask(self, group: str, call: Call) -> None:
        """Read the group's refreshes. Raises TargetError; what was known then stays known."""
        found = self._api.pages(
            "autoscaling", "describe_instance_refreshes", "InstanceRefreshes", call, {"AutoScalingGroupName": group}
        )
        with unavailable_if_malformed("describe_instance_refreshes"):
            reason = next((_reason(one) for one in found if one["Status"] in _UNDER_WAY), None)
        self._known.pop(group, None)
        if reason is not None:
            self._known[group] = reason


def _reason(refresh: Raw) -> HoldReason:
    done = f", {refresh['PercentageComplete']} % done" if "PercentageComplete" in refresh else ""
    return HoldReason(
        "InstanceRefreshActive",
        f"instance refresh {refresh['InstanceRefreshId']} is under way ({refresh['Status']}{done}); "
        "scaling waits for its end (onInstanceRefresh)",
    )
