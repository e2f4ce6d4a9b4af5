"""The published JSON Schema of the messages."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from adapters.command.schema import schema
from tests.adapters.command.harness import ROOT, STATE, WEB, WRITTEN, build, call, change, script, seen

FILE = ROOT / "config" / "command.schema.json"


def problems(name: str, message: Any) -> list[str]:
    """Return where the message differs from its schema, which is a valid one."""
    from jsonschema import Draft202012Validator  # its import takes seconds, which only this file's worker needs

    Draft202012Validator.check_schema(schema())
    found = Draft202012Validator({**schema(), "$ref": f"#/$defs/{name}"}).iter_errors(message)
    return [each.message for each in found]


def test_the_file_is_that_of_the_code() -> None:
    """`python -m adapters.command.schema > config/command.schema.json` writes it."""
    assert FILE.read_text() == json.dumps(schema(), indent=2) + "\n"


@pytest.mark.slow
def test_real_messages_fit_it(tmp_path: Path) -> None:
    """What the daemon sends, and what the shell program of the examples answers."""
    observe, scale = (
        script(tmp_path, f"cat >{tmp_path}/o; echo '{STATE}'", "a"),
        script(tmp_path, f"cat >{tmp_path}/s; {WRITTEN}", "b"),
    )
    adapter = build((observe,), (scale,), tmp_path)
    adapter.scale(WEB, change(seen(adapter), 5), call())
    assert problems("ObserveRequest", json.loads((tmp_path / "o").read_text())) == []
    assert problems("ScaleRequest", json.loads((tmp_path / "s").read_text())) == []
    assert problems("ObserveAnswer", json.loads(STATE)) == []
    assert problems("ScaleAnswer", {"outcome": "Written"}) == []


@pytest.mark.slow
def test_the_messages_of_the_documentation_fit_it() -> None:
    """An author begins with them."""
    shown = re.findall(r"```json\n(.*?)```", (ROOT / "docs" / "command.md").read_text(), re.DOTALL)
    names = ["ObserveRequest", "ObserveAnswer", "ScaleRequest"]
    for name, text in zip(names, shown, strict=True):
        assert problems(name, json.loads(text)) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "entry",
    [{"replicas": 3}, {"target": {"name": "web"}, "replicas": -1}, {"target": {"name": "web"}, "size": 3}],
    ids=["no target", "a negative size", "an unknown key"],
)
def test_the_schema_refuses_what_the_daemon_refuses(entry: Any) -> None:
    """An author of a program tests with it."""
    assert problems("ObserveAnswer", {"targets": [entry]})
