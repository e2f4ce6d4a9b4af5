"""One write: a last read of the group, then either a new size or the termination of chosen victims.

AWS has no compare-and-set. A change by another client in the milliseconds between the read and the write is lost.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from adapters.aws.errors import InProgress, OutcomeUnknown, not_written
from adapters.aws.raw import Raw, unavailable_if_malformed
from adapters.aws.writes import Writes
from adapters.aws_asg import groups
from adapters.aws_asg.breaker import Breaker
from adapters.aws_asg.hooks import Hooks
from adapters.aws_asg.refreshes import Refreshes
from adapters.aws_asg.settings import AsgSettings
from adapters.aws_asg.victims import victims
from autoscaler.target import (
    Call,
    Conflict,
    Held,
    HoldReason,
    Logger,
    ScaleChange,
    ScaleOutcome,
    StateError,
    TargetError,
    TargetUnavailable,
    Written,
    check_before_write,
)

if TYPE_CHECKING:
    from adapters.aws.api import AwsApi


@dataclass(frozen=True, slots=True)
class Scaling:
    """Writes sizes of groups."""

    api: "AwsApi"
    writes: Writes
    refreshes: Refreshes
    breaker: Breaker
    hooks: Hooks
    settings: AsgSettings
    logger: Logger

    def scale(self, name: str, change: ScaleChange, call: Call) -> ScaleOutcome:
        """Return the outcome. Raises TargetError; OutcomeUnknown when AWS may have performed the write."""
        with not_written():
            self.writes.load()
            return self._scale(name, change, call)

    def _scale(self, name: str, change: ScaleChange, call: Call) -> ScaleOutcome:
        group = self.look(name, call)
        with unavailable_if_malformed(f"group {name}"):
            current = self.writes.size(name, group["DesiredCapacity"])
            unsent = check_before_write(f"group {name}", change, current)
            if unsent is not None:  # a hold costs requests, and is looked for last
                return unsent
            out = change.size > current
            held = groups.suspended(group, "Launch" if out else "Terminate")
            if not out:  # a scale-in goes no further than AWS can follow
                held = held or groups.all_protected(group, current)
                change = replace(change, size=max(change.size, min(current, groups.protected(group))))
        held = held or self.refreshes.before_write(name, call, out=out)
        held = held or (self.breaker.hold(name) if out else self.hooks.before_scale_in(name, call))
        if held is not None:
            return Held(held)
        if change.victims and not out:
            return self._end_victims(group, change, current, call)
        return self._set(name, change, current, call)

    def look(self, name: str, call: Call) -> Raw:
        """Return the group as AWS describes it now. Raises TargetError."""
        found, failed = groups.described(self.api, [name], call)
        if name in failed:
            raise failed[name]
        return found[name]

    def _set(self, name: str, change: ScaleChange, current: int, call: Call) -> ScaleOutcome:
        wanted = {
            "AutoScalingGroupName": name,
            "DesiredCapacity": change.size,
            "HonorCooldown": self.settings.honor_cooldown,
        }
        try:
            written = self.writes.set_size(
                name,
                change,
                current,
                lambda: self.api.ask("autoscaling", "set_desired_capacity", call, wanted, write=True),
            )
        except InProgress as error:
            return _busy(error)
        if change.size > current:
            self.breaker.note_scale_out(name)
        return written

    def _end_victims(self, group: Raw, change: ScaleChange, current: int, call: Call) -> ScaleOutcome:
        name = group["AutoScalingGroupName"]
        if self.writes.has(name, change.id):
            return Conflict(f"group {name}: the victims of this decision were, or may have been, terminated already")
        with unavailable_if_malformed(f"group {name}"):
            staying = groups.staying(group)
        if (unsure := self.writes.unanswered(name)) in staying:
            why = f"the termination of instance {unsure} is unconfirmed until AWS shows it, within a minute"
            return Held(HoldReason("TerminationUnconfirmed", f"group {name}: {why}"))
        with unavailable_if_malformed(f"group {name}"):
            ranked = [one for one in change.victims if one not in self.writes.ended(name)]
            chosen = victims(group, ranked, current - change.size)
        if not chosen:
            why = "protected from scale-in, already terminating, or larger than the scale-in"
            return Held(
                HoldReason("NoVictim", f"group {name}: each of the {len(change.victims)} instances named is {why}")
            )
        size = current
        for victim, weight in chosen.items():
            try:
                self.writes.ending(name, change.id, victim, size)
            except StateError as error:
                unsaved = f"the termination of {victim} cannot be recorded in the state, so it is not sent: {error}"
                return self._stopped(name, current, size, TargetUnavailable(f"group {name}: {unsaved}"))
            try:
                self._end(victim, call)
            except TargetError as error:
                if isinstance(error, OutcomeUnknown):  # the instance may be terminating
                    self.writes.unknown(name)
                else:
                    self.writes.forget(name)
                return self._stopped(name, current, size, error)
            self.writes.accepted(name, change.id, size, size - weight, ended=True)
            size -= weight
        return Written(size)

    def _end(self, victim: str, call: Call) -> None:
        self.api.ask(
            "autoscaling",
            "terminate_instance_in_auto_scaling_group",
            call,
            {"InstanceId": victim, "ShouldDecrementDesiredCapacity": True},
            write=True,
        )

    def _stopped(self, name: str, before: int, size: int, error: TargetError) -> ScaleOutcome:
        """Return the outcome when one victim could not be terminated after others were."""
        if size < before:
            self.logger.warning("aws_victims_left", group=name, size=size, error=str(error))
            return Written(size)
        if isinstance(error, InProgress):
            return _busy(error)
        raise error


def _busy(error: InProgress) -> Held:
    return Held(HoldReason("ScalingActivityInProgress", str(error)))
