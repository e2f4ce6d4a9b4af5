"""Values that adapters saved of their targets: the table `adapter_memory`."""

from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import Connection, delete, select

from autoscaler.model import TargetRef
from autoscaler.record import schema
from autoscaler.record.binary import Binary
from autoscaler.record.sighting_cache import by_scaled
from autoscaler.target import AdapterValues
from autoscaler.target.scaled import Scaled

_TABLE: Final = schema.adapter_memory
_VALUES: Final = Binary[AdapterValues](dict[str, Any])


def read_values(
    connection: Connection, targets: Mapping[Scaled, TargetRef], damaged: dict[Scaled, str]
) -> Mapping[TargetRef, AdapterValues]:
    """Return what adapters saved of these targets. Leaves out damaged values, and adds the reason to `damaged`."""
    query = select(_TABLE)
    if (few := schema.few(targets)) is not None:
        query = query.where(_TABLE.c.scaled.in_(few))
    mine = [row for row in connection.execute(query) if row.scaled in targets]
    found = by_scaled(mine, lambda row: _VALUES.load(row.body), "what the adapter saved of its target", damaged)
    return {targets[scaled]: values for scaled, values in found.items()}


def save_values(connection: Connection, scaled: Scaled, values: AdapterValues | None) -> None:
    """Save the values of a target; None deletes them."""
    if values is None:
        connection.execute(delete(_TABLE).where(_TABLE.c.scaled == scaled))
    else:
        schema.upsert(connection, _TABLE, [{"scaled": scaled, "body": _VALUES.dump(values)}])
