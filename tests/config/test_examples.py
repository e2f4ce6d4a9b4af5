"""The example files, and the schema for editors."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from autoscaler.config.loader import load
from autoscaler.config.schema import own_types, schema, team_schema
from tests.config.examples import CONFIG, EXAMPLES


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: str(file.relative_to(CONFIG)))
def test_an_example_loads_without_warnings(file: Path) -> None:
    settings = load(file)
    assert settings.autoscalers
    assert settings.warnings == ()


def test_every_adapter_has_an_example() -> None:
    """The file has the name of the type."""
    assert {file.stem for file in (CONFIG / "examples").glob("*.yaml")} == set(own_types())


def test_every_key_is_in_the_commented_example() -> None:
    """docs/configuration.md and the manual page send readers there. Each type of adapter has a page of its own."""
    whole = schema([])
    objects = [whole, *whole["$defs"].values(), *_inner(whole["properties"])]
    names = {name for each in objects for name in each.get("properties", {})} - {"apiVersion"}
    text = (CONFIG / "autoscaler.yaml").read_text(encoding="utf-8")
    assert len(names) > 90
    missing = {name for name in names if not re.search(rf"\b{name}\b", text)}
    assert missing == {"deadline", "hook"}  # of drains on AWS, which have a page


def test_the_schema_is_up_to_date() -> None:
    """`python -m autoscaler.config.schema > config/autoscaler.schema.json` updates it."""
    committed = (CONFIG / "autoscaler.schema.json").read_text(encoding="utf-8")
    assert committed == json.dumps(schema(own_types()), indent=2, ensure_ascii=False) + "\n"


def test_the_schema_of_a_team_s_file_is_up_to_date() -> None:
    """`python -m autoscaler.config.schema team > config/team.schema.json` updates it."""
    committed = (CONFIG / "team.schema.json").read_text(encoding="utf-8")
    assert committed == json.dumps(team_schema(), indent=2, ensure_ascii=False) + "\n"
    known = team_schema()["$defs"]["OutsideAutoscaler"]["properties"]
    assert known["dryRun"]["type"] == "boolean"
    assert known.keys().isdisjoint({"drain", "syncPeriod"})


def test_every_reference_in_the_schema_has_a_definition() -> None:
    """Definitions of adapters are moved and renamed."""
    whole = schema(["process"])
    text = json.dumps(whole)
    names = {part.split('"')[0] for part in text.split('"#/$defs/')[1:]}
    assert names <= set(whole["$defs"])
    assert "process.PoolSettings" in names


def _inner(sections: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the schemas of what sections hold by name or in a list."""
    for section in sections.values():
        yield from (section[key] for key in ("additionalProperties", "items") if isinstance(section.get(key), dict))
