"""A circuit breaker: a group whose launches keep failing is not asked for more.

Groups that have all that they asked for are quiet and cost nothing; of the others, some each cycle, the scaling
activities are read. AWS itself goes on trying to launch what is missing: one success closes the circuit.
Source: Auto Scaling API Reference, DescribeScalingActivities and Activity; User Guide, "Troubleshoot EC2 Auto Scaling".
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from adapters.aws_asg.raw import Raw, unavailable_if_malformed
from adapters.aws_asg.settings import CircuitBreaker
from autoscaler.target import Call, Clock, HoldReason, Moment

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
    since: Moment
    """Of the failure, or of the last try."""
    message: str


class Breaker:
    """Of all groups of a connection."""

    def __init__(self, api: "AwsApi", settings: CircuitBreaker, clock: Clock) -> None:
        self._api = api
        self._settings = settings
        self._clock = clock
        self._open: dict[str, _Open] = {}
        self._whole: dict[str, Moment] = {}
        """When each group was last seen with all that it asks for."""
        self._asked: dict[str, int] = {}
        """Which look it was at which each was last read."""
        self._looks = 0

    def look(self, whole: Collection[str], lacking: Collection[str], call: Call) -> None:
        """Read the activities of some of the groups that lack instances. Raises TargetError."""
        observed = {*whole, *lacking}
        self._whole = {group: at for group, at in self._whole.items() if group in observed}
        self._whole |= dict.fromkeys(whole, self._clock.moment())
        self._open = {group: state for group, state in self._open.items() if group in lacking}
        self._asked = {group: at for group, at in self._asked.items() if group in lacking}
        self._looks += 1
        for group in sorted(lacking, key=lambda each: self._asked.get(each, 0))[:_GROUPS_A_CYCLE]:
            self._asked[group] = self._looks
            self._judge(group, self._launches(group, call))

    def hold(self, group: str) -> HoldReason | None:
        """Why the group must not grow now."""
        state = self._open.get(group)
        if state is None:
            return None
        now = self._clock.moment()
        left = self._settings.retry_after - now.since(state.since)
        if left <= timedelta(0):
            return None
        return HoldReason("LaunchesFailing", f"{state.message}; the next try is at {now.now + left:%H:%M:%S} UTC")

    def tried(self, group: str) -> None:
        """A scale-out was written: if the circuit was open and this the try, it is open again."""
        if (state := self._open.get(group)) is not None:
            state.since = self._clock.moment()

    def _launches(self, group: str, call: Call) -> list[Raw]:
        """Those that have ended since the group was last whole, the newest first."""
        now, whole = self._clock.moment(), self._whole.get(group)
        since = now.now - (_LONGEST_MEMORY if whole is None else now.since(whole))
        # The answer's first page is enough: its order is the newest first, and it has up to a hundred.
        answer = self._api.ask(
            "autoscaling", "describe_scaling_activities", call, {"AutoScalingGroupName": group, "MaxRecords": 100}
        )
        with unavailable_if_malformed("describe_scaling_activities"):
            launches = [one for one in answer["Activities"] if one["Description"].startswith(_LAUNCHING)]
            launches.sort(key=lambda one: one["StartTime"], reverse=True)
            ended = [one for one in launches if one["StatusCode"] in _FAILED or one["StatusCode"] == "Successful"]
            return [one for one in ended if one["StartTime"] >= since]

    def _judge(self, group: str, launches: list[Raw]) -> None:
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
            self._open[group] = _Open(self._clock.moment(), message)
