"""Other autoscalers of the same groups: AWS's scaling policies and scheduled actions.

Sources: Auto Scaling API Reference, DescribePolicies and DescribeScheduledActions (the group may be left out); User
Guide, "Suspend and resume Amazon EC2 Auto Scaling processes".
"""

from collections import defaultdict
from collections.abc import Collection
from typing import TYPE_CHECKING, Final, NamedTuple

from adapters.aws.errors import do_each
from adapters.aws.lists import List, Lists
from adapters.aws.raw import Raw, unavailable_if_malformed
from autoscaler.target import Call, Clock

if TYPE_CHECKING:
    from adapters.aws.api import AwsApi

_LISTS: Final = (
    List("autoscaling", "describe_policies", "ScalingPolicies", {"MaxRecords": 100}),
    List("autoscaling", "describe_scheduled_actions", "ScheduledUpdateGroupActions", {"MaxRecords": 100}),
)


class _Other(NamedTuple):
    """A policy or scheduled action."""

    what: str
    process: str | None
    """The group's process without which it changes nothing; None: there is none."""

    @property
    def warning(self) -> str:
        suspend = f" suspend the group's process {self.process}," if self.process else ""
        return f"{self.what} also changes this group's size; remove it,{suspend} or remove this autoscaler"


class OtherAutoscalers:
    """The scaling policies and scheduled actions of the last complete reading."""

    def __init__(self, api: "AwsApi", clock: Clock) -> None:
        self._lists = Lists(api, _LISTS, clock)
        self._found: dict[str, list[_Other]] = {}

    def warnings(self, group: str, suspended: Collection[str]) -> tuple[str, ...]:
        """Return a sentence for each policy or scheduled action of the group. `suspended`: its suspended processes."""
        return tuple([each.warning for each in self._found.get(group, ()) if each.process not in suspended])

    def read_next_pages(self, call: Call) -> None:
        """Read the next pages of AWS's lists. Raises TargetError, also if it had to leave out a malformed entry."""
        entries = self._lists.read_next_pages(call)
        if entries is None:
            return
        found = defaultdict[str, list[_Other]](list)

        def read(one: Raw) -> None:
            with unavailable_if_malformed("describe_policies"):
                if (other := _other(one)) is not None:
                    found[one["AutoScalingGroupName"]].append(other)

        self._found = found
        do_each(read, entries)


def _other(one: Raw) -> _Other | None:
    if "ScheduledActionName" in one:
        return _Other(f"scheduled action {one['ScheduledActionName']}", "ScheduledActions")
    if not one.get("Enabled", True) or _only_forecasts(one):
        return None
    predicts = one.get("PolicyType") == "PredictiveScaling"  # without an alarm
    return _Other(f"scaling policy {one['PolicyName']}", None if predicts else "AlarmNotification")


def _only_forecasts(policy: Raw) -> bool:
    predicts: Raw = policy.get("PredictiveScalingConfiguration") or {}
    return bool(policy.get("PolicyType") == "PredictiveScaling" and predicts.get("Mode") != "ForecastAndScale")
