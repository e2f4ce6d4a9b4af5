"""Reads each source, query and autoscaler of a file by itself, so that a wrong one hides no warning of the others."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from autoscaler.config.problems import Problems
from autoscaler.config.sections import DEFAULT_SOURCES, Autoscaler
from autoscaler.config.settings import PrometheusSource
from autoscaler.fields.queries import SharedQuery
from autoscaler.fields.types import Scope
from autoscaler.rules.schedules.keys import EntryKeys, SharedSchedules

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

    def read(model: type[_SectionT], entries: Iterable[tuple[Any, Any]], *loc: str) -> dict[Any, _SectionT]:
        found = {name: problems.read(model, entry, (*loc, name), scope) for name, entry in entries}
        return {name: entry for name, entry in found.items() if entry is not None}

    given, shared = value.get("prometheus"), value.get("schedules")
    sources = DEFAULT_SOURCES if given is None else read(PrometheusSource, _named(given), "prometheus")
    schedules = {
        name: list(read(EntryKeys, _listed(entries), "schedules", name).values())
        for name, entries in _named(shared)
        if isinstance(entries, list)
    }
    queries = read(SharedQuery, _named(value.get("queries")), "queries")
    autoscalers = read(Autoscaler, _listed(value.get("autoscalers")), "autoscalers")
    return Entries(sources, queries, autoscalers, schedules)


def _named(section: Any) -> Iterable[tuple[str, Any]]:
    """Return the entries of a mapping. A section of another form is one problem, not one for each of its entries."""
    return section.items() if isinstance(section, dict) else ()


def _listed(section: Any) -> Iterable[tuple[int, Any]]:
    """Return the entries of a list, likewise."""
    return enumerate(section) if isinstance(section, list) else ()
