"""The fields of the API and of `-o json`, by their paths: scripts read them, so none is lost unseen.

Which type has a field, and how the schema is made, does not matter here. A change belongs into CHANGELOG.md. With
WRITE_DOCUMENTS=1 the test writes the file.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from autoscaler.cli.diff import DifferenceList
from autoscaler.cli.schedule import Calendar
from autoscaler.described import DescribedSchema
from autoscaler.document import Document
from autoscaler.view.hosts import StatusDocument
from autoscaler.whatif.documents.replay import ReplayList
from tests.web.serving import Served

_FILE: Final = Path(__file__).with_name("fields.txt")
_COMMANDS: Final[Mapping[str, type[Document]]] = {
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


def api_fields(document: Mapping[str, Any]) -> Iterator[str]:
    types = document["components"]["schemas"]
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            name = f"{method.upper()} {path}"
            for each in operation["parameters"]:
                yield from fields(each["schema"], types, f"{name} ?{each['name']}")
            bodies = {"body": operation.get("requestBody", {"content": {}})} | operation["responses"]
            for status, body in bodies.items():
                for content in body["content"].values():
                    if status in ("body", "200", "400"):  # all errors have one form
                        yield from fields(content["schema"], types, f"{name} {status}")


def test_no_field_of_the_api_or_of_a_command_is_lost_unseen(served: Served) -> None:
    found = [*api_fields(served.get("/api/v1/openapi.json").json())]
    for command, kind in _COMMANDS.items():
        schema = kind.model_json_schema(mode="serialization", schema_generator=DescribedSchema)
        found += fields(schema, schema["$defs"], f"{command} -o json")
    lines = sorted(set(found))
    if os.environ.get("WRITE_DOCUMENTS"):
        _FILE.write_text("\n".join(lines) + "\n")
    assert lines == _FILE.read_text().splitlines()
