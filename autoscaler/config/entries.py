"""Reads each source, query and autoscaler of a file by itself, so that a wrong one hides no warning of the others."""

from collections.abc import Mapping
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

    def read(model: type[_SectionT], section: Any, *loc: str) -> dict[Any, _SectionT]:
        items = (
            section.items() if isinstance(section, dict) else enumerate(section) if isinstance(section, list) else ()
        )
        found = {name: problems.read(model, entry, (*loc, name), scope) for name, entry in items}
        return {name: entry for name, entry in found.items() if entry is not None}

    given, shared = value.get("prometheus"), value.get("schedules")
    sources = DEFAULT_SOURCES if given is None else read(PrometheusSource, given, "prometheus")
    schedules = {
        name: list(read(EntryKeys, entries, "schedules", name).values())
        for name, entries in (shared.items() if isinstance(shared, dict) else ())
        if isinstance(entries, list)
    }
    queries = read(SharedQuery, value.get("queries"), "queries")
    return Entries(sources, queries, read(Autoscaler, value.get("autoscalers"), "autoscalers"), schedules)
