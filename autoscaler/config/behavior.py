"""The field `behavior`, with the names and limits of autoscaling/v2."""

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import Field, Strict

from autoscaler import model
from autoscaler.fields.types import Count, Ratio, Section

Seconds = Annotated[int, Strict(), Field(ge=1, le=1800)]
WindowSeconds = Annotated[int, Strict(), Field(ge=0, le=3600)]


class ScalingPolicy(Section):
    """At most `value` per period."""

    type: Literal["Pods", "Percent"]
    """Pods: replicas; Percent: of the size at the period's start."""
    value: Count
    """Above 0."""
    period_seconds: Seconds
    """1 to 1800."""

    def spec(self) -> model.ScalingPolicy:
        """Return the frozen policy."""
        return model.ScalingPolicy(model.PolicyType(self.type), self.value, timedelta(seconds=self.period_seconds))


class ScalingRules(Section):
    """Rules for one direction. The defaults are those of autoscaling/v2."""

    stabilization_window_seconds: WindowSeconds | None = None
    """0 to 3600. Default: 0 for scaleUp, the controller's downscaleStabilization for scaleDown."""
    select_policy: Literal["Max", "Min", "Disabled"] = "Max"
    """Which of several policies limits a step; Disabled: do not scale in this direction."""
    policies: Annotated[tuple[ScalingPolicy, ...], Field(min_length=1)] | None = None
    """Default: 4 Pods and 100 Percent per 15 s for scaleUp, 100 Percent per 15 s for scaleDown."""
    tolerance: Ratio | None = None
    """The deviation from the target that causes no change; 0.1 is 10 %. Default: the controller's."""

    def spec(self, default: model.ScalingRules) -> model.ScalingRules:
        """Return the frozen rules, with gaps filled from `default`."""
        seconds = self.stabilization_window_seconds
        return model.ScalingRules(
            stabilization_window=default.stabilization_window if seconds is None else timedelta(seconds=seconds),
            select_policy=model.SelectPolicy(self.select_policy),
            policies=default.policies if self.policies is None else tuple(each.spec() for each in self.policies),
            tolerance=self.tolerance,
        )


class Behavior(Section):
    """Rules for both directions. A block copied from an HPA manifest works."""

    scale_up: ScalingRules = ScalingRules()
    """Rules for scaling out."""
    scale_down: ScalingRules = ScalingRules()
    """Rules for scaling in."""

    def spec(self) -> model.Behavior:
        """Return the frozen rules."""
        return model.Behavior(
            self.scale_up.spec(model.DEFAULT_SCALE_UP), self.scale_down.spec(model.DEFAULT_SCALE_DOWN)
        )
