"""One autoscaler in the list."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from types import MappingProxyType

from pydantic import Field

from autoscaler.document import Document
from autoscaler.errors import bug
from autoscaler.model import (
    Autoscaler,
    Decision,
    Direction,
    Limits,
    ManualControls,
)
from autoscaler.rules import RULES
from autoscaler.rules.bounds import combined
from autoscaler.rules.rule import Said
from autoscaler.rules.shown import ShownMemory
from autoscaler.view import notation
from autoscaler.view.level import Level, level_of_condition
from autoscaler.view.metric import MetricDocument, metrics, unmeasured, unread
from autoscaler.view.parts import memory_keys, with_parts
from autoscaler.view.status import ReloadStatus
from autoscaler.view.steering import PauseDocument, SteeringDocument
from autoscaler.view.story import cause_and_result, why
from autoscaler.view.verdict import (
    AutoscalerState,
    direction,
    headline,
    level,
    limited_by,
    state,
    state_word,
    with_pause,
)


class ConditionDocument(Document):
    """One of HPA's conditions, or a rule's."""

    type: str
    """"AbleToScale", "ScalingActive", "ScalingLimited", "ScaledToZero", or that of a rule: "Active"."""
    status: bool
    reason: str
    message: str
    last_transition: datetime
    """When `status` last changed. It survives a restart of the daemon."""
    level: Level = Level.NORMAL


@with_parts(ShownMemory, behind=("steering", "error"))
class Summary(Document):
    """One autoscaler of the list."""

    name: str
    reference: str
    """`adapter/name`."""
    labels: Mapping[str, str] = Field(default_factory=dict)
    """The configuration's; empty for an autoscaler that was removed from it."""
    state: AutoscalerState
    level: Level = Level.NORMAL
    """How much attention `state` deserves."""
    direction: Direction | None = None
    """`out` if `desired` is above the size, `in` if it is below."""
    reason: str | None
    """Of the condition that says most."""
    message: str | None
    why: str | None = None
    """The first line of the last decision's story, such as `inflight 13 of 10 -> 2`; null: there was no decision."""
    current: int | None
    """The size that was last read: how many there should be."""
    ready: int | None = None
    """How many of these run and are ready; null: that is not known."""
    desired: int | None
    """The size that was decided."""
    minimum: int | None
    """The bounds in force, of the configuration, its schedules, an operator and the target."""
    maximum: int | None
    targets: str
    """The first two metrics, as in the column TARGETS of `kubectl get hpa`."""
    metrics: tuple[MetricDocument, ...]
    conditions: tuple[ConditionDocument, ...]
    limited_by: str | None
    """What prevents the size that the metrics ask for."""
    steering: SteeringDocument
    dry_run: bool
    configured: bool
    """Whether the running configuration has it. The state remembers removed ones for a while."""
    first_seen: datetime | None
    last_decision: datetime | None
    error: str | None
    unmeasured: str | None = None
    """The running instances without a usable sample: "4 of 5 instances have no sample of inflight: web-2, …", and those
    that warm up; null: each has a sample of every metric that counts."""
    problem: str | None = None
    """The target's first warning, such as "worker web-3 ended with exit code 1, …"."""

    @property
    def told(self) -> str:
        """Return what explains the state and the size: a pause, the first line of the story, a warning.

        Empty without a decision.
        """
        pause, first = self.steering.pause, self.why or self.error or ""
        paused = pause.text if pause is not None and pause.text not in first else ""
        return "; ".join([text for text in (paused, first, self.problem or self.unmeasured) if text])

    @property
    def states(self) -> tuple[AutoscalerState, ...]:
        """Return `state`, and `paused` beside a more urgent one."""
        return with_pause(self.state, paused=self.steering.pause is not None)

    @property
    def state_words(self) -> tuple[str, ...]:
        """Return the words for `states`: `scaling in`; `failing` and `paused`."""
        return tuple([state_word(each, self.direction) for each in self.states])


class SteeredList(Document):
    """The result of one request for several autoscalers."""

    autoscalers: tuple[str, ...]
    """The names of those that were paused, or whose pause or override was removed."""
    total: int
    """Their number."""
    pause: PauseDocument | None
    """The pause in force for each of them; null after a resume."""


class AutoscalerList(Document):
    """A page of the list."""

    autoscalers: tuple[Summary, ...]
    total: int
    """The number on all pages."""
    refused_reload: ReloadStatus | None = None
    """The last reload, if it was refused; then the previous configuration stays in force."""
    led: bool = True
    """false: several daemons share the state and none leads, so sizes stay as they are."""


def summary(
    name: str,
    scaler: Autoscaler | None,
    decision: Decision | None,
    steering: ManualControls,
    *,
    configured: bool,
    first_seen: datetime | None = None,
) -> Summary:
    """Return the line of one autoscaler.

    `scaler`: its configuration; None: it was removed or is unknown. `decision`: the last. `steering`: in force now.
    """
    specs = () if scaler is None else scaler.metrics
    found, condition = state(decision, steering), None if decision is None else headline(decision)
    outcomes = decision.metrics if decision is not None else ()
    low, high = _bounds(scaler, decision, steering)
    target = scaler.target if scaler is not None else decision.target if decision is not None else None
    return Summary(
        name=name,
        reference=str(target) if target is not None else "",
        labels={} if scaler is None else dict(scaler.labels),
        state=found,
        level=level(found, decision),
        direction=None if decision is None else direction(decision.current, decision.desired),
        reason=condition and condition.reason,
        message=condition and condition.message,
        why=None if decision is None else _first_line(decision, steering),
        current=None if decision is None else decision.current,
        ready=None if decision is None else decision.ready,
        desired=None if decision is None else decision.desired,
        minimum=low,
        maximum=high,
        targets=notation.metrics(outcomes or tuple(map(unread, specs))),
        metrics=metrics(outcomes, specs),
        conditions=() if decision is None else conditions(decision),
        limited_by=None if decision is None else limited_by(decision),
        steering=SteeringDocument.of(steering),
        dry_run=scaler.dry_run if scaler is not None else decision is not None and decision.dry_run,
        configured=configured,
        first_seen=first_seen,
        last_decision=None if decision is None else decision.now,
        error=None if decision is None else decision.error,
        unmeasured=None if decision is None else unmeasured(decision.metrics),
        problem=None if decision is None else next(iter(decision.warnings), None),
        **memory_keys(decision),
    )


def summaries(
    names: Sequence[str],
    scalers: Mapping[str, Autoscaler] | None,
    latest: Mapping[str, Decision],
    steering: Mapping[str, ManualControls],
    now: datetime,
    first_seen: Mapping[str, datetime] = MappingProxyType({}),
) -> Sequence[Summary]:
    """Return the lines of `names`, in their order.

    `scalers`: the configuration's; None: it is unknown.
    """
    found = []
    for name in names:
        line = partial(
            summary,
            name,
            None if scalers is None else scalers.get(name),
            steering=steering.get(name, ManualControls()).at(now),
            configured=scalers is None or name in scalers,
            first_seen=first_seen.get(name),
        )
        try:
            found.append(line(latest.get(name)))
        except Exception as error:  # noqa: BLE001 - one that cannot be shown must not fail the list
            problem = f"its last decision cannot be shown: {bug(error)}"
            failing = {"state": AutoscalerState.FAILING, "level": Level.ERROR, "error": problem}
            found.append(line(None).model_copy(update=failing))
    return found


def _first_line(decision: Decision, steering: ManualControls) -> str:
    """Return the first line of a decision's story, without a pause that has ended or changed since."""
    return why(decision) if decision.manual == steering else cause_and_result(decision)


def _bounds(
    scaler: Autoscaler | None, decision: Decision | None, steering: ManualControls
) -> tuple[int | None, int | None]:
    """Return the bounds in force: the last decision's.

    If it has none, or an override has begun or ended since, the target's own limits are not known to them.
    """
    if decision is not None and decision.minimum is not None:
        same = decision.manual.override == steering.override
        if same or scaler is None:
            return decision.minimum, decision.maximum
    if scaler is None:
        return None, None
    memories = {} if decision is None else decision.remembered.rules.of
    pairs = [kind.bounds(memories.get(kind.name), steering) for kind in RULES]
    found = combined(scaler, [Said(minimum=low, maximum=high) for low, high in pairs], Limits())
    return found.minimum.size, found.maximum.size


def conditions(decision: Decision) -> tuple[ConditionDocument, ...]:
    """Return the documents of a decision's conditions."""
    return tuple([ConditionDocument.of(each, level=level_of_condition(each, decision)) for each in decision.conditions])
