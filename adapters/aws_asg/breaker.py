"""A circuit breaker: scale-out is held for a group whose launches keep failing.

Groups that run all their instances cost no request. Of the other groups, the adapter reads the scaling activities of
some each cycle. AWS itself retries the missing launches; one success closes the circuit.
Source: Auto Scaling API Reference, DescribeScalingActivities and Activity; User Guide, "Troubleshoot EC2 Auto Scaling".
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from adapters.aws.errors import do_each
from adapters.aws.raw import Raw, unavailable_if_malformed
from adapters.aws_asg.settings import CircuitBreaker
from autoscaler.target import Call, Clock, HoldReason, Moment

if TYPE_CHECKING:
    from adapters.aws.api import AwsApi

_GROUPS_PER_CYCLE: Final = 5
_MAX_MEMORY: Final = timedelta(days=1)
"""AWS suspends Launch by itself after this time without a successful launch."""
_LAUNCHING: Final = re.compile("Launching a new EC2 instance(?! into warm pool)")
"""The beginning of the description of a launch that the desired capacity asks for.

Source for warm pools: AWS's own samples (aws-samples, amazon-ec2-auto-scaling-group-examples).
"""
_FAILED: Final = frozenset({"Failed", "Cancelled"})
_CAUSE_LENGTH: Final = 300


@dataclass(slots=True)
class _Open:
    since: Moment
    """Time of the failure or of the last attempt."""
    message: str


class Breaker:
    """The circuits of all groups of a connection."""

    def __init__(self, api: "AwsApi", settings: CircuitBreaker, clock: Clock) -> None:
        self._api = api
        self._settings = settings
        self._clock = clock
        self._open: dict[str, _Open] = {}
        self._last_complete: dict[str, Moment] = {}
        """Group -> when it last ran all its instances."""
        self._asked: dict[str, int] = {}
        """Group -> the number of the `look` call that last read it."""
        self._looks = 0

    def read_activities(self, complete: Collection[str], lacking: Collection[str], call: Call) -> None:
        """Read the activities of some of the groups that lack instances.

        Raises TargetError after all of them were asked about.
        """
        observed = {*complete, *lacking}
        self._last_complete = {group: at for group, at in self._last_complete.items() if group in observed}
        self._last_complete |= dict.fromkeys(complete, self._clock.moment())
        self._open = {group: state for group, state in self._open.items() if group in lacking}
        self._asked = {group: at for group, at in self._asked.items() if group in lacking}
        self._looks += 1

        def judge(group: str) -> None:
            self._asked[group] = self._looks
            self._judge(group, self._launches(group, call))

        do_each(judge, sorted(lacking, key=lambda each: self._asked.get(each, 0))[:_GROUPS_PER_CYCLE])

    def hold(self, group: str) -> HoldReason | None:
        """Return why the group must not grow now, or None."""
        state = self._open.get(group)
        if state is None:
            return None
        now = self._clock.moment()
        left = self._settings.retry_after - now.since(state.since)
        if left <= timedelta(0):
            return None
        return HoldReason("LaunchesFailing", f"{state.message}; the next try is at {now.now + left:%H:%M:%S} UTC")

    def note_scale_out(self, group: str) -> None:
        """Note that a scale-out was written. If it was the attempt of an open circuit, the circuit is open again."""
        if (state := self._open.get(group)) is not None:
            state.since = self._clock.moment()

    def _launches(self, group: str, call: Call) -> list[Raw]:
        """Return the launches that ended since the group last ran all its instances, newest first."""
        now, complete = self._clock.moment(), self._last_complete.get(group)
        since = now.now - (_MAX_MEMORY if complete is None else now.since(complete))
        # One page is enough: it lists up to a hundred activities, newest first.
        answer = self._api.ask(
            "autoscaling", "describe_scaling_activities", call, {"AutoScalingGroupName": group, "MaxRecords": 100}
        )
        with unavailable_if_malformed("describe_scaling_activities"):
            launches = [one for one in answer["Activities"] if _LAUNCHING.match(one["Description"])]
            launches.sort(key=lambda one: one["StartTime"], reverse=True)
            ended = [one for one in launches if one["StatusCode"] in _FAILED or one["StatusCode"] == "Successful"]
            return [one for one in ended if one["StartTime"] >= since]

    def _judge(self, group: str, launches: list[Raw]) -> None:
        failed = next((i for i, one in enumerate(launches) if one["StatusCode"] == "Successful"), len(launches))
        if failed < self._settings.failures:
            if failed < len(launches):
                self._open.pop(group, None)  # one launch succeeded
            return
        cause = str(launches[0].get("StatusMessage") or launches[0]["Description"])[:_CAUSE_LENGTH]
        message = f"the last {failed} launches of the group failed: {cause}"
        if group in self._open:
            self._open[group].message = message
        else:
            self._open[group] = _Open(self._clock.moment(), message)
