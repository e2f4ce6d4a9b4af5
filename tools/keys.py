"""Lists every key of the configuration as Markdown, from its JSON Schema: `<!-- keys: … -->` in a document."""

import html
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

_SCHEMA: Final = Path(__file__).resolve().parents[1] / "config" / "autoscaler.schema.json"
_LARGEST: Final = 2**31 - 1
"""The limit of every number, which is not shown."""

Node = Mapping[str, Any]
"""A part of the schema."""


def key_list() -> str:
    """Return a heading and a table for each section of the file, and for each type of adapter."""
    schema = json.loads(_SCHEMA.read_text())
    keys = _Keys(schema["$defs"])
    lines: list[str] = []
    for section, node in schema["properties"].items():
        for heading, path, each in _parts(section, node):
            lines += [f"### {heading}", "", "| key | default | meaning |", "|---|---|---|", *keys.rows(path, each), ""]
    return "\n".join(lines)


def _parts(section: str, node: Node) -> Iterator[tuple[str, str, Node]]:
    """Yield heading, path and schema of a section; of `adapters`, of each type."""
    if section != "adapters":
        yield f"Keys of `{section}`", section, node
        return
    for each in node["additionalProperties"]["oneOf"]:
        yield f"Keys of an adapter of type `{each['properties']['type']['const']}`", "adapters.NAME", each


class _Keys:
    """The rows of the tables. Keys that several places share are listed at the first of them."""

    def __init__(self, definitions: Node) -> None:
        self._definitions = definitions
        self._listed: dict[str, str] = {}

    def rows(self, path: str, node: Node, *, required: bool = False) -> Iterator[str]:
        """Yield the row of a key, and then those of the keys in it."""
        found = list(self._objects(path, node))
        yield _row(path, node, [self._listed[name] for _, _, name in found if name in self._listed], required=required)
        for inner, keys, name in found:
            if name in self._listed:
                continue
            if name:
                self._listed[name] = inner
            for key, each in keys["properties"].items():
                yield from self.rows(f"{inner}.{key}", each, required=key in keys.get("required", ()))

    def _objects(self, path: str, node: Node, name: str = "") -> Iterator[tuple[str, Node, str]]:
        """Yield path, schema and name of each object with keys that the value may be or contain."""
        if reference := node.get("$ref"):
            name = reference.rpartition("/")[2]
            yield from self._objects(path, self._definitions[name], name)
        if "properties" in node:
            yield path, node, name
        for each in (*node.get("anyOf", ()), *node.get("oneOf", ())):
            yield from self._objects(path, each)
        if isinstance(items := node.get("items"), dict):
            yield from self._objects(f"{path}[]", items)
        for values in (node.get("additionalProperties"), *node.get("patternProperties", {}).values()):
            if isinstance(values, dict):
                yield from self._objects(f"{path}.NAME", values)


def _row(path: str, node: Node, like: list[str], *, required: bool) -> str:
    """Return the row of a key. `like`: where the keys in its value are listed already."""
    meaning = " ".join(node.get("description", "").split())
    parts = (meaning, _limits(node, meaning), *(f"Its keys are those of `{where}`." for where in like))
    text = html.escape(" ".join(filter(None, parts)), quote=False).replace("|", r"\|")
    return f"| `{path}` | {'required' if required else _default(node.get('default'))} | {text} |"


def _default(value: object) -> str:
    """Return a default as in the file; nothing for one that means that the key is left out."""
    if value is None or isinstance(value, dict | list):
        return ""
    return f"`{_written(value)}`"


def _limits(node: Node, meaning: str) -> str:
    """Return the words or numbers that a value may be, unless `meaning` names them."""
    for each in (node, *node.get("anyOf", ())):
        if words := each.get("enum"):
            return f"One of {', '.join(f'`{_written(word)}`' for word in words)}."
        least, most = each.get("minimum"), each.get("maximum", _LARGEST)
        if least is not None and most != _LARGEST and str(most) not in meaning:
            return f"{least} to {most}."
    return ""


def _written(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
