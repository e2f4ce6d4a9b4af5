"""Other autoscalers of the same groups: AWS's scaling policies and scheduled actions.

One list for each account and region has them all. The adapter reads it every ten minutes, some pages a cycle.
Sources: Auto Scaling API Reference, DescribePolicies and DescribeScheduledActions (the group may be left out); User
Guide, "Suspend and resume Amazon EC2 Auto Scaling processes".
"""

from collections import defaultdict
from collections.abc import Collection
from datetime import timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from adapters.aws_asg.raw import Raw, unavailable_if_malformed
from autoscaler.target import Call, Clock, Moment

if TYPE_CHECKING:
    from adapters.aws_asg.api import AwsApi

_AGAIN_AFTER: Final = timedelta(minutes=10)
_PAGES_A_CYCLE: Final = 4
_LISTS: Final = (
    ("describe_policies", "ScalingPolicies"),
    ("describe_scheduled_actions", "ScheduledUpdateGroupActions"),
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
        self._api = api
        self._clock = clock
        self._found: dict[str, list[_Other]] = {}
        self._reading: defaultdict[str, list[_Other]] = defaultdict(list)
        self._place: tuple[int, str | None] | None = None
        """The next list and page; None: all are read."""
        self._begun: Moment | None = None
        """Time when the current reading started."""

    def warnings(self, group: str, suspended: Collection[str]) -> tuple[str, ...]:
        """Return a sentence for each policy or scheduled action of the group. `suspended`: its suspended processes."""
        return tuple([each.warning for each in self._found.get(group, ()) if each.process not in suspended])

    def read_next_pages(self, call: Call) -> None:
        """Read the next pages; start again after ten minutes, also after an error. Raises TargetError."""
        now = self._clock.moment()
        if self._place is None and self._begun is not None and now.since(self._begun) < _AGAIN_AFTER:
            return
        place, self._place, self._begun = self._place or (0, None), None, now
        for _ in range(_PAGES_A_CYCLE):
            following = self._read(place, call)
            if following is None:
                return
            place = following
        self._place = place

    def _read(self, place: tuple[int, str | None], call: Call) -> tuple[int, str | None] | None:
        number, token = place
        if place == (0, None):
            self._reading = defaultdict(list)
        operation, items = _LISTS[number]
        page = self._api.ask(
            "autoscaling", operation, call, {"MaxRecords": 100, **({"NextToken": token} if token else {})}
        )
        with unavailable_if_malformed(operation):
            for one in page[items]:
                self._note(one)
        if page.get("NextToken"):
            return number, page["NextToken"]
        if number + 1 < len(_LISTS):
            return number + 1, None
        self._found = dict(self._reading)
        return None

    def _note(self, one: Raw) -> None:
        if "ScheduledActionName" in one:
            other = _Other(f"scheduled action {one['ScheduledActionName']}", "ScheduledActions")
        elif one.get("Enabled", True) and not _only_forecasts(one):
            predicts = one.get("PolicyType") == "PredictiveScaling"  # without an alarm
            other = _Other(f"scaling policy {one['PolicyName']}", None if predicts else "AlarmNotification")
        else:
            return
        self._reading[one["AutoScalingGroupName"]].append(other)


def _only_forecasts(policy: Raw) -> bool:
    predicts: Raw = policy.get("PredictiveScalingConfiguration") or {}
    return bool(policy.get("PolicyType") == "PredictiveScaling" and predicts.get("Mode") != "ForecastAndScale")
