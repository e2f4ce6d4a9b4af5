"""The documents of the API and of `-o json`, key by key: scripts and clients read them.

A change of one shows in the difference of its file in `documents`. With WRITE_DOCUMENTS=1 the test writes the files.
"""

import json
import os
import pwd
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from autoscaler.version import VERSION
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


def _compare(name: str, found: Any) -> None:
    file = _FOLDER / f"{name}.json"
    if os.environ.get("WRITE_DOCUMENTS"):
        file.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    kept = json.loads(file.read_text())
    assert json.dumps(found, indent=1) == json.dumps(kept, indent=1)
