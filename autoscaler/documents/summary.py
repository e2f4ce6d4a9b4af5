"""One autoscaler in a line of the list."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from pydantic import Field

from autoscaler.documents import notation
from autoscaler.documents.base import Document
from autoscaler.documents.brakes import ActiveBrakeDocument
from autoscaler.documents.level import Level, level_of_condition
from autoscaler.documents.metric import MetricDocument, metrics, unmeasured, unread
from autoscaler.documents.status import ReloadStatus
from autoscaler.documents.steering import PauseDocument, SteeringDocument
from autoscaler.documents.verdict import AutoscalerState, verdict, with_pause
from autoscaler.errors import bug
from autoscaler.model import (
    Autoscaler,
    ConditionType,
    Decision,
    Direction,
    Steering,
)


class ConditionDocument(Document):
    """One of HPA's conditions."""

    type: ConditionType
    status: bool
    reason: str
    message: str
    last_transition: datetime
    """When `status` last changed; a restart of the daemon keeps it."""
    level: Level = Level.NORMAL


@dataclass(frozen=True, slots=True)
class Held:
    """Whose a configured autoscaler is, where several daemons share the state."""

    by: str | None
    """Host and process of the daemon that serves it; None: none does."""


class Summary(Document):
    """One autoscaler as the list shows it."""

    name: str
    reference: str
    """`adapter/name`."""
    labels: Mapping[str, str] = Field(default_factory=dict)
    """The configuration's; of one that left it, none."""
    state: AutoscalerState
    level: Level = Level.NORMAL
    """How much attention `state` deserves."""
    direction: Direction | None = None
    """In which the size changes or is wanted to: `out` where `desired` is above the size, `in` where it is below."""
    reason: str | None
    """Of the condition that says most."""
    message: str | None
    current: int | None
    """The size that was last read: how many there should be."""
    ready: int | None = None
    """How many of these run and are ready; null: that is not known."""
    desired: int | None
    """The size that was decided; in a dry run, of its shadow."""
    minimum: int | None
    """The bounds in force: where the configuration's, an operator's and the target's own meet."""
    maximum: int | None
    targets: str
    """The first two metrics for people, in the layout of `kubectl get hpa`'s TARGETS column."""
    metrics: tuple[MetricDocument, ...]
    conditions: tuple[ConditionDocument, ...]
    limited_by: str | None
    """What keeps it from the size that the metrics ask for, in words."""
    steering: SteeringDocument
    dry_run: bool
    configured: bool
    """Whether the configuration that runs has it; what left it is remembered for a while."""
    first_seen: datetime | None
    last_decision: datetime | None
    error: str | None
    brakes: tuple[ActiveBrakeDocument, ...] = ()
    """Those that are on, whether or not the metrics ask for what they prevent."""
    held_by: str | None = None
    """Host and process of the daemon that serves it, such as `web-1, pid 4211`; null: the state has one daemon, or
    `unheld`."""
    unheld: bool = False
    """Whether several daemons share the state and none serves it."""
    shadow: int | None = None
    """The size that a dry run's shadow had, from which `desired` was decided; null: there is none."""
    saturated: bool = False
    """Whether a dry run's target is too small for its load, so that more may be asked for than shows."""
    unmeasured: str | None = None
    """Which running instances have no usable sample: "4 of 5 instances have no sample of inflight: web-2, …"; null:
    each has one of every metric."""
    problem: str | None = None
    """What the target itself says is amiss, the first of its warnings: "worker web-3 ended with exit code 1, …"; else
    what makes a dry run's shadow doubtful."""

    @property
    def states(self) -> tuple[AutoscalerState, ...]:
        """What people are shown: `state`, and `paused` beside a more urgent one."""
        return with_pause(self.state, paused=self.steering.pause is not None)


class SteeredList(Document):
    """Several autoscalers of which one request has asked the same."""

    autoscalers: tuple[str, ...]
    """Their names: those that were paused; or those of which a pause or an override was taken back."""
    total: int
    """How many these are."""
    pause: PauseDocument | None
    """What is in force for each of them now; null after a resume."""


class AutoscalerList(Document):
    """A page of the list."""

    autoscalers: tuple[Summary, ...]
    total: int
    """How many there are on all pages."""
    refused_reload: ReloadStatus | None = None
    """The last one, if it was refused: the previous configuration stays in force."""


def summary(
    name: str,
    scaler: Autoscaler | None,
    decision: Decision | None,
    steering: Steering,
    *,
    configured: bool,
    first_seen: datetime | None = None,
    held: Held | None = None,
) -> Summary:
    """The line of one autoscaler.

    `scaler`: its configuration, None when it left it or is unknown. `decision`: the last. `steering`: in force now.
    `held`: None where the state has one daemon.
    """
    try:
        return _summary(name, scaler, decision, steering, configured=configured, first_seen=first_seen, held=held)
    except Exception as error:  # noqa: BLE001 - one that cannot be shown must not take the list with it
        unshown = _summary(name, scaler, None, steering, configured=configured, first_seen=first_seen, held=held)
        problem = f"its last decision cannot be shown: {bug(error)}"
        failing = {"state": AutoscalerState.FAILING, "level": Level.ERROR}
        return unshown.model_copy(update={**failing, "error": problem})


def _summary(
    name: str,
    scaler: Autoscaler | None,
    decision: Decision | None,
    steering: Steering,
    *,
    configured: bool,
    first_seen: datetime | None,
    held: Held | None,
) -> Summary:
    unheld = held is not None and held.by is None and configured
    specs = () if scaler is None else scaler.metrics
    told = verdict(decision, steering)
    outcomes = decision.metrics if decision is not None else ()
    low, high = _bounds(scaler, decision)
    target = scaler.target if scaler is not None else decision.target if decision is not None else None
    return Summary(
        name=name,
        reference=str(target) if target is not None else "",
        labels={} if scaler is None else dict(scaler.labels),
        state=told.state,
        level=Level.WARNING if unheld and told.level is not Level.ERROR else told.level,
        direction=told.direction,
        reason=told.condition and told.condition.reason,
        message=told.condition and told.condition.message,
        current=None if decision is None else decision.current,
        ready=None if decision is None else decision.ready,
        desired=None if decision is None else decision.desired,
        minimum=low,
        maximum=high,
        targets=notation.metrics(outcomes or tuple(map(unread, specs))),
        metrics=metrics(outcomes, specs),
        conditions=() if decision is None else conditions(decision),
        limited_by=told.limited_by,
        steering=SteeringDocument.of(steering),
        dry_run=scaler.dry_run if scaler is not None else decision is not None and decision.dry_run,
        configured=configured,
        first_seen=first_seen,
        last_decision=None if decision is None else decision.now,
        error=None if decision is None else decision.error,
        brakes=() if decision is None else tuple(map(ActiveBrakeDocument.of, decision.brakes)),
        held_by=None if held is None else held.by,
        unheld=unheld,
        shadow=None if decision is None else decision.shadow,
        saturated=decision is not None and decision.shadow_memory is not None and decision.shadow_memory.saturated,
        unmeasured=None if decision is None else unmeasured(decision.metrics),
        problem=None if decision is None else next(iter(decision.doubts), None),
    )


def summaries(
    names: Sequence[str],
    scalers: Mapping[str, Autoscaler] | None,
    latest: Mapping[str, Decision],
    steering: Mapping[str, Steering],
    now: datetime,
    first_seen: Mapping[str, datetime] | None = None,
    held: Callable[[str, Autoscaler | None], Held | None] = lambda *_: None,
) -> Sequence[Summary]:
    """Those of `names`, in their order. `scalers`: the configuration's; None: it is unknown."""
    known, seen = scalers or {}, first_seen or {}
    return [
        summary(
            name,
            known.get(name),
            latest.get(name),
            steering.get(name, Steering()).at(now),
            configured=scalers is None or name in scalers,
            first_seen=seen.get(name),
            held=held(name, known.get(name)),
        )
        for name in names
    ]


def _bounds(scaler: Autoscaler | None, decision: Decision | None) -> tuple[int | None, int | None]:
    if decision is not None and decision.minimum is not None:
        return decision.minimum, decision.maximum
    return (None, None) if scaler is None else (scaler.min_replicas, scaler.max_replicas)


def conditions(decision: Decision) -> tuple[ConditionDocument, ...]:
    """The documents of its conditions."""
    return tuple([ConditionDocument.of(each, level=level_of_condition(each, decision)) for each in decision.conditions])
