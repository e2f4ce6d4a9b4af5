"""The sections of `adapters`. The adapter type that a section names validates it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import Field, Strict

from autoscaler import model
from autoscaler.config.behavior import Seconds
from autoscaler.config.problems import Problems
from autoscaler.config.settings import AdapterSection, Discover
from autoscaler.errors import AdapterError, named
from autoscaler.fields.find_values import Loc
from autoscaler.fields.types import Count, Section, suggest
from autoscaler.model import ConnectionLimits
from autoscaler.target import Adapter, installed, load

MAX_SHARDS: Final = 256
"""The most shards of a connection. Each has its own thread and adapter."""


class RemovalBudget(Section):
    """Limits how many instances all autoscalers of the connection remove together in a period."""

    instances: Count
    """The limit for each period. It counts units where instances have weights."""
    period_seconds: Seconds
    """1 to 1800."""

    def spec(self) -> model.RemovalBudget:
        """Return the frozen budget."""
        return model.RemovalBudget(self.instances, timedelta(seconds=self.period_seconds))


class Common(Section):
    """The keys of a connection's section that every adapter type has."""

    shards: Annotated[int, Strict(), Field(ge=1, le=MAX_SHARDS)] = 1
    """How many groups its targets are divided into. A call that hangs delays only the targets of its own group."""
    removal_budget: RemovalBudget | None = None
    """How many instances may be removed in a period. Default: no limit."""
    max_total: Count | None = None
    """The limit on the sum of its autoscalers' sizes. Default: no limit."""
    discover: Discover | None = None
    """Autoscalers that are made of what the back end has. Default: none."""

    def limits(self) -> ConnectionLimits | None:
        """What its autoscalers share; None: nothing."""
        if self.removal_budget is None and self.max_total is None:
            return None
        budget = None if self.removal_budget is None else self.removal_budget.spec()
        return ConnectionLimits(budget, self.max_total)


def refused_keys(kind: type[Adapter]) -> Mapping[str, str]:
    """Return the keys of `Common` that a type refuses -> why."""
    refused = {"shards": "has one shard"} if kind.one_shard else {}
    return refused if kind.discover_keys else {**refused, "discover": "has no autoscalers to discover"}


OWN_KEYS: Final = frozenset({"type", *(field.alias or name for name, field in Common.model_fields.items())})
"""Keys of a section that the adapter does not see."""


@dataclass(frozen=True, slots=True)
class Connections:
    """The connections of a file, as far as they are right."""

    types: Mapping[str, type[Adapter] | None]
    """Every connection's name; None where its type is wrong."""
    sections: Mapping[str, AdapterSection]
    """Those without a problem."""
    limits: Mapping[str, ConnectionLimits]
    """The limits of the connections that have some."""


def read_connections(raw: Mapping[str, Any], folder: Path, problems: Problems) -> Connections:
    """The connections in `raw`, the plain value of the file's `adapters`. Adds what is wrong to `problems`."""
    kinds: dict[str, type[Adapter] | None] = {}
    sections: dict[str, AdapterSection] = {}
    limits: dict[str, ConnectionLimits] = {}
    for name, section in raw.items():
        kinds[name] = kind = type_of(name, section, problems)
        if kind is None:
            continue
        loc = ("adapters", name)
        common = _common_of(loc, section, kind, problems)
        given = {key: value for key, value in section.items() if key not in OWN_KEYS}
        try:
            settings = problems.read(kind.Settings, given, loc, {"folder": folder})
        except Exception as error:  # noqa: BLE001 - an adapter is foreign code: what its validation raises is named
            problems.add(loc, f"adapter {section['type']!r} failed to read it: {named(error)}; report it")
            continue
        if settings is not None:
            sections[name] = AdapterSection(section["type"], settings, common.shards, kind.one_host, common.discover)
            if (shared := common.limits()) is not None:
                limits[name] = shared
    return Connections(kinds, sections, limits)


def _common_of(loc: Loc, section: Mapping[str, Any], kind: type[Adapter], problems: Problems) -> Common:
    given = {key: section[key] for key in OWN_KEYS - {"type"} if key in section}
    for key, why in refused_keys(kind).items():
        if key in given:
            problems.add((*loc, key), f"a connection of type {section['type']!r} {why}; remove it", of_key=True)
            del given[key]
    common = problems.read(Common, given, loc) or Common()
    for key in ("policies", "labels"):
        if common.discover is not None and getattr(common.discover, key) and key not in kind.discover_keys:
            others = " or ".join(f"{other}: true" for other in sorted(kind.discover_keys))
            message = f"a connection of type {section['type']!r} has none; write {others}"
            problems.add((*loc, "discover", key), message, of_key=True)
    return common


def type_of(name: str, section: Any, problems: Problems) -> type[Adapter] | None:
    """The type of one connection; None where it is wrong, which is added to `problems`."""
    loc = ("adapters", name)
    if not isinstance(section, dict):
        problems.add(loc, "expected a mapping with a type; write it as in {type: process, …}")
        return None
    kind = section.get("type")
    if kind is None:
        problems.add((*loc, "type"), f"is missing; add one of {', '.join(sorted(installed()))}")
    elif not isinstance(kind, str):
        problems.add((*loc, "type"), f"expected a text; write one of {', '.join(sorted(installed()))}")
    elif kind not in installed():
        problems.add((*loc, "type"), f"no adapter of type {kind[:64]!r} is installed; {suggest(kind, installed())}")
    else:
        try:
            return load(kind)
        except AdapterError as error:
            problems.add((*loc, "type"), str(error))
    return None
