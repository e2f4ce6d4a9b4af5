"""The base of every document: frozen, typed, camelCase in JSON; its docstrings describe it in OpenAPI."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated, Any, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, PlainSerializer, WithJsonSchema
from pydantic.alias_generators import to_camel

_mirrored: dict[tuple[type, type], Sequence[str]] = {}
"""Document and type of the model -> the fields that both have."""


class Document(BaseModel):
    """A value that is shown. The daemon sends it as JSON, and the command line reads it back.

    Readers ignore unknown keys, so that an older command line understands a newer daemon.
    """

    model_config = ConfigDict(
        frozen=True,
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
        json_schema_serialization_defaults_required=True,
        from_attributes=True,
        defer_build=True,  # the build takes memory, and a daemon that nobody asks needs few documents
    )

    @classmethod
    def of(cls, value: object, /, **others: Any) -> Self:
        """Return the document of a value of the model: the fields of the same names, and `others`."""
        names = _mirrored.get((cls, type(value)))
        if names is None:
            names = _mirrored[cls, type(value)] = tuple(name for name in cls.model_fields if hasattr(value, name))
        return cls(**({name: getattr(value, name) for name in names if name not in others} | others))


Seconds: TypeAlias = Annotated[
    timedelta,
    PlainSerializer(timedelta.total_seconds, return_type=float),
    WithJsonSchema({"type": "number", "description": "In seconds."}),
]
"""A duration; in JSON a number of seconds."""


class QueryDocument(Document):
    """A query."""

    expr: str
    prometheus: str
    match: dict[str, str]
    link: str | None = None
    """The source's page for the expression; null: the source is not configured, or the address would be too long."""
