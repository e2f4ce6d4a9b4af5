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
from autoscaler.model import Decision, MetricOutcome, Outcome, Reason


class Action(StrEnum):
    """Which way a size went, or a metric wanted it to go."""

    SCALE_UP = "scale_up"
    SCALE_DOWN = "scale_down"
    NONE = "none"


class Error(StrEnum):
    """Who can end a failure, as a label."""

    SPEC = "spec"
    """Whoever wrote the configuration: a retry cannot help."""
    INTERNAL = "internal"
    """Anything else: the next cycle tries again."""
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
"""What an adapter's failure may be called."""
_AGAINST_THE_SPEC: Final = (TargetNotFound, TargetNotScalable, TargetRefused)


def towards(size: int | None, current: int | None) -> Action:
    """The way from one size to another; NONE when either is unknown."""
    if size is None or current is None or size == current:
        return Action.NONE
    return Action.SCALE_UP if size > current else Action.SCALE_DOWN


def error_of(decision: Decision) -> Error:
    """Whether the cycle failed for this autoscaler, and by whose doing."""
    if decision.error is None:
        return Error.NONE
    conflict = any(condition.reason == Reason.BOUNDS_CONFLICT for condition in decision.conditions)
    return Error.SPEC if conflict or isinstance(decision.outcome, _AGAINST_THE_SPEC) else Error.INTERNAL


def error_of_metric(metric: MetricOutcome) -> Error:
    """Whether a metric failed. Its text says why; whether a retry helps is not known."""
    return Error.INTERNAL if metric.failed else Error.NONE


def outcome_of(outcome: Outcome) -> str:
    """What came of a write: `written`, `unchanged`, `held`, `conflict`, `proposed`, `failed`."""
    return "failed" if isinstance(outcome, Exception) else type(outcome).__name__.lower()


def failure(error: BaseException) -> str:
    """What an adapter's failure is called: by the class that says what to do next; `bug` for what is none of them."""
    return next((word for kind, word in _WORDS.items() if isinstance(error, kind)), _BUG)
