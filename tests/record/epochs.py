"""The epochs of a ledger."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import select

from autoscaler.model import Observed, ShardName, Sighting, TargetRef
from autoscaler.record import schema
from autoscaler.record.ledger import Ledger
from autoscaler.record.state import State
from tests.record.samples import FLEET, at, rising, save, written

WEB = TargetRef(FLEET, "web-asg")

LATE: Sequence[Callable[[Ledger], object]] = (
    lambda ledger: save(ledger, written(rising(15))),
    lambda ledger: ledger.record({}, Observed({}, {WEB: {"i-0": Sighting(at(9), True, at(9))}}), []),
    lambda ledger: ledger.intend([rising(15)]),
    lambda ledger: ledger.save_adapter_memory(WEB, {"late": True}),
    lambda ledger: ledger.save_adapter_memory(WEB, None),
)
"""Every kind of commit, by a shard that hung meanwhile."""


def contents(state: State) -> dict[str, list[Any]]:
    """Return the whole content of the state."""
    with state._context.readers.begin() as connection:
        return {name: list(connection.execute(select(table))) for name, table in schema.metadata.tables.items()}


def epochs_of(state: State) -> dict[ShardName, str]:
    """Return the epochs of the shards of FLEET."""
    with state._context.readers.begin() as connection:
        found = connection.execute(select(schema.fence.c.epochs)).scalar_one()
    of, epochs = json.loads(found).get(FLEET, (0, {}))
    return {ShardName(FLEET, int(number), of): epoch for number, epoch in epochs.items()}
