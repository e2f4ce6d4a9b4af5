"""Looks for values of one type in a section that was read."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel

from autoscaler.config.document import Loc

_T = TypeVar("_T")


def within(value: Any, kind: type[_T], loc: Loc) -> Iterator[tuple[Loc, _T]]:
    """Every value of that type in `value`, which stands at `loc`, each with where it stands."""
    if isinstance(value, kind):
        yield loc, value
    elif isinstance(value, BaseModel):
        for name, field in type(value).model_fields.items():
            yield from within(getattr(value, name), kind, (*loc, field.alias or name))
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from within(item, kind, (*loc, key))
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from within(item, kind, (*loc, index))
