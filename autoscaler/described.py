"""JSON Schemas with the docstrings of fields.

pydantic's own `use_attribute_docstrings` parses the source of each class while it is imported, also where nobody asks
for a schema, and that took a quarter of the start of `autoscaler check`. Here the source is read when a schema is made.
"""

import ast
import inspect
import itertools
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel
from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema


class DescribedSchema(GenerateJsonSchema):
    """Describes each property by the docstring below its field."""

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        """Return the schema of a pydantic model."""
        return _described(super().model_schema(schema), schema["cls"])

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        """Return the schema of a dataclass."""
        return _described(super().dataclass_schema(schema), schema["cls"])


def _described(schema: JsonSchemaValue, cls: type[Any]) -> JsonSchemaValue:
    properties: dict[str, dict[str, Any]] = schema.get("properties", {})
    for name, text in _docstrings(cls).items():
        found = properties.get(_alias(cls, name))
        if found is not None and text:
            found["description"] = text
    return schema


def _alias(cls: type[Any], name: str) -> str:
    """Return the property of a field. pydantic.fields.FieldInfo says its alias; a dataclass has it as the default."""
    if issubclass(cls, BaseModel):
        return cls.model_fields[name].alias or name if name in cls.model_fields else ""
    default = getattr(cls.__dataclass_fields__.get(name), "default", None)
    return (isinstance(default, FieldInfo) and default.alias) or to_camel(name)


def _docstrings(cls: type[Any]) -> Mapping[str, str]:
    """Return the docstring of each field. A field that a class declares again has the docstring of that class alone."""
    found: dict[str, str] = {}
    for each in reversed(cls.__mro__):
        if each is not BaseModel:
            found |= dict.fromkeys(inspect.get_annotations(each), "")
            found |= _module_docstrings(each.__module__).get(each.__qualname__, {})
    return found


@cache
def _module_docstrings(module: str) -> Mapping[str, Mapping[str, str]]:
    """Return the docstrings of fields, by the names of their classes. To read a module takes long: it is done once."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except (KeyError, OSError, TypeError):  # it has no file
        return {}
    found = dict[str, Mapping[str, str]]()
    for each in tree.body:
        if isinstance(each, ast.ClassDef):
            found[each.name] = dict(_fields(each))
    return found


def _fields(definition: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for field, text in itertools.pairwise(definition.body):
        match field, text:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str() as docstring)):
                yield name, inspect.cleandoc(docstring)
