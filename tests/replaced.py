"""Changes fields of a value of the model."""

import dataclasses
from typing import TypeVar

import msgspec

_T = TypeVar("_T")


def replace(value: _T, /, **changes: object) -> _T:
    """Return a dataclass or a struct with these fields changed."""
    if isinstance(value, msgspec.Struct):
        return msgspec.structs.replace(value, **changes)
    changed: _T = dataclasses.replace(value, **changes)  # type: ignore[type-var]  # it is a dataclass, then
    return changed
