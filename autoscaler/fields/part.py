"""The base of sections that are their own settings."""

from dataclasses import fields
from typing import Any, ClassVar

from pydantic import ConfigDict, model_validator
from pydantic.alias_generators import to_camel


class Part:
    """Base of a section that is its own settings: read as `AdapterSettings` are, made by hand without a check."""

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Any]]
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, extra="forbid"
    )

    @model_validator(mode="before")
    @classmethod
    def _leave_out(cls, data: Any) -> Any:
        if not isinstance(data, dict) or None not in data.values():
            return data
        known = {to_camel(each.name) for each in fields(cls)}
        return {key: value for key, value in data.items() if value is not None or key not in known}
