"""Finds adapters by entry points, both this project's and third parties'."""

from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Final, cast

from autoscaler.errors import AdapterError
from autoscaler.target.protocol import AdapterType

GROUP: Final = "autoscaler.adapters"


@cache
def installed() -> Mapping[str, EntryPoint]:
    """Return the entry point of every installed adapter type by name. Nothing is imported."""
    return {entry.name: entry for entry in entry_points(group=GROUP)}


@cache
def load(type_name: str) -> AdapterType:
    """Return the adapter class of a type. Raises AdapterError when it is not installed or fails to load."""
    entry = installed().get(type_name)
    if entry is None:
        known = ", ".join(sorted(installed())) or "none"
        raise AdapterError(f"no adapter of type {type_name!r} is installed; installed: {known}")
    try:
        adapter = entry.load()
    except Exception as error:  # foreign code: its import may raise anything
        raise AdapterError(
            f"adapter {type_name!r} ({entry.value}) fails to load: {type(error).__name__}: {error}; "
            "repair or uninstall the package that brings it"
        ) from error
    for attribute in ("Settings", "target_keys", "target_problem"):
        if not hasattr(adapter, attribute):
            raise AdapterError(
                f"adapter {type_name!r} ({entry.value}) has no {attribute}; see docs/internals/adapters.md"
            )
    return cast("AdapterType", adapter)
