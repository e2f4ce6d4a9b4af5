"""A circuit breaker: a group whose launches keep failing is not asked for more.

Groups that have all that they asked for are quiet and cost nothing; of the others, some each cycle, the scaling
activities are read. AWS itself goes on trying to launch what is missing: one success closes the circuit.
Source: Auto Scaling API Reference, DescribeScalingActivities and Activity; User Guide, "Troubleshoot EC2 Auto Scaling".
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from adapters.aws_asg.raw import Raw, unavailable_if_malformed
from adapters.aws_asg.settings import CircuitBreaker
from autoscaler.target import Call, HoldReason

if TYPE_CHECKING:
    from adapters.aws_asg.api import AwsApi

_GROUPS_A_CYCLE: Final = 5
_LONGEST_MEMORY: Final = timedelta(days=1)
"""After so long without one successful launch AWS suspends Launch by itself."""
_LAUNCHING: Final = "Launching a new EC2 instance"
"""How the description of every launch begins."""
_FAILED: Final = frozenset({"Failed", "Cancelled"})
_CAUSE_LENGTH: Final = 300


@dataclass(slots=True)
class _Open:
    until: datetime
    message: str


class Breaker:
    """Of all groups of a connection."""

    def __init__(self, api: "AwsApi", settings: CircuitBreaker) -> None:
        self._api = api
        self._settings = settings
        self._open: dict[str, _Open] = {}
        self._whole: dict[str, datetime] = {}
        """When each group was last seen with all that it asks for."""
        self._asked: dict[str, datetime] = {}

    def look(self, whole: Collection[str], lacking: Collection[str], call: Call) -> None:
        """Read the activities of some of the groups that lack instances. Raises TargetError."""
        observed = {*whole, *lacking}
        self._whole = {group: at for group, at in self._whole.items() if group in observed}
        self._whole |= dict.fromkeys(whole, call.now)
        self._open = {group: state for group, state in self._open.items() if group in lacking}
        self._asked = {group: at for group, at in self._asked.items() if group in lacking}
        never = datetime.min.replace(tzinfo=call.now.tzinfo)
        for group in sorted(lacking, key=lambda each: self._asked.get(each, never))[:_GROUPS_A_CYCLE]:
            self._asked[group] = call.now
            self._judge(group, self._launches(group, call), call.now)

    def hold(self, group: str, now: datetime) -> HoldReason | None:
        """Why the group must not grow now."""
        state = self._open.get(group)
        if state is None or now >= state.until:
            return None
        return HoldReason("LaunchesFailing", f"{state.message}; the next try is at {state.until:%H:%M:%S} UTC")

    def tried(self, group: str, now: datetime) -> None:
        """A scale-out was written: if the circuit was open and this the try, it is open again."""
        if (state := self._open.get(group)) is not None:
            state.until = now + self._settings.retry_after

    def _launches(self, group: str, call: Call) -> list[Raw]:
        """Those that have ended since the group was last whole, the newest first."""
        since = self._whole.get(group, call.now - _LONGEST_MEMORY)
        # The answer's first page is enough: its order is the newest first, and it has up to a hundred.
        answer = self._api.ask(
            "autoscaling", "describe_scaling_activities", call, {"AutoScalingGroupName": group, "MaxRecords": 100}
        )
        with unavailable_if_malformed("describe_scaling_activities"):
            launches = [one for one in answer["Activities"] if one["Description"].startswith(_LAUNCHING)]
            launches.sort(key=lambda one: one["StartTime"], reverse=True)
            ended = [one for one in launches if one["StatusCode"] in _FAILED or one["StatusCode"] == "Successful"]
            return [one for one in ended if one["StartTime"] >= since]

    def _judge(self, group: str, launches: list[Raw], now: datetime) -> None:
        failed = next((i for i, one in enumerate(launches) if one["StatusCode"] == "Successful"), len(launches))
        if failed < self._settings.failures:
            if failed < len(launches):
                self._open.pop(group, None)  # one of them succeeded
            return
        cause = str(launches[0].get("StatusMessage") or launches[0]["Description"])[:_CAUSE_LENGTH]
        message = f"the last {failed} launches of the group failed: {cause}"
        if group in self._open:
            self._open[group].message = message
        else:
            self._open[group] = _Open(now + self._settings.retry_after, message)
