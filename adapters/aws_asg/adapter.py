"""The adapter for the Auto Scaling groups of one account and region."""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Final

from adapters.aws.ec2 import Ec2Instances
from adapters.aws.optional import OptionalReads
from adapters.aws.raw import Raw, unavailable_if_malformed
from adapters.aws.writes import Writes
from adapters.aws_asg import groups, permission
from adapters.aws_asg.breaker import Breaker
from adapters.aws_asg.hooks import Hooks
from adapters.aws_asg.lifecycle import LifecycleStage, is_known, stage_of
from adapters.aws_asg.other_autoscalers import OtherAutoscalers
from adapters.aws_asg.refreshes import Refreshes
from adapters.aws_asg.scaling import Scaling
from adapters.aws_asg.settings import AsgSettings
from autoscaler.target import (
    Adapter,
    AdapterContext,
    Call,
    Hold,
    Phase,
    ScaleChange,
    ScaleOutcome,
    TargetError,
    TargetRef,
    TargetState,
)

_NAME: Final = re.compile(r"[!-9;-~]{1,255}")
"""Source: Auto Scaling API Reference, CreateAutoScalingGroup: ASCII 33 to 126 without the colon."""


class AwsAsg(Adapter):
    """Sets the DesiredCapacity of Auto Scaling groups and changes nothing else."""

    Settings: ClassVar = AsgSettings
    target_keys: ClassVar = frozenset({"victims"})
    drain_keys: ClassVar = frozenset({"hook", "nomad", "http", "command"})
    concurrent_writes = 8
    """Concurrent writes of one connection. A write takes two or three sequential requests; eight writes use the
    account's request budget even where each request takes a second."""

    @staticmethod
    def target_problem(target: TargetRef, settings: AsgSettings) -> str | None:  # noqa: ARG004 - the contract's
        """Return why no group can have this name, or None."""
        if _NAME.fullmatch(target.name):
            return None
        return (
            f"name: {target.name!r} is not a valid Auto Scaling group name; write the name alone, not the ARN, "
            "of at most 255 ASCII characters without spaces and colons"
        )

    @staticmethod
    def place(settings: AsgSettings) -> str:
        """Return the account and the region, as far as they are known offline."""
        return settings.place(os.environ)

    def __init__(self, context: AdapterContext[AsgSettings]) -> None:
        from adapters.aws.api import AwsApi  # noqa: PLC0415 - loading the class must not import boto3

        settings = context.settings
        self._logger = context.logger
        self._api: Final = AwsApi(context.name, settings, context.clock)
        self._writes = Writes(context.name, context.memory, context.clock, context.logger)
        self._ec2 = Ec2Instances(self._api)
        self._refreshes = Refreshes(self._api, settings.on_instance_refresh)
        self._breaker = Breaker(self._api, settings.circuit_breaker, context.clock)
        self._hooks = Hooks(self._api, {target.name: hook for target, hook in context.drains.items()}, context.clock)
        self._other_autoscalers = OtherAutoscalers(self._api, context.clock)
        self._scaling = Scaling(
            self._api, self._writes, self._refreshes, self._breaker, self._hooks, settings, context.logger
        )
        self._optional = OptionalReads(context.clock, context.logger)
        self._logged_states: set[str] = set()

    def observe(self, targets: Sequence[TargetRef], call: Call) -> Mapping[TargetRef, TargetState | TargetError]:
        """Read all groups, a hundred a request; EC2 for new instances only; AWS's other lists from time to time."""
        if not targets:
            return {}
        self._writes.load()
        found, failed = groups.described(self._api, sorted({target.name for target in targets}), call)
        unread = self._learn(found.values(), call)
        read = {name: self._read(name, group, unread) for name, group in found.items()}
        seen = {name: state for name, state in read.items() if isinstance(state, TargetState)}
        self._read_optional(seen, call)
        complete = {name: self._completed(name, state, found[name]) for name, state in seen.items()}
        answers = {**failed, **read, **complete}
        return {target: answers[target.name] for target in targets}

    def scale(self, target: TargetRef, change: ScaleChange, call: Call) -> ScaleOutcome:
        """Set the group's DesiredCapacity, or terminate the chosen victims."""
        return self._scaling.scale(target.name, change, call)

    def release(self, target: TargetRef, instance: str, call: Call) -> None:
        """Complete the lifecycle action on which the instance waits, with CONTINUE."""
        self._hooks.release(target.name, instance, call)

    def extend(self, target: TargetRef, instance: str, call: Call) -> None:
        """Record a heartbeat of that action."""
        self._hooks.extend(target.name, instance, call)

    def examine(self, target: TargetRef) -> str | None:
        """Return why the group is not scaled in, as far as the last observation knows: its drain lacks a hook."""
        hold = self._hooks.hold(target.name)
        return None if hold is None else hold.message

    def try_write(self, target: TargetRef, call: Call) -> str:
        """Ask for a size above MaxSize, which AWS refuses for its value only if it would permit another."""
        group = self._scaling.look(target.name, call)
        return permission.try_write(self._api, self._refreshes, self._hooks, group, call)

    def close(self) -> None:
        """Close idle connections."""
        self._api.close()

    def _learn(self, described: Iterable[Raw], call: Call) -> Mapping[str, TargetError]:
        """Ask EC2 for new instances. Return the error of each instance whose request failed."""
        settled, changing = set[str](), set[str]()
        for group in described:
            for one in group["Instances"]:
                state = one["LifecycleState"]
                if stage_of(state) is not LifecycleStage.OUTSIDE:
                    (changing if stage_of(state) is LifecycleStage.STARTING else settled).add(one["InstanceId"])
                if not is_known(state) and state not in self._logged_states:
                    self._logged_states.add(state)
                    self._logger.warning("aws_lifecycle_state_unknown", state=state, taken_for="not ready")
        return self._ec2.learn(settled, changing, call)

    def _read(self, name: str, group: Raw, unread: Mapping[str, TargetError]) -> TargetState | TargetError:
        for one in group["Instances"]:
            if (error := unread.get(one["InstanceId"])) is not None:
                return error
        try:
            with unavailable_if_malformed(f"group {name}"):
                instances, size = groups.instances(group, self._ec2), self._writes.size(name, group["DesiredCapacity"])
                held = groups.suspended(group, "Terminate") or groups.all_protected(group, size)
                return TargetState(
                    replicas=size,
                    status_replicas=sum(one.weight for one in instances if not one.deleting),
                    instances=instances,
                    limits=groups.limits(group),
                    hold=Hold(groups.suspended(group, "Launch"), held),
                    warm_up=groups.warm_up(group),
                    reset_by=groups.reset_by(group),
                )
        except TargetError as error:
            return error

    def _read_optional(self, seen: Mapping[str, TargetState], call: Call) -> None:
        """Read what no size depends on, in the time that is left. A failure is logged; a later cycle asks again."""
        complete = {name for name, state in seen.items() if _is_complete(state)}
        self._optional.run(
            "scaling activities",
            lambda part: self._breaker.read_activities(complete, seen.keys() - complete, part),
            call,
        )
        leaving = {name for name, state in seen.items() if any(one.deleting for one in state.instances)}
        self._optional.run("lifecycle hooks", lambda part: self._hooks.read(seen.keys(), leaving, part), call)
        self._optional.run("instance refreshes", lambda part: self._refreshes.read_again(seen.keys(), part), call)
        self._optional.run("scaling policies", self._other_autoscalers.read_next_pages, call)

    def _completed(self, name: str, state: TargetState, group: Raw) -> TargetState:
        """Add the holds and warnings of refreshes, failing launches and other autoscalers."""
        refresh = self._refreshes.hold(name)
        scale_out = state.hold.scale_out or refresh.scale_out or self._breaker.hold(name)
        return replace(
            state,
            hold=Hold(scale_out, state.hold.scale_in or self._hooks.hold(name) or refresh.scale_in),
            awaiting_drain=self._hooks.waiting(group, self._ec2),
            warnings=self._other_autoscalers.warnings(name, groups.suspended_processes(group)),
        )


def _is_complete(state: TargetState) -> bool:
    """Return whether the group runs all instances that it asks for, so that no launch is pending or failing."""
    running = sum(one.weight for one in state.instances if one.phase is Phase.RUNNING and not one.deleting)
    return running >= state.replicas
