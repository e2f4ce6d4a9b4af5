"""One decision as the rows that keep it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from autoscaler.decide import remember
from autoscaler.model import (
    Autoscaler,
    Decision,
    History,
    MetricOutcome,
    Observation,
    Recommendation,
    ScaleEvent,
    TargetType,
)
from autoscaler.record import schema
from autoscaler.record.archive import POINTS, SCALER, SEEN
from autoscaler.record.codec import pack, to_micros
from autoscaler.record.memory import STANDING, Entry
from autoscaler.record.values import MetricPoint, Seen, Standing

Values: TypeAlias = dict[str, Any]

BASIS_MICROS: Final = 3_600_000_000
"""How long later decisions are packed against one body (1 h): most of what a target looks like stays the same."""


@dataclass(slots=True)
class Change:
    """What one decision makes of an autoscaler's memory, and the rows that say so."""

    entry: Entry
    history: History
    at: int
    spec: bytes
    spec_at: int
    scaler: Autoscaler
    basis: bytes
    basis_at: int
    owner: Values
    decision: Values
    slots: Sequence[Values]
    lengths: Sequence[Values]
    """Of the lists that became shorter."""
    events: Sequence[Values]
    spec_rows: Sequence[Values]

    @property
    def settles_intent(self) -> bool:
        """Whether an announced write has its outcome now."""
        return self.entry.history.unfinished is not None and self.history.unfinished is None

    def apply(self) -> None:
        """Let the memory follow, once the rows are committed."""
        entry = self.entry
        entry.history, entry.at, entry.scaler = self.history, self.at, self.scaler
        entry.spec, entry.spec_at = self.spec, self.spec_at
        entry.basis, entry.basis_at = self.basis, self.basis_at


def body_of(observation: Observation, decision: Decision) -> bytes:
    """All that one decision was made from and came to: the costly part of recording it."""
    return SEEN.dump(Seen(observation, decision))


def change_of(entry: Entry, scaler: Autoscaler, decision: Decision, body: bytes) -> Change:
    """The rows of one decision. Nothing is changed before `Change.apply`."""
    at, owner_id = to_micros(decision.now), entry.id
    history = remember(scaler, entry.history, decision)
    spec, spec_at, spec_rows = _spec(entry, scaler, at)
    continues = bool(entry.basis) and 0 < at - entry.basis_at < BASIS_MICROS
    basis, basis_at = (entry.basis, entry.basis_at) if continues else (body, at)
    key = {"autoscaler_id": owner_id, "at": at}
    return Change(
        entry=entry,
        history=history,
        at=at,
        spec=spec,
        spec_at=spec_at,
        scaler=scaler,
        basis=basis,
        basis_at=basis_at,
        owner={"owner_id": owner_id, "at": at, "spec_at": spec_at} | _standing(entry.history, history),
        decision=key
        | {
            "spec_at": spec_at,
            "dry_run": decision.dry_run,
            "current": decision.current,
            "desired": decision.desired,
            "metrics": POINTS.dump(tuple([_point(metric) for metric in decision.metrics])).decode("ascii"),
            "basis_at": basis_at if continues else None,
            "body": pack(body, basis) if continues else pack(body),
        },
        slots=[
            *_slots(owner_id, schema.RECOMMENDATION, entry.history.recommendations, history.recommendations),
            *_slots(owner_id, schema.SCALE_UP, entry.history.scale_ups, history.scale_ups),
            *_slots(owner_id, schema.SCALE_DOWN, entry.history.scale_downs, history.scale_downs),
        ],
        lengths=[
            {"owner_id": owner_id, "of_kind": kind, "length": len(after)}
            for kind, before, after in (
                (schema.RECOMMENDATION, entry.history.recommendations, history.recommendations),
                (schema.SCALE_UP, entry.history.scale_ups, history.scale_ups),
                (schema.SCALE_DOWN, entry.history.scale_downs, history.scale_downs),
            )
            if len(after) < len(before)
        ],
        events=[
            key
            | {
                "dry_run": decision.dry_run,
                "type": event.type.value,
                "reason": _plain(event.reason),
                "message": _plain(event.message),
            }
            for event in decision.events
        ],
        spec_rows=spec_rows,
    )


def _standing(before: History, after: History) -> Values:
    """Conditions and status, where they are not what is kept already: most cycles change neither."""
    if (before.conditions, before.status) == (after.conditions, after.status):
        return {}
    return {"standing": pack(STANDING.dump(Standing(after.conditions, after.status)))}


def _spec(entry: Entry, scaler: Autoscaler, at: int) -> tuple[bytes, int, Sequence[Values]]:
    """The specification's body and time, and its row when it is a new one."""
    if scaler is entry.scaler and entry.spec_at is not None:
        return entry.spec, entry.spec_at, ()
    body = SCALER.dump(scaler)
    if body == entry.spec and entry.spec_at is not None:
        return body, entry.spec_at, ()
    bounds = {"minimum": scaler.min_replicas, "maximum": scaler.max_replicas}
    return body, at, ({"autoscaler_id": entry.id, "at": at, "body": pack(body)} | bounds,)


def _slots(
    owner_id: int,
    kind: int,
    before: Sequence[Recommendation | ScaleEvent],
    after: Sequence[Recommendation | ScaleEvent],
) -> Sequence[Values]:
    """The entries that are new at their place in the list."""
    return [
        {
            "autoscaler_id": owner_id,
            "kind": kind,
            "position": position,
            "amount": entry.replicas if isinstance(entry, Recommendation) else entry.change,
            "at": to_micros(entry.at),
        }
        for position, entry in enumerate(after)
        if position >= len(before) or before[position] != entry
    ]


def _point(metric: MetricOutcome) -> MetricPoint:
    value = {
        TargetType.UTILIZATION: metric.average_utilization,
        TargetType.AVERAGE_VALUE: metric.average_value,
        TargetType.VALUE: metric.value,
    }[metric.target.type]
    return MetricPoint(metric.name, metric.target.type, metric.target.value, value)


def _plain(text: str) -> str:
    """A back end's words, without what a database cannot keep as text: NUL and unpaired surrogates."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")
