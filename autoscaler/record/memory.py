"""What every autoscaler remembers, held in memory and equal to what was committed."""

from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from typing import Final, TypeAlias

from sqlalchemy import Connection, select

from autoscaler.model import Autoscaler, History, Intent, Recommendation, ScaleEvent, Status, TargetRef
from autoscaler.record import schema
from autoscaler.record.codec import Codec, from_micros, unpack
from autoscaler.record.values import Standing

STANDING: Final = Codec(Standing)
TARGET: Final = Codec(TargetRef)

Key: TypeAlias = tuple[str, str]
"""An autoscaler's name and its target: one that is pointed at another target starts fresh."""


def key_of(name: str, target: TargetRef) -> Key:
    """The key under which an autoscaler's history is kept."""
    return name, target_text(target)


@lru_cache(maxsize=65_536)  # every decision asks for it several times a cycle
def target_text(target: TargetRef) -> str:
    """A target as its column and as a key: JSON."""
    return TARGET.dump(target).decode("ascii")


@dataclass(slots=True)
class Entry:
    """One autoscaler's memory."""

    id: int
    at: int
    """When it was last decided about."""
    history: History
    spec: bytes = b""
    """The specification that was last recorded."""
    spec_at: int | None = None
    scaler: Autoscaler | None = None
    """The value that `spec` was dumped from, in this process."""
    basis: bytes = b""
    """The body of the decision that later ones are packed against; empty: the next one starts anew."""
    basis_at: int = 0


def load(connection: Connection) -> dict[Key, Entry]:
    """Everything remembered, in four queries."""
    owner, spec, slot, intent = schema.autoscaler, schema.spec, schema.slot, schema.intent
    slots: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for row in connection.execute(select(slot).order_by(slot.c.autoscaler_id, slot.c.kind, slot.c.position)):
        slots[row.autoscaler_id, row.kind].append((row.amount, row.at))
    intents = {
        row.autoscaler_id: Intent(row.size, row.decided_from, from_micros(row.at))
        for row in connection.execute(select(intent))
    }
    specs = {
        row.autoscaler_id: unpack(row.body)
        for row in connection.execute(
            select(spec.c.autoscaler_id, spec.c.body).join(
                owner, (owner.c.id == spec.c.autoscaler_id) & (owner.c.spec_at == spec.c.at)
            )
        )
    }
    entries = {}
    for row in connection.execute(select(owner)):
        standing = STANDING.load(unpack(row.standing)) if row.standing is not None else Standing((), Status())
        recommendations = sorted(slots[row.id, schema.RECOMMENDATION], key=itemgetter(1))  # older versions overwrote
        ups, downs = slots[row.id, schema.SCALE_UP], slots[row.id, schema.SCALE_DOWN]
        history = History(
            tuple([Recommendation(size, from_micros(at)) for size, at in recommendations]),
            tuple([ScaleEvent(change, from_micros(at)) for change, at in ups]),
            tuple([ScaleEvent(change, from_micros(at)) for change, at in downs]),
            standing.conditions,
            standing.status,
            intents.get(row.id),
            at=from_micros(row.at),
        )
        entries[row.name, row.target] = Entry(row.id, row.at, history, specs.get(row.id, b""), row.spec_at)
    return entries
