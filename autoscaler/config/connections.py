"""The sections of `adapters`: each is validated by the adapter type it names."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import Field, Strict, ValidationError

from autoscaler.config.document import Loc
from autoscaler.config.fields import Section, Text, suggest
from autoscaler.config.problems import Problems
from autoscaler.config.settings import AdapterSection
from autoscaler.errors import AdapterError, named
from autoscaler.target import AdapterType, installed, load, one_host, one_lane

MOST_LANES: Final = 64
"""Of one connection: each has a thread and an adapter of its own."""


class Lanes(Section):
    """What a connection's section has beside its adapter's own keys, unless it has one lane only."""

    lanes: Annotated[int, Strict(), Field(ge=1, le=MOST_LANES)] = 1
    """How many groups its targets are divided into; a call that hangs holds up its own group alone."""


class Host(Section):
    """What a connection's section has beside its adapter's own keys, if its targets are on one machine alone."""

    host: Annotated[Text, Field(max_length=253)] | None = None
    """The name of that machine, as `hostname` shows it; only its daemon serves them. Needed with a PostgreSQL state."""


_OWN_KEYS: Final = frozenset({"type", "lanes"})
"""Of a section, that its adapter does not see."""


def own_keys(kind: AdapterType) -> frozenset[str]:
    """Keys of a section of this type that its adapter does not see."""
    return _OWN_KEYS | {"host"} if one_host(kind) else _OWN_KEYS


@dataclass(frozen=True, slots=True)
class Connections:
    """What the file says of connections, as far as it is right."""

    types: Mapping[str, AdapterType | None]
    """Every connection's name; None where its type is wrong."""
    sections: Mapping[str, AdapterSection]
    """Those without a problem."""


def read_connections(raw: Mapping[str, Any], folder: Path, problems: Problems) -> Connections:
    """The connections in `raw`, the plain value of the file's `adapters`. Adds what is wrong to `problems`."""
    kinds: dict[str, AdapterType | None] = {}
    sections: dict[str, AdapterSection] = {}
    for name, section in raw.items():
        kinds[name] = kind = type_of(name, section, problems)
        if kind is None:
            continue
        loc = ("adapters", name)
        lanes, host = _lanes_of(loc, section, kind, problems), _host_of(loc, section, kind, problems)
        given = {key: value for key, value in section.items() if key not in own_keys(kind)}
        try:
            settings = kind.Settings.model_validate(given, context={"folder": folder}, by_alias=True, by_name=False)
        except ValidationError as error:
            problems.add_validation(error, kind.Settings, loc)
        except Exception as error:  # noqa: BLE001 - an adapter is foreign code: what its validation raises is named
            problems.add(loc, f"adapter {section['type']!r} failed to read it: {named(error)}; report it")
        else:
            sections[name] = AdapterSection(section["type"], settings, lanes, host)
    return Connections(kinds, sections)


def _lanes_of(loc: Loc, section: Mapping[str, Any], kind: AdapterType, problems: Problems) -> int:
    if "lanes" in section and one_lane(kind):
        problems.add((*loc, "lanes"), f"a connection of type {section['type']!r} has one lane; remove it", of_key=True)
    else:
        try:
            return Lanes.model_validate({key: section[key] for key in ("lanes",) if key in section}).lanes
        except ValidationError as error:
            problems.add_validation(error, Lanes, loc)
    return 1


def _host_of(loc: Loc, section: Mapping[str, Any], kind: AdapterType, problems: Problems) -> str | None:
    if one_host(kind) and "host" in section:
        try:
            return Host.model_validate({"host": section["host"]}).host
        except ValidationError as error:
            problems.add_validation(error, Host, loc)
    return None


def type_of(name: str, section: Any, problems: Problems) -> AdapterType | None:
    """The type of one connection; None where it is wrong, which is added to `problems`."""
    loc = ("adapters", name)
    if not isinstance(section, dict):
        problems.add(loc, "expected a mapping with a type, as in {type: process, …}; correct it")
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
