"""What a target itself says: that a direction is held, and which sizes it allows."""

from autoscaler.model import ConditionType, Hold, Limits
from tests.decide.build import first_decision, state, value
from tests.hpa.build import DEPLOYING, UP, condition
from tests.replaced import replace


def test_a_held_direction_is_not_written() -> None:
    held = replace(state(2), hold=Hold(scale_out=DEPLOYING))
    decision = first_decision(UP, held, value(60_000))
    assert decision.change is None
    assert decision.desired == 4
    assert condition(decision, ConditionType.ABLE_TO_SCALE) == (False, "DeploymentActive")


def test_a_hold_does_not_affect_the_other_direction() -> None:
    held = replace(state(2), hold=Hold(scale_in=DEPLOYING))
    assert first_decision(UP, held, value(60_000)).change is not None


def test_the_targets_own_limits_narrow_the_bounds_and_are_named() -> None:
    limited = replace(state(2), limits=Limits(1, 3, "the group's MinSize and MaxSize"))
    decision = first_decision(UP, limited, value(600_000))
    assert decision.desired == 3
    assert condition(decision, ConditionType.SCALING_LIMITED) == (True, "TooManyReplicas")
    assert any("the group's MinSize and MaxSize" in step.detail for step in decision.trace)


def test_bounds_without_a_size_in_common_are_a_condition() -> None:
    limited = replace(state(2), limits=Limits(200, 300, "the group's MinSize and MaxSize"))
    decision = first_decision(UP, limited, value(60_000))
    assert condition(decision, ConditionType.ABLE_TO_SCALE) == (False, "BoundsConflict")
    assert decision.change is None
