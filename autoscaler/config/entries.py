"""Reads each source, query and autoscaler of a file by itself, so that a wrong one hides no warning of the others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from autoscaler.config.problems import Problems
from autoscaler.config.sections import DEFAULT_SOURCES, Autoscaler
from autoscaler.config.settings import PrometheusSource
from autoscaler.fields.queries import SharedQuery
from autoscaler.fields.types import Scope
from autoscaler.rules.schedules import EntryKeys, SharedSchedules

_SectionT = TypeVar("_SectionT")


@dataclass(frozen=True, slots=True)
class Entries:
    """The entries that are right."""

    sources: Mapping[str, PrometheusSource]
    queries: Mapping[str, SharedQuery]
    autoscalers: Mapping[int, Autoscaler]
    """By index in the file."""
    schedules: SharedSchedules
    """With the entries that are right."""


def read_entries(value: Mapping[str, Any], scope: Scope, problems: Problems) -> Entries:
    """The entries in `value`, the plain value of a file. Adds what is wrong to `problems`."""

    def read(key: str, model: type[_SectionT]) -> dict[Any, _SectionT]:
        section = value.get(key)
        items = (
            section.items() if isinstance(section, dict) else enumerate(section) if isinstance(section, list) else ()
        )
        found = {name: problems.read(model, entry, (key, name), scope) for name, entry in items}
        return {name: entry for name, entry in found.items() if entry is not None}

    sources = read("prometheus", PrometheusSource) if value.get("prometheus") is not None else DEFAULT_SOURCES
    schedules: dict[str, Sequence[EntryKeys]] = {}
    section = value.get("schedules")
    for name, entries in section.items() if isinstance(section, dict) else ():
        if isinstance(entries, list):
            found = [
                problems.read(EntryKeys, each, ("schedules", name, place), scope) for place, each in enumerate(entries)
            ]
            schedules[name] = [each for each in found if each is not None]
    return Entries(sources, read("queries", SharedQuery), read("autoscalers", Autoscaler), schedules)
