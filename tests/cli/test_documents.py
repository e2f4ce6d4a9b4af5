"""The documents of the API and of `-o json`, key by key: scripts and clients read them.

A change of one shows in the difference of its file in `documents`, and belongs into CHANGELOG.md. With
WRITE_DOCUMENTS=1 the test writes the files.
"""

import json
import os
import pwd
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from autoscaler.cli.diff import DifferenceList
from autoscaler.cli.schedule import Calendar
from autoscaler.described import DescribedSchema
from autoscaler.document import Document
from autoscaler.version import VERSION
from autoscaler.view.hosts import StatusDocument
from autoscaler.whatif.compare.document import ReplayList
from tests.cli.scene import ServedScene, served_scene

_FOLDER: Final = Path(__file__).with_name("documents")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[^\"]*")
_USER: Final = re.compile(rf'"{pwd.getpwuid(os.getuid()).pw_name}\b')
"""At the beginning of a text: whom the control socket names."""
COMMANDS = {
    "get": ("get",),
    "describe": ("describe", "web"),
    "describe-failing": ("describe", "broken"),
    "explain": ("explain", "web"),
    "explain-failing": ("explain", "broken"),
    "events": ("events", "web"),
    "history": ("history", "web"),
    "status": ("status",),
}
_OWN: Final[Mapping[str, type[Document]]] = {
    "diff": DifferenceList,
    "replay": ReplayList,
    "schedule": Calendar,
    "status": StatusDocument,
}
"""Commands whose documents are no endpoint's."""


def fields(schema: Mapping[str, Any], types: Mapping[str, Any], path: str) -> Iterator[str]:
    """Yield each path that a schema describes, with its type. `types`: those that it refers to."""
    while "$ref" in schema:
        schema = types[schema["$ref"].rpartition("/")[2]]
    if len(schema.get("allOf", ())) == 1:
        schema = schema["allOf"][0] | {key: value for key, value in schema.items() if key != "allOf"}
    for each in schema.get("anyOf", ()):
        yield from fields(each, types, path)
    if "enum" in schema or "const" in schema:
        words = schema.get("enum", [schema.get("const")])
        yield f"{path}: {' | '.join(sorted(map(str, words)))}"
    elif "anyOf" not in schema:
        yield f"{path}: {schema.get('format') or schema.get('type', 'anything')}"
    for name, each in schema.get("properties", {}).items():
        yield from fields(each, types, f"{path}.{name}")
    for key, mark in (("items", "[]"), ("additionalProperties", ".*")):
        if isinstance(schema.get(key), dict):
            yield from fields(schema[key], types, path + mark)


@pytest.fixture(scope="module")
def steered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedScene]:
    """A server with a paused autoscaler, which also has an override."""
    with served_scene(tmp_path_factory.mktemp("steered")) as scene:
        assert scene.run("pause", "web", "--for", "2h", "--reason", "release").code == 0
        assert scene.run("override", "web", "--min", "3").code == 0
        yield scene


@pytest.mark.parametrize("name", COMMANDS)
def test_the_fields_of_a_command_stay(steered: ServedScene, name: str) -> None:
    shown = steered.run(*COMMANDS[name], "-o", "json").out
    _compare(name, json.loads(_USER.sub('"USER', _TIME.sub("TIME", shown))))


def test_the_openapi_document_stays(steered: ServedScene) -> None:
    _compare("openapi", json.loads(steered.served.get("/api/v1/openapi.json").text.replace(VERSION, "VERSION")))


@pytest.mark.parametrize("command", _OWN)
def test_no_field_of_a_command_is_lost_unseen(command: str) -> None:
    """Which type has a field, and how the schema is made, does not matter."""
    schema = _OWN[command].model_json_schema(mode="serialization", schema_generator=DescribedSchema)
    _compare(f"{command}-fields", sorted(set(fields(schema, schema["$defs"], command))))


def _compare(name: str, found: Any) -> None:
    file = _FOLDER / f"{name}.json"
    if os.environ.get("WRITE_DOCUMENTS"):
        file.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    kept = json.loads(file.read_text())
    assert json.dumps(found, indent=1) == json.dumps(kept, indent=1)
