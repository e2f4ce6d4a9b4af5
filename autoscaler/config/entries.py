"""The entries of a file's sections, each read by itself: a wrong one hides nothing of the others."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from pydantic import Field, ValidationError

from autoscaler.config.document import Loc
from autoscaler.config.fields import Scope, Section, Text
from autoscaler.config.problems import Problems
from autoscaler.config.queries import SharedQuery
from autoscaler.config.sections import DEFAULT_SOURCES, Autoscaler, File, Prometheus

_SectionT = TypeVar("_SectionT", bound=Section)


class Frame(File):
    """The file apart from what its entries hold."""

    prometheus: Annotated[Mapping[Text, Any], Field(min_length=1)] = DEFAULT_SOURCES
    queries: Mapping[Text, Any] = Field(default_factory=dict)
    autoscalers: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Entries:
    """The entries that are right."""

    sources: Mapping[str, Prometheus]
    queries: Mapping[str, SharedQuery]
    autoscalers: Mapping[int, Autoscaler]
    """By their place in the file."""


def read_entries(value: Mapping[str, Any], scope: Scope, problems: Problems) -> Entries:
    """The entries in `value`, the plain value of a file. Adds what is wrong to `problems`."""

    def read(key: str, model: type[_SectionT]) -> dict[Any, _SectionT]:
        section = value.get(key)
        items = (
            section.items() if isinstance(section, dict) else enumerate(section if isinstance(section, list) else ())
        )
        found = {name: validated(model, entry, (key, name), scope, problems) for name, entry in items}
        return {name: entry for name, entry in found.items() if entry is not None}

    sources = read("prometheus", Prometheus) if "prometheus" in value else DEFAULT_SOURCES
    return Entries(sources, read("queries", SharedQuery), read("autoscalers", Autoscaler))


def validated(model: type[_SectionT], value: Any, loc: Loc, scope: Scope, problems: Problems) -> _SectionT | None:
    """What stands at `loc`, as `model` reads it; None: it is wrong, which is added to `problems`."""
    try:
        return model.model_validate(value, context=scope, by_alias=True, by_name=False)
    except ValidationError as error:
        problems.add_validation(error, model, loc)
        return None
