"""JSON Schemas, for editors.

`python -m autoscaler.config.schema > config/autoscaler.schema.json`
`python -m autoscaler.config.schema team > config/team.schema.json`
"""

import json
import sys
from collections.abc import Iterable
from datetime import timedelta
from typing import Any, Final

from pydantic import TypeAdapter

from autoscaler.config.connections import Common, refused_keys
from autoscaler.config.outside import OutsideAutoscaler
from autoscaler.config.sections import File
from autoscaler.described import DescribedSchema
from autoscaler.quantity import format_duration
from autoscaler.target import installed, load
from autoscaler.version import DISTRIBUTION

_DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"


class _Generator(DescribedSchema):
    """Writes durations as in the file, such as `15s`; pydantic writes ISO 8601."""

    def encode_default(self, dft: Any) -> Any:
        return format_duration(dft) if isinstance(dft, timedelta) else super().encode_default(dft)


def own_types() -> tuple[str, ...]:
    """The adapter types that come with this distribution, sorted; another's would differ from machine to machine."""
    return tuple(sorted(name for name, entry in installed().items() if entry.dist and entry.dist.name == DISTRIBUTION))


def schema(types: Iterable[str]) -> dict[str, Any]:
    """The schema of a file whose connections are of `types`. Raises AdapterError when one of them does not load."""
    document = File.model_json_schema(schema_generator=_Generator)
    sections = [_section(type_name, document["$defs"]) for type_name in types]
    document["properties"]["adapters"]["additionalProperties"] = {"oneOf": sections}
    for section in document["properties"].values():
        if "$ref" in section:  # its keys have their own defaults; pydantic's would have Python's names
            section.pop("default", None)
    return document | {"$schema": _DRAFT, "title": "autoscaler.yaml"}


def team_schema() -> dict[str, Any]:
    """The schema of a team's file, a list of autoscalers."""
    document = TypeAdapter(list[OutsideAutoscaler]).json_schema(schema_generator=_Generator)
    return document | {"$schema": _DRAFT, "title": "a team's file"}


def _section(type_name: str, definitions: dict[str, Any]) -> dict[str, Any]:
    """One type's section. What it refers to moves into `definitions` under names of the type's own."""
    prefix = f"{type_name}."
    kind = load(type_name)
    section = kind.Settings.model_json_schema(ref_template=f"#/$defs/{prefix}{{model}}", schema_generator=_Generator)
    definitions |= {prefix + name: each for name, each in section.pop("$defs", {}).items()}
    shared = Common.model_json_schema(schema_generator=_Generator)
    definitions |= shared.pop("$defs")
    ours = {key: body for key, body in shared["properties"].items() if key not in refused_keys(kind)}
    properties = {"type": {"const": type_name}} | ours | section.get("properties", {})
    return section | {"properties": properties, "required": ["type", *section.get("required", [])]}


def main() -> None:
    """Print the schema, with every type that comes with this distribution; after `team`, that of a team's file."""
    document = team_schema() if sys.argv[1:] == ["team"] else schema(own_types())
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
