"""A dry run's shadow in its target's place: what comes next follows from it, as it follows from a target."""

import dataclasses
from typing import TYPE_CHECKING

from msgspec.structs import replace

from autoscaler.decide.shadow import observe_shadow
from autoscaler.model import Proposed, TargetState, Written

if TYPE_CHECKING:  # the command line reads documents that a daemon made, and needs no SQLAlchemy for it
    from autoscaler.record import Record


def in_place_of_target(record: "Record") -> "Record":
    """The cycle as if the shadow were the target and the decision had been written; the same where there is none."""
    made, observed, before = record.decision, record.observation, record.history
    if made.shadow is None or observed is None or before is None or not isinstance(observed.target, TargetState):
        return record
    outcome = Written(made.outcome.size) if isinstance(made.outcome, Proposed) else made.outcome
    return dataclasses.replace(
        record,
        scaler=dataclasses.replace(record.scaler, dry_run=False),
        decision=replace(made, current=made.shadow, outcome=outcome, shadow=None, shadow_memory=None),
        observation=observe_shadow(record.scaler, observed, observed.target, before, made.now).observation,
        history=replace(before, shadow=None, unfinished=None),
    )
