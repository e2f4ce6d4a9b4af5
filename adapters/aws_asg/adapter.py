"""The two verbs on the Auto Scaling groups of one account and region."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Final

from adapters.aws_asg import groups
from adapters.aws_asg.breaker import Breaker
from adapters.aws_asg.lifecycle import LIFECYCLE, LifecycleStage, stage_of
from adapters.aws_asg.machines import Machines
from adapters.aws_asg.raw import Raw, unavailable_if_malformed
from adapters.aws_asg.refreshes import Refreshes
from adapters.aws_asg.rivals import Rivals
from adapters.aws_asg.scaling import Scaling
from adapters.aws_asg.settings import AwsSettings
from adapters.aws_asg.writes import Writes
from autoscaler.target import (
    AdapterContext,
    Call,
    Hold,
    Phase,
    ScaleChange,
    ScaleOutcome,
    StateError,
    TargetError,
    TargetRef,
    TargetState,
    TargetUnavailable,
    nothing_written,
)

_NAME: Final = re.compile(r"[!-9;-~]{1,255}")
"""Source: Auto Scaling API Reference, CreateAutoScalingGroup: ASCII 33 to 126 without the colon."""
_NAMES_A_CALL: Final = 100


class AwsAsg:
    """Sizes Auto Scaling groups: their DesiredCapacity, and nothing else of them."""

    Settings: ClassVar = AwsSettings
    target_keys: ClassVar[frozenset[str]] = frozenset({"victims"})
    concurrent_writes: ClassVar[int] = 8
    """A write takes two or three requests, one after another; so many writes at a time spend the account's budget of
    requests even where each takes a second."""

    @staticmethod
    def target_problem(target: TargetRef, settings: AwsSettings) -> str | None:  # noqa: ARG004 - the contract's
        """A name that no group can have."""
        if _NAME.fullmatch(target.name):
            return None
        return (
            f"name: {target.name!r} is not a valid Auto Scaling group name; write the name alone, not the ARN, "
            "of at most 255 ASCII characters without spaces and colons"
        )

    def __init__(self, context: AdapterContext[AwsSettings]) -> None:
        from adapters.aws_asg.api import AwsApi  # noqa: PLC0415 - loading the class must not import boto3

        settings = context.settings
        self._clock = context.clock
        self._logger = context.logger
        self._api: Final = AwsApi(context.name, settings, context.clock)
        self._writes = Writes(context.name, context.memory, context.clock, context.logger)
        self._machines = Machines(self._api)
        self._refreshes = Refreshes(self._api, settings.on_instance_refresh)
        self._breaker = Breaker(self._api, settings.circuit_breaker, context.clock)
        self._rivals = Rivals(self._api, context.clock)
        self._scaling = Scaling(
            self._api, self._writes, self._machines, self._refreshes, self._breaker, settings, context.logger
        )
        self._unheard_of: set[str] = set()
        self._logged: dict[str, str] = {}
        """A request that fails -> the class of the error that was last logged for it."""

    def observe(self, targets: Sequence[TargetRef], call: Call) -> Mapping[TargetRef, TargetState | TargetError]:
        """All groups a hundred a call; EC2 is asked for instances that are new, AWS's other lists now and then."""
        if not targets:
            return {}
        self._recall_writes()
        found = self._describe(sorted({target.name for target in targets}), call)
        failed = self._learn([group for group in found.values() if not isinstance(group, TargetError)], call)
        read = {name: self._read(name, group, failed) for name, group in found.items()}
        seen = {name: state for name, state in read.items() if isinstance(state, TargetState)}
        self._look_aside(seen, call)
        complete = {name: self._completed(name, state) for name, state in seen.items()}
        return {target: complete.get(target.name) or read[target.name] for target in targets}

    def scale(self, target: TargetRef, change: ScaleChange, call: Call) -> ScaleOutcome:
        """Set the group's DesiredCapacity, or end named victims."""
        with nothing_written():
            self._recall_writes()
        return self._scaling.scale(target.name, change, call)

    def close(self) -> None:
        """Close idle connections."""
        self._api.close()

    def _recall_writes(self) -> None:
        try:
            self._writes.load()
        except StateError as error:
            raise TargetUnavailable(
                f"the last writes cannot be read from the state, so no size is certain: {error}"
            ) from None

    def _describe(self, names: Sequence[str], call: Call) -> dict[str, Raw | TargetError]:
        """What AWS says of each group, or why it does not."""
        found: dict[str, Raw | TargetError] = {}
        for start in range(0, len(names), _NAMES_A_CALL):
            batch = names[start : start + _NAMES_A_CALL]
            found |= {name: groups.not_found(name, self._api.region) for name in batch}
            try:
                for group in self._api.pages(
                    "autoscaling",
                    "describe_auto_scaling_groups",
                    "AutoScalingGroups",
                    call,
                    # Without MaxRecords AWS takes fifty names.
                    {"AutoScalingGroupNames": batch, "MaxRecords": _NAMES_A_CALL},
                ):
                    with unavailable_if_malformed("describe_auto_scaling_groups"):
                        if group["AutoScalingGroupName"] in found:
                            found[group["AutoScalingGroupName"]] = groups.scalable(group)
            except TargetError as error:
                found |= dict.fromkeys(batch, error)
        return {name: found[name] for name in names}

    def _learn(self, described: Iterable[Raw], call: Call) -> Mapping[str, TargetError]:
        """Ask EC2 for what is new; instance or type -> why it could not be asked for."""
        settled, changing, types = set[str](), set[str](), set[str]()
        for group in described:
            types |= groups.by_types(group)
            for one in group["Instances"]:
                state = one["LifecycleState"]
                if stage_of(state) is not LifecycleStage.OUTSIDE:
                    (changing if stage_of(state) is LifecycleStage.STARTING else settled).add(one["InstanceId"])
                if state not in LIFECYCLE and state not in self._unheard_of:
                    self._unheard_of.add(state)
                    self._logger.warning("aws_lifecycle_state_unknown", state=state, taken_for="not ready")
        return {**self._machines.learn(settled, changing, call), **self._machines.learn_types(types, call)}

    def _read(
        self, name: str, group: Raw | TargetError, failed: Mapping[str, TargetError]
    ) -> TargetState | TargetError:
        if isinstance(group, TargetError):
            return group
        for one in group["Instances"]:
            error = failed.get(one["InstanceId"]) or failed.get(one.get("InstanceType"))
            if error is not None:
                return error
        try:
            with unavailable_if_malformed(f"group {name}"):
                instances = groups.instances(group, self._machines)
                return TargetState(
                    replicas=self._writes.size(name, group["DesiredCapacity"]),
                    status_replicas=sum(one.weight for one in instances if not one.deleting),
                    instances=instances,
                    limits=groups.limits(group),
                    hold=Hold(groups.suspended(group, "Launch"), groups.suspended(group, "Terminate")),
                )
        except TargetError as error:
            return error

    def _look_aside(self, seen: Mapping[str, TargetState], call: Call) -> None:
        """Ask what no size depends on, while there is time; what fails is logged, and asked again later."""
        whole = {name for name, state in seen.items() if _runs_whole(state)}
        self._aside("scaling activities", lambda part: self._breaker.look(whole, seen.keys() - whole, part), call)
        self._aside("instance refreshes", lambda part: self._refreshes.look_again(seen.keys(), part), call)
        self._aside("scaling policies", self._rivals.look, call)

    def _aside(self, what: str, look: Callable[[Call], None], call: Call) -> None:
        """Within half of the time that is left: what is known of the groups must not come too late for it."""
        now = self._clock.monotonic()
        try:
            look(replace(call, deadline=now + (call.deadline - now) / 2))
        except TargetError as error:
            if self._logged.get(what) != type(error).__name__:
                self._logger.warning("aws_question_failed", about=what, error=str(error))
            self._logged[what] = type(error).__name__
        else:
            self._logged.pop(what, None)

    def _completed(self, name: str, state: TargetState) -> TargetState:
        """With what else holds the group, and what its operator should know."""
        refresh = self._refreshes.hold(name)
        scale_out = state.hold.scale_out or refresh.scale_out or self._breaker.hold(name)
        return replace(
            state,
            hold=Hold(scale_out, state.hold.scale_in or refresh.scale_in),
            warnings=self._rivals.warnings(name),
        )


def _runs_whole(state: TargetState) -> bool:
    """Whether the group has running all that it asks for: then no launch is under way or failing."""
    running = sum(one.weight for one in state.instances if one.phase is Phase.RUNNING and not one.deleting)
    return running >= state.replicas
