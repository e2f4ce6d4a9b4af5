"""JSON Schemas with the docstrings of fields.

pydantic's own `use_attribute_docstrings` parses the source of each class while it is imported, also where nobody asks
for a schema, and that took a quarter of the start of `autoscaler check`. Here the source is read when a schema is made.
"""

import ast
import inspect
import itertools
import textwrap
from collections.abc import Mapping
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
            found |= dict.fromkeys(inspect.get_annotations(each), "") | _own_docstrings(each)
    return found


def _own_docstrings(cls: type[Any]) -> dict[str, str]:
    try:
        source = textwrap.dedent(inspect.getsource(cls))
    except (OSError, TypeError):  # a class that was made at run time
        return {}
    definitions = [each for each in ast.parse(source).body if isinstance(each, ast.ClassDef)]
    found: dict[str, str] = {}
    for field, text in itertools.pairwise(definitions[0].body):
        match field, text:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str() as docstring)):
                found[name] = inspect.cleandoc(docstring)
    return found
