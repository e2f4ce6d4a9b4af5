"""Values that adapters saved of their targets."""

from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import Connection

from autoscaler.model import TargetRef
from autoscaler.record import schema
from autoscaler.record.binary import Binary
from autoscaler.record.kept import read, remove, save
from autoscaler.target import AdapterValues
from autoscaler.target.scaled import Scaled

_VALUES: Final = Binary[AdapterValues](dict[str, Any])


def read_values(
    connection: Connection, targets: Mapping[Scaled, TargetRef], damaged: dict[Scaled, str]
) -> Mapping[TargetRef, AdapterValues]:
    """Return what adapters saved of these targets. Leaves out damaged values, and adds the reason to `damaged`."""
    what = "what the adapter saved of its target"
    found = read(connection, schema.ADAPTER, targets, _VALUES.load, what, damaged)
    return {targets[scaled]: values for scaled, values in found.items()}


def save_values(connection: Connection, scaled: Scaled, values: AdapterValues | None) -> None:
    """Save the values of a target; None deletes them."""
    if values is None:
        remove(connection, schema.ADAPTER, [scaled])
    else:
        save(connection, schema.ADAPTER, {scaled: _VALUES.dump(values)})
