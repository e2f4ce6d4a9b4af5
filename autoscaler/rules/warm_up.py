"""Warm-ups: the samples of an instance do not count until a while after it was first ready.

Source: Amazon EC2 Auto Scaling User Guide, "Set the default instance warmup": a warm-up begins when an instance is in
service, and until it ends the instance's usage is not counted.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from autoscaler.document import Seconds
from autoscaler.fields.find_values import Loc
from autoscaler.fields.types import Section
from autoscaler.hpa.instances import SetAside
from autoscaler.model import Instance, Phase, TargetState
from autoscaler.quantity import format_duration
from autoscaler.rules.rule import Rule, Written
from autoscaler.rules.shown import ShownSettings
from autoscaler.target import Duration


class Keys(Section):
    """The key of an autoscaler."""

    warm_up: Duration | None = None
    """How long after an instance was first ready its samples do not count. Default: the Auto Scaling group's own."""


class ShownWarmUp(ShownSettings):
    """The autoscaler's own warm-up. The instances show the one in force."""

    warm_up_seconds: Seconds | None = None
    """How long after an instance was first ready its samples do not count; null: as long as the target itself says."""

    @classmethod
    def of_rule(cls, rule: "WarmUp") -> "ShownWarmUp":
        """Return the warm-up, if it is the autoscaler's own."""
        return cls(warm_up_seconds=rule.duration)


@dataclass(frozen=True, slots=True)
class WarmUp(Rule):
    """How long after an instance was first ready its samples do not count."""

    name = "warm_up"
    keys = Keys
    documents = (ShownWarmUp,)
    by_default = True

    duration: timedelta | None = None
    """None: the target's own."""

    @classmethod
    def configured(cls, written: Written[Keys]) -> "WarmUp | None":
        """Return the autoscaler's own warm-up."""
        return None if written.body.warm_up is None else cls(written.body.warm_up)

    @classmethod
    def hints(cls, written: Written[Keys]) -> Iterable[tuple[Loc, str]]:
        """Return the warm-up of an autoscaler without samples of instances."""
        if written.body.warm_up and not any(each.of_instances for each in written.metrics):
            yield ("warmUp",), "no metric has a sample for each instance, so a warm-up changes nothing; remove it"

    def set_aside(self, state: TargetState, now: datetime) -> SetAside | None:
        """Return the target's instances that warm up; None: there is no warm-up."""
        warm_up = state.warm_up if self.duration is None else self.duration
        if not warm_up:
            return None
        names = frozenset([each.name for each in state.instances if _is_warming(each, warm_up, now)])
        return SetAside(names, "warming up", f"before a warm-up of {format_duration(warm_up)} has ended", warm_up)


def _is_warming(instance: Instance, warm_up: timedelta, now: datetime) -> bool:
    """Return whether a running instance's warm-up has not ended. It begins when the instance is first ready, once."""
    if instance.deleting or instance.phase is not Phase.RUNNING:
        return False
    began = instance.first_ready or (instance.ready_transition if instance.ready else None)
    return began is None or now < began + warm_up
