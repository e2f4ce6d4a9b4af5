"""Describes every table, and every type that the state holds as bytes: its fields, their order, types and defaults."""

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import inspect

import autoscaler.record
from autoscaler.record import schema
from autoscaler.record.binary import Binary
from autoscaler.rules import RULES


def persisted() -> list[str]:
    """Return a line for each column, and for each field of each persisted type, sorted by table and by type."""
    known: dict[str, list[str]] = {}
    for kind in _kinds():
        _describe(inspect.type_info(kind), known)
    types = [f"{name}.{line}" for name in sorted(known) for line in known[name]]
    return [*_tables(), *types]


def _tables() -> Iterator[str]:
    for name, table in sorted(schema.metadata.tables.items()):
        for column in table.columns:
            key = " key" if column.primary_key else ""
            yield f"table {name}.{column.name}: {column.type}{' or NULL' if column.nullable else ''}{key}"


def _kinds() -> Iterator[Any]:
    for module in pkgutil.iter_modules(autoscaler.record.__path__):
        for value in vars(importlib.import_module(f"autoscaler.record.{module.name}")).values():
            if isinstance(value, Binary):
                yield value._kind
    for rule in RULES:
        yield rule
        if rule.memory is not None:
            yield rule.memory


def _describe(info: inspect.Type, known: dict[str, list[str]]) -> str:
    """Return a type as text. Adds the types that it refers to to `known`, with their fields."""
    match info:
        case inspect.StructType(cls=cls, fields=fields) | inspect.DataclassType(cls=cls, fields=fields):
            name = f"{cls.__module__}.{cls.__qualname__}"
            if name not in known:
                known[name] = lines = []
                form = "array" if isinstance(info, inspect.StructType) and info.array_like else "map"
                lines.append(f"({form})")
                lines += [f"{each.encode_name}: {_describe(each.type, known)}{_default(each)}" for each in fields]
            return name
        case inspect.EnumType(cls=cls):
            return f"{cls.__name__}({', '.join(repr(each.value) for each in cls)})"
        case inspect.UnionType(types=types):
            return " | ".join(_describe(each, known) for each in types)
        case inspect.DictType(key_type=key, value_type=value):
            return f"dict[{_describe(key, known)}, {_describe(value, known)}]"
        case inspect.TupleType(item_types=items):
            return f"tuple[{', '.join(_describe(each, known) for each in items)}]"
        case (
            inspect.ListType(item_type=item)
            | inspect.VarTupleType(item_type=item)
            | inspect.FrozenSetType(item_type=item)
            | inspect.SetType(item_type=item)
        ):
            return f"{type(info).__name__.removesuffix('Type').lower()}[{_describe(item, known)}]"
        case inspect.CustomType(cls=cls):
            return f"{cls.__module__}.{cls.__qualname__}"
    return type(info).__name__.removesuffix("Type").lower()


def _default(field: inspect.Field) -> str:
    if field.required:
        return ""
    made = field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
    return f" = {made!r}"
