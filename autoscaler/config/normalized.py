"""A file with every key written out: defaults are filled in, and each value is written in one way.

Two files with the same normalized form mean the same. Every key of the models is in it, so that a comparison cannot
miss a section.
"""

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from autoscaler.config.connections import OWN_KEYS, Common, refused_keys
from autoscaler.config.document import YamlDocument
from autoscaler.config.loader import load_text, sections_of
from autoscaler.config.problems import Problems, adapter_of
from autoscaler.config.sections import File
from autoscaler.config.source import read
from autoscaler.document import Document
from autoscaler.fields.find_values import keys_of
from autoscaler.target import load

HIDDEN: Final = "(not shown)"
"""Stands for a value that may be a secret."""
_SECRET_MAPPINGS: Final = frozenset({"headers", "params", "endpointParams", "env"})
"""Keys of mappings whose texts may be secrets."""
_SECRET_URLS: Final = (("state", "url"), ("notify", "webhook", "url"))


class Difference(Document):
    """A key with a different value in two files."""

    path: str
    """`autoscalers[web].maxReplicas`; an entry with a name is named by it, so that another place is no difference."""
    before: Any
    """null: the file does not have it; HIDDEN: it may be a secret."""
    after: Any


def normalized(path: Path) -> dict[str, Any]:
    """The normalized form of a file, without the files of teams. Raises ConfigError with every problem of the file."""
    text = read(path)
    load_text(path, text)
    document = YamlDocument(text, str(path))
    file, connections, entries, _ = sections_of(path, document, Problems(document))
    found = _plain(file, exclude={"prometheus", "queries", "schedules", "autoscalers"})
    found["prometheus"] = {name: _plain(each) for name, each in entries.sources.items()}
    found["queries"] = {name: _plain(each) for name, each in entries.queries.items()}
    found["schedules"] = {name: [_plain(each) for each in some] for name, some in entries.schedules.items()}
    found["autoscalers"] = [_plain(each) for each in entries.autoscalers.values()]
    found["adapters"] = {}
    if file is None or not file.state.shared:  # an SQLite state has one daemon and no lease
        del found["ha"]
    for name, section in connections.sections.items():
        kind = load(section.type)
        own, refused = OWN_KEYS - {"type"}, refused_keys(kind)
        written = {key: value for key, value in document.value["adapters"][name].items() if key in own}
        common = _plain(Common.model_validate(written, by_alias=True, by_name=False))
        shared = {key: value for key, value in common.items() if key not in refused}
        found["adapters"][name] = {"type": section.type, **shared, **_plain(section.settings)}
    return {key: found[key] for key, _ in keys_of(File).values() if key in found}  # in the file's order


def without_secrets(value: Any, path: tuple[str, ...] = ()) -> Any:
    """The same form, in which HIDDEN stands for each value that may be a secret."""
    if isinstance(value, dict):
        return {key: without_secrets(each, (*path, key)) for key, each in value.items()}
    if isinstance(value, list):
        return [without_secrets(each, path) for each in value]
    return HIDDEN if _is_secret(path) else value


def differences(before: dict[str, Any], after: dict[str, Any]) -> Iterator[Difference]:
    """Each key with a different value in two normalized forms, in their order. Secrets are compared and not shown."""
    yield from _differences(before, after, "", ())


def _plain(section: Any, exclude: Collection[str] = ()) -> dict[str, Any]:
    kind: Any = type(section)
    plain: dict[str, Any] = adapter_of(kind).dump_python(
        section, mode="json", by_alias=True, exclude_none=True, exclude=set(exclude)
    )
    return plain


def _is_secret(path: tuple[str, ...]) -> bool:
    return path in _SECRET_URLS or (path[-2:-1] != () and path[-2] in _SECRET_MAPPINGS)


def _differences(before: Any, after: Any, path: str, keys: tuple[str, ...]) -> Iterator[Difference]:
    if before == after:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys([*before, *after]):
            inner = f"{path}.{key}" if path else key
            yield from _differences(before.get(key), after.get(key), inner, (*keys, key))
    elif isinstance(before, list) and isinstance(after, list):
        old, new = _by_name(before), _by_name(after)
        for key in dict.fromkeys([*old, *new]):
            yield from _differences(old.get(key), new.get(key), f"{path}[{key}]", keys)
        if old == new:  # the order alone differs
            yield Difference(path=path, before=list(old), after=list(new))
    else:
        yield Difference(path=path, before=_shown(before, keys), after=_shown(after, keys))


def _shown(value: Any, keys: tuple[str, ...]) -> Any:
    return None if value is None else without_secrets(value, keys)


def _by_name(entries: list[Any]) -> Mapping[str, Any]:
    """The entries of a list by their names; by their places where a name is missing or repeated."""
    names = [_name_of(each) for each in entries]
    keys = names if None not in names and len({*names}) == len(names) else range(len(entries))
    return {str(key): each for key, each in zip(keys, entries, strict=True)}


def _name_of(entry: Any) -> str | None:
    """`name`, or that of a metric's body."""
    if not isinstance(entry, dict):
        return None
    if isinstance(entry.get("name"), str):
        return str(entry["name"])
    for body in entry.values():
        if isinstance(body, dict) and isinstance(name := body.get("name", body.get("metric")), str | dict):
            return name if isinstance(name, str) else str(name.get("name"))
    return None
