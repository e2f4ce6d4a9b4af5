"""The choice of victims: all other tasks are protected while ECS chooses which ones leave.

ECS has no request that ends a task and lowers the desired count, and it ends no protected task. Our protection expires
by itself, also after a crash. One that the application set is neither shortened nor lifted, so its task stays. AWS has
no compare-and-set: one that the application sets in the milliseconds between our read and our write is replaced.

Sources: ECS API Reference, GetTaskProtection (100 tasks a call), UpdateTaskProtection (10 tasks a call; each call sets
the expiration anew), ProtectedTask and Failure; ECS Developer Guide, "Protect your Amazon ECS tasks from being
terminated by scale-in events".
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Final

from adapters.aws.raw import Raw, unavailable_if_malformed
from autoscaler.target import Call, HoldReason, ScaleChange, TargetRefused

if TYPE_CHECKING:
    from adapters.aws.api import AwsApi

_MAX_TASKS: Final = 100
_TASKS_PER_UPDATE: Final = 10
_MINUTES: Final = 5
"""Ours, because AWS documents no time in which ECS acts on a desired count. A deployment waits as long, too."""
_SAME: Final = timedelta(seconds=1)
"""AWS may round a date."""
_ENDED: Final = "MISSING"


class Protection:
    """The protections that this connection set. Several threads may use it, one at a time for each service."""

    def __init__(self, api: "AwsApi") -> None:
        self._api = api
        self._ours: dict[str, dict[str, datetime]] = {}
        """CLUSTER/SERVICE -> ARN of a task -> when our protection of it expires.

        After a restart none is known: they count as the application's until they expire.
        """

    def choose(self, name: str, change: ScaleChange, current: int, call: Call) -> int | HoldReason:
        """Protect all tasks but the victims of a scale-in. Returns the size that ECS can then come to, or a hold.

        It is above `change.size` where tasks are protected by their application. Raises TargetError.
        """
        cluster, _, service = name.partition("/")
        listed = self._api.pages("ecs", "list_tasks", "taskArns", call, {"cluster": cluster, "serviceName": service})
        tasks = list(islice(listed, _MAX_TASKS + 1))
        if len(tasks) > _MAX_TASKS:
            return HoldReason(
                "TooManyTasks",
                f"ECS service {name}: `victims` chooses among {_MAX_TASKS} tasks at most; remove it, and ECS chooses",
            )
        if len(tasks) <= change.size:
            return change.size
        asked = self._api.ask("ecs", "get_task_protection", call, {"cluster": cluster, "tasks": tasks})
        known, until = self._ours.get(name, {}), _protected(name, tasks, asked)
        ours = {arn for arn, end in until.items() if end and arn in known and abs(end - known[arn]) < _SAME}
        self._ours[name] = {arn: known[arn] for arn in ours}
        free = {arn.rpartition("/")[2]: arn for arn, end in until.items() if end is None or arn in ours}
        victims = [free[one] for one in change.victims if one in free][: max(0, len(until) - change.size)]
        size = len(until) - len(victims)
        if size >= current:
            why = "is protected by its application, or has ended"
            return HoldReason("NoVictim", f"ECS service {name}: each of the {len(change.victims)} tasks named {why}")
        stay = [arn for arn in free.values() if arn not in victims]
        self._update(name, stay, {"protectionEnabled": True, "expiresInMinutes": _MINUTES}, call)
        self._update(name, [arn for arn in victims if arn in ours], {"protectionEnabled": False}, call)
        return size

    def _update(self, name: str, tasks: Sequence[str], wanted: Mapping[str, bool | int], call: Call) -> None:
        """Protect tasks of a service, or end our protection of them. Raises TargetError."""
        for start in range(0, len(tasks), _TASKS_PER_UPDATE):
            batch = tasks[start : start + _TASKS_PER_UPDATE]
            parameters = {"cluster": name.partition("/")[0], "tasks": batch, **wanted}
            answer = self._api.ask("ecs", "update_task_protection", call, parameters)
            for arn, end in _protected(name, batch, answer).items():
                self._ours[name].pop(arn, None)
                if end is not None:
                    self._ours[name][arn] = end


def _protected(name: str, tasks: Sequence[str], answer: Raw) -> Mapping[str, datetime | None]:
    """Return when the protection of each task that has not ended expires, in UTC; None: it has none.

    Raises TargetRefused for a task that AWS does not protect, and TargetUnavailable if the answer lacks a task: ECS
    might end it in the place of a victim.
    """
    with unavailable_if_malformed(f"service {name}, task protection"):
        ended = set[str]()
        for one in answer.get("failures") or ():
            if one["reason"] != _ENDED:
                why = ", ".join(str(one[key]) for key in ("reason", "detail") if one.get(key))
                raise TargetRefused(f"ECS service {name}: AWS does not protect task {one['arn']} for `victims`: {why}")
            ended.add(one["arn"])
        found = {
            one["taskArn"]: one["expirationDate"] if one["protectionEnabled"] else None
            for one in answer["protectedTasks"]
        }
        return {arn: found[arn] for arn in tasks if arn not in ended}
