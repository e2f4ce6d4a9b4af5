"""Finds adapters by entry points, both this project's and third parties'."""

import sys
from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from types import new_class
from typing import Final

from autoscaler.errors import AdapterError
from autoscaler.target.protocol import Adapter

GROUP: Final = "autoscaler.adapters"


@cache
def installed() -> Mapping[str, EntryPoint]:
    """Return the entry point of every installed adapter type by name. Nothing is imported."""
    return {entry.name: entry for entry in entry_points(group=GROUP)}


@cache
def load(type_name: str) -> type[Adapter]:
    """Return the adapter class of a type. Raises AdapterError when it is not installed or fails to load.

    A class that does not derive from `Adapter` gets the default methods here.
    """
    entry = installed().get(type_name)
    if entry is None:
        known = ", ".join(sorted(installed())) or "none"
        raise AdapterError(f"no adapter of type {type_name!r} is installed; installed: {known}")
    if not entry.value.startswith("adapters."):
        for name in [name for name, module in sys.modules.items() if module is None]:
            del sys.modules[name]  # a library that `__main__` leaves out: a third party's adapter may need it
    try:
        adapter = with_defaults(entry.load())
    except Exception as error:  # foreign code: its import may raise anything
        raise AdapterError(
            f"adapter {type_name!r} ({entry.value}) fails to load: {type(error).__name__}: {error}; "
            "repair or uninstall the package that brings it"
        ) from error
    if not hasattr(adapter, "Settings"):
        raise AdapterError(f"adapter {type_name!r} ({entry.value}) has no Settings; see docs/internals/adapters.md")
    return adapter


def with_defaults(adapter: type) -> type[Adapter]:
    """Return the class itself if it derives from `Adapter`, else a subclass of both. Raises TypeError for no class."""
    if not isinstance(adapter, type):
        raise TypeError(f"expected a class, found {type(adapter).__name__}")
    if issubclass(adapter, Adapter):
        return adapter
    body = {"__module__": adapter.__module__, "__qualname__": adapter.__qualname__, "__doc__": adapter.__doc__}
    return new_class(adapter.__name__, (adapter, Adapter), exec_body=lambda names: names.update(body))
