"""Headroom: spare instances beside those that a metric asks for.

The metric's demand is taken without the tolerance, and the tolerance then compares demand and spare instances together
with the current size. Otherwise a metric within its tolerance would propose the current size, and the spare instances
would be added to it again in every cycle.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Final, Self

from msgspec.structs import replace
from pydantic import Field, Strict, model_validator

from autoscaler.fields.types import Count, Section
from autoscaler.hpa.proposals import Measured, tolerances_of
from autoscaler.model import HPA, MAX_SIZE, Autoscaler, Step, TargetState
from autoscaler.rules.rule import Rule, Written
from autoscaler.text import count

HEADROOM: Final = "Headroom"
"""Of a step: spare instances are added to what a metric asks for."""


class HeadroomKeys(Section):
    """Spare instances: exactly one of replicas and percent."""

    replicas: Count | None = None
    """The number of spare instances."""
    percent: Annotated[int, Strict(), Field(ge=1, le=1000)] | None = None
    """The share of what the metric asks for, in percent, rounded up; 1 to 1000."""

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if (self.replicas is None) is (self.percent is None):
            raise ValueError("expected exactly one of replicas and percent; write `{replicas: 2}` or `{percent: 20}`")
        return self


class Keys(Section):
    """The key of an autoscaler."""

    headroom: HeadroomKeys | None = None
    """Spare instances beside those that the metrics ask for. Default: none."""


@dataclass(frozen=True, slots=True)
class Headroom(Rule):
    """How many spare instances there are: `replicas`, or a share of the demand."""

    name = "headroom"
    keys = Keys

    replicas: int = 0
    """0: `percent` is given."""
    percent: int = 0
    """Whole percents of the demand; 0: `replicas` is given."""

    @classmethod
    def configured(cls, written: Written[Keys]) -> "Headroom | None":
        """Return the headroom; None: there is none."""
        own = written.body.headroom
        return None if own is None else cls(own.replicas or 0, own.percent or 0)

    @property
    def text(self) -> str:
        """The spare instances."""
        return count(self.replicas, "spare instance") if self.replicas else f"{self.percent} % spare instances"

    def proposed(self, scaler: Autoscaler, state: TargetState, measured: Measured) -> Measured:
        """Return the metric's demand with the spare instances, or the current size if that is within the tolerance.

        A metric that asks for nothing gets none, so that a target can go to zero. Nor does one that keeps the current
        size for want of samples: it would grow in every cycle.
        """
        asked, demand = measured.outcome.proposal, measured.demand
        spare = self.replicas or math.ceil((demand or 0) * self.percent / 100)
        if asked is None or not demand or not spare or measured.source != HPA:
            return measured
        wanted, size = min(demand + spare, MAX_SIZE), state.replicas
        detail = f"{demand} needed and {spare} spare"
        tolerances = tolerances_of(scaler)
        if size and tolerances.holds(wanted / size):
            wanted, detail = size, f"{detail}, {tolerances.words(wanted / size)}"
        outcome = replace(measured.outcome, proposal=wanted, detail=f"{measured.outcome.detail}; {detail}")
        step = Step(self.name, HEADROOM, asked, wanted, detail)
        return replace(measured, outcome=outcome, steps=(*measured.steps, step))
