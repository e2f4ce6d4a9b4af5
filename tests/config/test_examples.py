"""The example files, and the schema for editors."""

import json
from pathlib import Path

import pytest

from autoscaler.config import load
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


def test_the_schema_is_up_to_date() -> None:
    """`python -m autoscaler.config.schema > config/autoscaler.schema.json` updates it."""
    committed = json.loads((CONFIG / "autoscaler.schema.json").read_text(encoding="utf-8"))
    assert committed == schema(own_types())


def test_the_schema_of_a_team_s_file_is_up_to_date() -> None:
    """`python -m autoscaler.config.schema team > config/team.schema.json` updates it."""
    committed = json.loads((CONFIG / "team.schema.json").read_text(encoding="utf-8"))
    assert committed == team_schema()
    known = committed["$defs"]["OutsideAutoscaler"]["properties"]
    assert known["dryRun"]["type"] == "boolean"
    assert known.keys().isdisjoint({"drain", "syncPeriod"})


def test_every_reference_in_the_schema_has_a_definition() -> None:
    """Definitions of adapters are moved and renamed."""
    whole = schema(["process"])
    text = json.dumps(whole)
    names = {part.split('"')[0] for part in text.split('"#/$defs/')[1:]}
    assert names <= set(whole["$defs"])
    assert "process.PoolSettings" in names
