"""The values of labels.

Source of `action` and `error`: kubernetes/pkg/controller/podautoscaler, `reconcileAutoscaler` and
`computeReplicasForMetric`, and their monitor/metrics.go.
"""

from enum import StrEnum
from typing import Final

from autoscaler.errors import (
    TargetForbidden,
    TargetNotFound,
    TargetNotScalable,
    TargetNotWritten,
    TargetRefused,
    TargetUnavailable,
)
from autoscaler.model import Decision, Direction, MetricOutcome, Outcome, Reason
from autoscaler.view.verdict import direction, headline


class Action(StrEnum):
    """The direction of a size change."""

    SCALE_UP = "scale_up"
    SCALE_DOWN = "scale_down"
    NONE = "none"


_ACTIONS: Final = {Direction.OUT: Action.SCALE_UP, Direction.IN: Action.SCALE_DOWN, None: Action.NONE}


class Error(StrEnum):
    """The party that can resolve a failure, as a label."""

    SPEC = "spec"
    """The author of the configuration: a retry does not help."""
    INTERNAL = "internal"
    """Any other failure: the next cycle tries again."""
    NONE = "none"


_WORDS: Final = {
    TargetUnavailable: "unavailable",
    TargetNotWritten: "unavailable",
    TargetForbidden: "forbidden",
    TargetNotFound: "not_found",
    TargetNotScalable: "not_scalable",
    TargetRefused: "refused",
}
_BUG: Final = "bug"
FAILURES: Final = (*dict.fromkeys(_WORDS.values()), _BUG)
"""The labels of an adapter's failure."""
_AGAINST_THE_SPEC: Final = (TargetNotFound, TargetNotScalable, TargetRefused)


def action_of(size: int | None, current: int | None) -> Action:
    """Return the direction from `current` to `size`; NONE when either is unknown."""
    return _ACTIONS[direction(current, size)]


def error_of(decision: Decision) -> Error:
    """Return whether the cycle failed for this autoscaler, and who can resolve it."""
    if decision.error is None:
        return Error.NONE
    condition = headline(decision)
    conflict = condition is not None and condition.reason == Reason.BOUNDS_CONFLICT
    return Error.SPEC if conflict or isinstance(decision.outcome, _AGAINST_THE_SPEC) else Error.INTERNAL


def error_of_metric(metric: MetricOutcome) -> Error:
    """Return whether a metric failed. It is not known whether a retry helps."""
    return Error.INTERNAL if metric.failed else Error.NONE


def outcome_of(outcome: Outcome) -> str:
    """Return a write's outcome: `written`, `unchanged`, `held`, `conflict`, `proposed`, `failed`."""
    return "failed" if isinstance(outcome, Exception) else type(outcome).__name__.lower()


def failure(error: BaseException) -> str:
    """Return the label of an adapter's failure: its class of the contract, else `bug`."""
    return next((word for kind, word in _WORDS.items() if isinstance(error, kind)), _BUG)
