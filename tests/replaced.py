"""A value of the model with other fields, for tests, which change values of either kind."""

import dataclasses
from typing import TypeVar

import msgspec

_T = TypeVar("_T")


def replace(value: _T, /, **changes: object) -> _T:
    """The same with these fields: of a dataclass, or of a struct, as what is made anew in each cycle is."""
    if isinstance(value, msgspec.Struct):
        return msgspec.structs.replace(value, **changes)
    changed: _T = dataclasses.replace(value, **changes)  # type: ignore[type-var]  # it is a dataclass, then
    return changed
