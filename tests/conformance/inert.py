"""Each rule, configured so that it cannot act: HPA's part of the decision is then HPA's own."""

from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from autoscaler.model import ConfiguredRule, Decision, Direction, ManualControls, Override, Pause, Rules
from autoscaler.rules.brakes import Brakes, active_brakes
from autoscaler.rules.brakes.loss import LossBrake
from autoscaler.rules.brakes.outside_change import OutsideChangeBrake
from autoscaler.rules.brakes.unfulfilled import UnfulfilledBrake
from autoscaler.rules.drain import DrainRule
from autoscaler.rules.fallback import Fallbacks
from autoscaler.rules.fallback.keys import MetricFallback
from autoscaler.rules.headroom import Headroom
from autoscaler.rules.idle import Idle
from autoscaler.rules.recover_size import RecoverSize
from autoscaler.rules.schedules import Schedules
from autoscaler.rules.warm_up import WarmUp
from autoscaler.windows import ScheduleEntry
from tests.conformance.compare import Pipeline
from tests.conformance.scenario import EPOCH, Scenario

NEVER: Final = timedelta(days=365)
"""Longer than every scenario."""
ALL_FIELDS: Final = frozenset(
    ("scaleTo", "currentReplicas", "desiredReplicas", "conditions", "events", "currentMetrics", "error")
)


def _everywhere(_: Scenario, __: list[Decision]) -> bool:
    return True


class Inert(NamedTuple):
    """A rule that cannot act in the scenarios to which it applies."""

    pipeline: Pipeline
    applies: Callable[[Scenario, list[Decision]], bool] = _everywhere
    """Whether it can act in no step of a scenario, given the decisions with it."""
    fields: Collection[str] = ALL_FIELDS
    """Those compared."""


def _always(rule: ConfiguredRule) -> Pipeline:
    rules = Rules([rule])
    return Pipeline(rules=lambda _: rules)


def _brakes_are_off(_: Scenario, decisions: list[Decision]) -> bool:
    return not any(active_brakes(each.remembered.rules.of) for each in decisions)


def _minimum_stays(scenario: Scenario, _: list[Decision]) -> bool:
    """An autoscaler with schedules leaves its own zero at once for a raised minReplicas."""
    return len({step.scaler.min_replicas for step in scenario.steps}) == 1


def _is_never_zero(scenario: Scenario, _: list[Decision]) -> bool:
    """An active target that can idle has an instance at least."""
    return all(step.scaler.min_replicas and (step.scale is None or step.scale[0]) for step in scenario.steps)


_LATER: Final = ScheduleEntry("later", "UTC", start=datetime(2030, 1, 1), end=datetime(2030, 1, 2), min_replicas=5)  # noqa: DTZ001
_BEFORE: Final = EPOCH - timedelta(days=1)

INERT: Final = {
    "schedules": Inert(_always(Schedules((_LATER,))), _minimum_stays),
    "manual": Inert(
        Pipeline(
            manual=ManualControls(
                Pause(Direction.BOTH, "ann", "", _BEFORE, _BEFORE), Override(7, 7, "ann", "", _BEFORE, _BEFORE)
            )
        )
    ),
    "warm_up": Inert(_always(WarmUp(timedelta(0)))),
    "fallback": Inert(
        Pipeline(rules=lambda scaler: Rules([Fallbacks((MetricFallback(NEVER, replicas=9),) * len(scaler.metrics))]))
    ),
    "headroom": Inert(_always(Headroom())),
    "recover_size": Inert(_always(RecoverSize())),
    "brakes": Inert(_always(Brakes(UnfulfilledBrake(progress_deadline=NEVER), LossBrake(percent=101)))),
    "brakes that are off": Inert(
        _always(Brakes(UnfulfilledBrake(), LossBrake(), OutsideChangeBrake(), after_outage=True)), _brakes_are_off
    ),
    "idle": Inert(
        Pipeline(rules=lambda scaler: Rules([Idle(NEVER, (None,) * len(scaler.metrics))])),
        _is_never_zero,
        ALL_FIELDS - {"currentMetrics", "events", "error"},  # it reads the metrics also where HPA needs none
    ),
    "drain": Inert(_always(DrainRule(command=("/bin/true",)))),
}
"""By the rule's name."""
