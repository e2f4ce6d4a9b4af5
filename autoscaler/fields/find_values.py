"""Finds values of one type in a section."""

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeAlias, TypeVar

from pydantic import BaseModel
from pydantic.alias_generators import to_camel

Loc: TypeAlias = tuple[str | int, ...]
"""The keys and indices that lead from the top of the document to a value."""

_T = TypeVar("_T")


def keys_of(kind: Any) -> Mapping[str, tuple[str, Any]]:
    """Return a section's attributes -> key in the file, and type. Empty for a type that is no section."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return {name: (field.alias or name, field.annotation) for name, field in kind.model_fields.items()}
    if isinstance(kind, type) and is_dataclass(kind):
        return {each.name: (to_camel(each.name), each.type) for each in fields(kind)}
    return {}


def find_values(value: Any, kind: type[_T] | tuple[type[_T], ...], loc: Loc) -> Iterator[tuple[Loc, _T]]:
    """Yield every value of that type, or of one of them, in `value`, with its place. `loc`: the place of `value`."""
    if isinstance(value, kind):
        yield loc, value
    elif keys := keys_of(type(value)):
        for name, (key, _) in keys.items():
            yield from find_values(getattr(value, name), kind, (*loc, key))
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from find_values(item, kind, (*loc, key))
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from find_values(item, kind, (*loc, index))
