"""The messages' JSON Schema: `python -m adapters.command.schema > config/command.schema.json`."""

import json
import sys
from typing import Any

from msgspec.json import schema_components

from adapters.command.messages import ObserveAnswer, ObserveRequest, ScaleAnswer, ScaleRequest


def schema() -> dict[str, Any]:
    """Return the schema, with a definition for each message."""
    kinds = (ObserveRequest, ObserveAnswer, ScaleRequest, ScaleAnswer)
    _, definitions = schema_components(kinds, ref_template="#/$defs/{name}")
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Messages of an adapter of type command",
    }
    return head | {"$defs": definitions}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(schema(), indent=2) + "\n")
